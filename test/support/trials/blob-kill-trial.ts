/** Trial: processes that write blobs are killed. Acknowledged blobs are whole, others are whole or absent, and deleted ones leave nothing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { read, sampleBytes } from '../../../src/conformance/blobs/sample.ts'
import { isVaultError } from '../../../src/core/errors.ts'
import type { BlobStore } from '../../../src/core/ports/blobs.ts'
import { type BlobAddress, openBlobs } from '../blobs/open-blobs.ts'
import { builtProcess } from '../cli/built-command.ts'
import { randomFor } from '../random/seeded-random.ts'
import type { BlobLine, BlobWriterProcess } from './blob-writer-process.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'

/** Where the trial runs, and how long. */
export interface BlobKillTrial {
  readonly address: BlobAddress
  /** A folder for the ledgers. */
  readonly directory: string
  readonly seed: string
  readonly kills: number
  /** Bytes that are left of a key below the store, as `BlobsUnderTest.stored`. */
  stored(key: string): Promise<number | undefined>
  /** Breaks the promise on purpose, for the negative control. */
  readonly acknowledgeEarly?: boolean
  /** Ends after the round with so many failures. Default: 20. */
  readonly maxFailures?: number
}

const WRITERS = 3
/** Acknowledged blobs of each process before it is killed. */
const WARM = 4

/** What is known of a blob. */
interface Known {
  readonly line: BlobLine
  readonly isAcknowledged: boolean
}

/** Runs the trial. */
export async function runBlobKillTrial(trial: BlobKillTrial): Promise<TrialReport> {
  const random = randomFor(trial.seed)
  const { maxFailures = MAX_FAILURES } = trial
  const failures: string[] = []
  const kept: Known[] = []
  let [acknowledged, unfinished] = [0, 0]
  for (let round = 0; round < trial.kills; round++) {
    const blobs = await runProcess(trial, round, random() * 60)
    acknowledged += blobs.filter(({ isAcknowledged }) => isAcknowledged).length
    unfinished += blobs.filter(({ isAcknowledged }) => !isAcknowledged).length
    const { store, close } = await openBlobs(trial.address)
    for (const blob of blobs) failures.push(...(await check(store, blob)))
    const deleted = blobs.filter(({ isAcknowledged }) => !isAcknowledged || random.chance(0.7))
    await store.delete(deleted.map(({ line }) => line.key))
    for (const { line } of deleted)
      if ((await trial.stored(line.key)) !== undefined) failures.push(`something is left of a deleted blob of ${line.size} bytes`)
    kept.push(...blobs.filter((blob) => !deleted.includes(blob)))
    if (round === trial.kills - 1) for (const blob of kept) failures.push(...(await check(store, blob)))
    await close()
    if (failures.length >= maxFailures) break
  }
  const summary = `${acknowledged} acknowledged, ${unfinished} unfinished, ${kept.length} kept to the end`
  return { figure: trial.kills, failures, summary }
}

/** Returns what is wrong with a blob. A write that was killed after it was stored and before it was acknowledged is whole. */
async function check(store: BlobStore, { line: { key, size, seed }, isAcknowledged }: Known): Promise<readonly string[]> {
  try {
    const found = await read(store, key)
    return Buffer.from(found).equals(sampleBytes(size, seed)) ? [] : [`a blob of ${size} bytes has ${found.length} or others`]
  } catch (error) {
    if (!isVaultError(error, 'not_found')) throw error
    return isAcknowledged ? [`an acknowledged blob of ${size} bytes is missing`] : []
  }
}

/** Starts a process, kills it, and returns what its ledger says. */
async function runProcess(trial: BlobKillTrial, round: number, delayMs: number): Promise<readonly Known[]> {
  const { address, directory, seed, acknowledgeEarly = false } = trial
  const ledger = join(directory, `${round}.ledger`)
  const options: BlobWriterProcess = { address, ledger, seed: `${seed} ${round}`, writers: WRITERS, acknowledgeEarly }
  const script = builtProcess(join(import.meta.dirname, 'blob-writer-process.ts'))
  const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'inherit'] })
  const gone = once(child, 'exit')
  while (child.exitCode === null && readBlobs(ledger).filter(({ isAcknowledged }) => isAcknowledged).length < WARM) await pause(5)
  await pause(delayMs)
  child.kill('SIGKILL')
  await gone
  const blobs = readBlobs(ledger)
  rmSync(ledger, { force: true })
  return blobs
}

/** The blobs of a ledger. Ignores an incomplete last line. */
function readBlobs(ledger: string): readonly Known[] {
  const text = existsSync(ledger) ? readFileSync(ledger, 'utf8') : ''
  const known = new Map<string, Known>()
  for (const each of text.split('\n').slice(0, -1)) {
    const line: BlobLine = JSON.parse(each)
    known.set(line.key, { line, isAcknowledged: line.step === 'acknowledged' })
  }
  return [...known.values()]
}
