/** Starts the real clamd of this machine with a configuration, a signature and a socket of its own, and removes all at the end, even if the run is killed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export interface RealClamd {
  /** Path of its socket. */
  readonly socket: string
  stop(): Promise<void>
}

/** The harmless text that every scanner finds, in two halves, so that none finds it here. */
export const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('')

/** Settings that the documentation asks for. */
export const NEEDED_SETTINGS: readonly string[] = ['AlertExceedsMax yes', 'AlertEncrypted yes']

/** Debian installs it where only the path of administrators leads. */
const PATH = `${process.env.PATH ?? ''}:/usr/sbin:/usr/local/sbin`
/** Time limit for the first reply, in milliseconds. */
const START_LIMIT_MS = 60_000

/** Ends clamd when our end of its standard input closes, and removes its folder. */
const GUARD = `
folder=$1
clamd --foreground --config-file="$folder/clamd.conf" </dev/null & daemon=$!
read -r word; kill -TERM $daemon; wait $daemon; rm -rf "$folder"`

/** True if clamd is installed on this machine. */
export function isClamdInstalled(): boolean {
  return spawnSync('clamd', ['--version'], { env: { ...process.env, PATH } }).status === 0
}

/** Starts a clamd with further settings, as lines of clamd.conf, and waits until it replies. */
export async function startRealClamd(settings: readonly string[]): Promise<RealClamd> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'strongroom-clamd-'))
  chmodSync(folder, 0o700)
  const socket = path.join(folder, 'clamd.sock')
  mkdirSync(path.join(folder, 'signatures'))
  writeFileSync(path.join(folder, 'signatures', 'test.ndb'), `Eicar-Test:0:*:${Buffer.from(EICAR).toString('hex')}\n`)
  const lines = [`LocalSocket ${socket}`, `DatabaseDirectory ${folder}/signatures`, `TemporaryDirectory ${folder}`, ...settings]
  writeFileSync(path.join(folder, 'clamd.conf'), `${lines.join('\n')}\n`)
  const log = openSync(path.join(folder, 'log'), 'a')
  const guard = spawn('sh', ['-c', GUARD, 'guard', folder], {
    env: { ...process.env, PATH },
    stdio: ['pipe', log, log],
    detached: true,
  })
  closeSync(log)
  if (!(await isRunning(socket, guard))) {
    const text = readFileSync(path.join(folder, 'log'), 'utf8')
    await stopGuard(guard)
    rmSync(folder, { recursive: true, force: true })
    throw new Error(`clamd did not start: ${text}`)
  }
  return { socket, stop: () => stopGuard(guard) }
}

/** Waits for the reply to PING; false if clamd ended first, or takes too long. */
async function isRunning(socket: string, guard: ChildProcess): Promise<boolean> {
  const limit = performance.now() + START_LIMIT_MS
  while (performance.now() < limit && guard.exitCode === null) {
    if ((await replyTo(socket, 'zPING\0')) === 'PONG\0') return true
    await pause(20)
  }
  return false
}

function replyTo(socket: string, command: string): Promise<string> {
  return new Promise((resolve) => {
    let reply = ''
    const connection = net.connect({ path: socket }, () => connection.write(command))
    connection.on('data', (bytes) => {
      reply += bytes.toString('latin1')
    })
    connection.on('error', () => {}).on('close', () => resolve(reply))
  })
}

function stopGuard(guard: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (guard.exitCode !== null) return resolve()
    guard.once('close', () => resolve())
    guard.stdin?.on('error', () => {})
    guard.stdin?.end('stop\n')
  })
}
