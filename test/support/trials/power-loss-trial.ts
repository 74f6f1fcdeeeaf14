/**
 * Trial: power is lost at random moments. A process writes to SQLite while a preloaded library records each call on the files; images of
 * what a disk could hold afterwards are made from the recording and opened. Needs a C compiler and Linux.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { builtProcess } from '../cli/built-command.ts'
import { randomFor, type SeededRandom } from '../random/seeded-random.ts'
import { openStorage } from '../storages/open-storage.ts'
import { Disk, type DiskCall, readRecording } from './disk-image.ts'
import { ledgerEntries, readLedger } from './ledger.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'
import { checkWhole, compareRound, nothingKnown } from './store-check.ts'
import { openTrialVault } from './trial-vault.ts'
import type { WriterProcess } from './writer-process.ts'

/** How long and how the trial runs. */
export interface PowerLossTrial {
  /** An empty folder. */
  readonly directory: string
  readonly seed: string
  readonly images: number
  /** `full` must lose nothing. `normal` is the negative control. */
  readonly synchronous: 'full' | 'normal'
  /** Acknowledged requests to record. */
  readonly requests: number
  /** Ends after the image with so many failures. Default: 20. */
  readonly maxFailures?: number
  /** The file of the process that writes. Default: that of the accounts. */
  readonly script?: string
  /** Opens an image, and returns what is wrong in it; a whole check takes longer. Default: compares the accounts with the lines of the ledger. */
  readonly check?: (filename: string, lines: readonly string[], isWhole: boolean) => Promise<string[]>
}

/** Whether this machine can record: a C compiler, and a dynamic loader that preloads. */
export function canRecord(): boolean {
  return process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0
}

/** Runs the trial. */
export async function runPowerLossTrial(trial: PowerLossTrial): Promise<TrialReport> {
  const { directory, synchronous, check = checkImage, maxFailures = MAX_FAILURES } = trial
  const random = randomFor(trial.seed)
  const calls = await record(trial)
  const disk = new Disk()
  const ledger: Buffer[] = []
  const failures: string[] = []
  let [done, images, unsynced] = [0, 0, 0]
  for (const cut of cutsOf(calls, trial.images, random)) {
    if (failures.length >= maxFailures) break
    for (const call of calls.slice(done, cut)) {
      if (call.file === 'ledger') ledger.push(call.bytes)
      else disk.apply(call)
    }
    done = cut
    const image = join(directory, 'image.db')
    for (const suffix of ['', '-wal', '-journal', '-shm']) rmSync(image + suffix, { force: true })
    const loss = disk.writeImage(image, random)
    images++
    unsynced += loss.unsynced
    const lines = Buffer.concat(ledger).toString().split('\n').slice(0, -1)
    const found = [...(await check(image, lines, images % 10 === 0)), ...integrityOf(image)]
    failures.push(...found.map((finding) => `call ${cut}, ${loss.policy}: ${finding}`))
  }
  return { figure: images, failures, summary: `synchronous ${synchronous}: ${calls.length} calls, ${unsynced} unsynced ones met` }
}

/** Writes until enough requests are acknowledged, and returns the recorded calls. */
async function record({
  directory,
  seed,
  synchronous,
  requests,
  script = 'writer-process.ts',
}: PowerLossTrial): Promise<DiskCall[]> {
  const library = join(directory, 'capture.so')
  const source = join(import.meta.dirname, 'capture.c')
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'], { encoding: 'utf8' })
  if (compiled.status !== 0) throw new Error(`capture.c does not compile: ${compiled.stderr}`)
  mkdirSync(join(directory, 'live'))
  const filename = join(directory, 'live', 'vault.db')
  const recording = join(directory, 'recording')
  const ledger = `${filename}.ledger`
  const options: WriterProcess = {
    address: { engine: 'sqlite', filename, synchronous },
    ledger,
    name: 'power',
    seed,
    writers: 3,
    acknowledgeEarly: false,
  }
  const child = spawn(process.execPath, [builtProcess(join(import.meta.dirname, script)), JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, LD_PRELOAD: library, CAPTURE_DATABASE: filename, CAPTURE_OUT: recording },
  })
  const gone = once(child, 'exit')
  while (child.exitCode === null && readLedger(ledger).filter(({ end }) => end !== undefined).length < requests) await pause(50)
  child.kill('SIGKILL')
  await gone
  return readRecording(readFileSync(recording))
}

/** Returns positions in the recording, rising. A third is near a write to the database itself, which is where checkpoints are. */
function cutsOf(calls: readonly DiskCall[], count: number, random: SeededRandom): number[] {
  const checkpoints = calls.flatMap(({ file, kind }, index) => (file === 'database' && kind === 'write' ? [index] : []))
  const cuts = new Set<number>()
  while (cuts.size < Math.min(count, calls.length)) {
    const near = random.chance(1 / 3) && checkpoints.length > 0
    cuts.add(near ? Math.min(random.pick(checkpoints) + random.below(4), calls.length) : 1 + random.below(calls.length))
  }
  return [...cuts].sort((left, right) => left - right)
}

async function checkImage(filename: string, lines: readonly string[], isWhole: boolean): Promise<string[]> {
  const entries = ledgerEntries(lines)
  try {
    const storage = openStorage({ engine: 'sqlite', filename })
    try {
      const vault = await openTrialVault(storage)
      const known = nothingKnown()
      const found = await compareRound(vault, entries, known)
      if (isWhole && found.length === 0) found.push(...(await checkWhole(vault, known)))
      return found
    } finally {
      await storage.close()
    }
  } catch (error) {
    return [`cannot be opened: ${String(error)}`]
  }
}

function integrityOf(filename: string): string[] {
  const database = new Database(filename)
  try {
    const answer = String(database.pragma('integrity_check', { simple: true }))
    return answer === 'ok' ? [] : [`integrity check: ${answer}`]
  } finally {
    database.close()
  }
}
