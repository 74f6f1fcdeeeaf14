/** Scans files in the background: those that are due when the vault opens or a file is uploaded, and later those whose scan failed. */
import { type ErrorCode, isVaultError, VaultError } from '../errors.ts'
import type { SessionContext } from '../execution/context.ts'
import { perform } from '../execution/perform.ts'
import type { FileContext } from '../file-store/file-rows.ts'
import { lostStateOf, readContent } from '../file-store/read-content.ts'
import { type ClaimedFile, claimDueFile, postponeScan, releaseScan, removeInfected } from '../file-store/scan-queue.ts'
import type { ScanState } from '../files/scan-state.ts'
import type { Job, Watch } from '../maintenance/job.ts'
import type { Jobs } from '../maintenance/jobs.ts'
import { recordScan } from '../operations/record-scan.ts'
import type { FileScanner } from '../ports/blobs.ts'
import type { Log } from '../ports/observability.ts'
import type { Timer } from '../ports/time.ts'
import { assertNotAborted, createAbortable, type Signal, unlessAborted } from '../util/signal.ts'

/** Files that one process scans at the same time. */
const SCANS_AT_ONCE = 2
/** Milliseconds between two looks for files that are due: retries, and scans that another process did not finish. */
const POLL_MS = 15_000
/** Errors in a row after which scanning waits for the next look. */
const MAX_ERRORS = 3

/** What is done with the contents of infected files. */
export type OnInfected = 'quarantine' | 'delete'

/** The dependencies of the worker. */
export interface ScanPorts {
  readonly files: FileContext
  readonly scanner: FileScanner
  readonly onInfected: OnInfected
  readonly timer: Timer
  readonly log: Log | undefined
  readonly jobs: Jobs
  /** Returns a session of the vault itself. */
  session(): SessionContext
}

/** The dependencies of scans within a job. */
interface ScanningPorts extends ScanPorts {
  readonly job: Job
}

/** The scans of one vault. */
export interface ScanWorker {
  /** Begins the scans that are due, if none are in progress. */
  wake(): void
  /** Scans all files that are due. Returns how many it scanned, without those in progress, for which it waits. Throws if one of its results cannot be stored, and `cancelled`. */
  scanDue(watch: Watch): Promise<number>
  /** Aborts the scans in progress, and waits for them. */
  stop(): Promise<void>
}

/** Returns the worker of a vault. It does nothing before `wake`. */
export function createScanWorker(ports: ScanPorts): ScanWorker {
  const { signal, abort } = createAbortable()
  let running: Promise<void> | undefined
  let isAwoken = false
  let stopTimer = (): void => {}
  const run = async (): Promise<void> => {
    do {
      isAwoken = false
      await ports.jobs.run({ kind: 'scanFiles' }, {}, (job) =>
        Promise.all(Array.from({ length: SCANS_AT_ONCE }, () => runScans({ ...ports, job }, signal))),
      )
    } while (isAwoken && !signal.aborted)
  }
  const wake = (): void => {
    isAwoken = true
    if (running !== undefined || signal.aborted) return
    stopTimer()
    running = run().finally(() => {
      running = undefined
      if (!signal.aborted) stopTimer = ports.timer.after(POLL_MS, wake)
    })
  }
  return {
    wake,
    async scanDue(watch) {
      const scanned = await scanAll(ports, signal, watch)
      // Those that this process had begun before count as due, too.
      await unlessAborted(watch.signal, async () => running)
      return scanned
    },
    async stop() {
      abort()
      stopTimer()
      await running
    },
  }
}

/** Scans until nothing is due. After errors of storage, the next look tries again. */
async function runScans(ports: ScanningPorts, signal: Signal): Promise<void> {
  for (let errors = 0; errors < MAX_ERRORS && !signal.aborted; ) {
    try {
      if (!(await scanNext(ports, signal))) return
      errors = 0
      await ports.job.advance({ rows: 1 })
    } catch (error) {
      errors++
      if (!signal.aborted) ports.log?.error({ code: isVaultError(error) ? error.code : 'internal' }, 'scan of a file not stored')
    }
  }
}

/** Scans until nothing is due. An abort by the caller ends the scan in progress, too. */
async function scanAll(ports: ScanPorts, ofWorker: Signal, watch: Watch): Promise<number> {
  const { signal, abort } = createAbortable()
  const ending = [ofWorker, watch.signal].filter((one) => one !== undefined)
  for (const one of ending) one.addEventListener('abort', abort)
  const isOver = (): boolean => signal.aborted || ending.some((one) => one.aborted)
  let scanned = 0
  try {
    await ports.jobs.run({ kind: 'scanFiles' }, { ...watch, signal }, async (job) => {
      while (!isOver() && (await scanNext({ ...ports, job }, signal))) {
        if (isOver()) break
        scanned++
        await job.advance({ rows: 1 })
      }
    })
  } catch (error) {
    // The pace is not waited for.
    if (!signal.aborted || !isVaultError(error, 'cancelled')) throw error
  } finally {
    for (const one of ending) one.removeEventListener('abort', abort)
  }
  assertNotAborted(watch.signal)
  return scanned
}

/** Scans one file that is due. Returns false if there is none. */
async function scanNext(ports: ScanningPorts, signal: Signal): Promise<boolean> {
  const claimed = await claimDueFile(ports.files)
  if (claimed === undefined) return false
  if (signal.aborted) {
    await releaseScan(ports.files, claimed)
    return false
  }
  const { file } = claimed
  if (file.entry.state === 'deleted') {
    await removeInfected(ports.files, { ...file, version: claimed.version() })
    return true
  }
  const state = await scan(ports, claimed, signal)
  if (state === undefined) return true
  try {
    const { version } = await perform(ports.session(), recordScan, { file, version: claimed.version(), state })
    if (state === 'deleted') await removeInfected(ports.files, { ...file, version })
  } catch (error) {
    if (signal.aborted) await releaseScan(ports.files, claimed)
    // Replaced or deleted meanwhile: the result is of no file any more.
    else if (!isVaultError(error, 'not_found')) throw error
  }
  return true
}

/** Returns the state after a scan; undefined if it failed and is repeated later, or if the file is gone. */
async function scan(ports: ScanningPorts, claimed: ClaimedFile, signal: Signal): Promise<ScanState | undefined> {
  const { files, scanner, onInfected, log } = ports
  const { id, entry } = claimed.file
  // The row says the length since the upload ended: this one was put back from before. No scan of nothing makes it clean.
  if (entry.size === 0) return 'invalid'
  const reading: Reading = { isLost: false, read: 0, error: undefined }
  try {
    const content = contentOf(ports, claimed, { reading, signal })
    const verdict = await unlessAborted(signal, () => scanner.scan({ content, size: entry.size, signal }))
    // A scanner that goes on after an error of the content has not read the file.
    if (reading.error !== undefined) throw reading.error
    if (verdict === 'clean') return reading.read === entry.size ? 'clean' : 'unscannable'
    if (verdict === 'unscannable') return verdict
    if (verdict === 'infected') {
      log?.warn({ file: id }, 'infected file')
      return onInfected === 'delete' ? 'deleted' : 'infected'
    }
  } catch (error) {
    const lost = lostStateOf(error)
    if (lost !== undefined) return lost
    if (!signal.aborted) log?.warn({ file: id, ...loggedError(error) }, 'scan failed, and is repeated later')
  }
  if (signal.aborted) await releaseScan(files, claimed)
  else if (!reading.isLost) await postponeScan(files, claimed)
  return undefined
}

/** What a scanner has read. */
interface Reading {
  /** True if the claim was lost meanwhile. */
  isLost: boolean
  /** Number of bytes. */
  read: number
  /** What ended the content early. */
  error: unknown
}

/** What the log says of an error: of a scanner's `VaultError` also its text, which says what the operator must set up. */
function loggedError(error: unknown): { readonly code: ErrorCode; readonly reason?: string } {
  return VaultError.isGenuine(error) ? { code: error.code, reason: error.message } : { code: 'internal' }
}

/** Yields the content, and keeps the claim meanwhile. Ends with an error if the claim is lost or the scan is aborted. */
async function* contentOf(
  { files, job }: ScanningPorts,
  claimed: ClaimedFile,
  { reading, signal }: { readonly reading: Reading; readonly signal: Signal },
): AsyncGenerator<Uint8Array> {
  const { file } = claimed
  const range = { start: 0, end: file.entry.size }
  try {
    for await (const piece of readContent(files, { file, range })) {
      if (!(await claimed.renew())) {
        reading.isLost = true
        throw new Error('the claim of a scan was lost')
      }
      await job.keep()
      if (signal.aborted) throw new Error('the scan was aborted')
      reading.read += piece.length
      yield piece
    }
  } catch (error) {
    reading.error = error
    throw error
  }
}
