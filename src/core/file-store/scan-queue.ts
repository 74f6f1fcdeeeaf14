/** The queue of scans: files that are due, each claimed by one process at a time. A claim ends by itself if its process does. */
import { retryDelayMs } from '../files/scan-state.ts'
import type { Patch } from '../ports/storage.ts'
import { FILES } from '../schema/system-tables.ts'
import { nowMs } from '../util/time.ts'
import { type FileContext, type OpenedFile, openFileRows, patchOf } from './file-rows.ts'

/** Milliseconds of a claim. It is renewed while content is read, so only the scanner's reply must be faster. */
const CLAIM_MS = 5 * 60_000
/** Number of due files among which one is claimed. */
const CANDIDATES = 8

/** A claimed file. Each change of its row raises the version: only who knows it may change the row again. */
export interface ClaimedFile {
  readonly file: OpenedFile
  /** Renews the claim if a part of it is over. Returns false if the file was replaced or deleted, or another process has the claim. */
  renew(): Promise<boolean>
  /** The version of the row after the claim or its last renewal. */
  version(): number
}

/** Reserves a file whose scan is due for this process; undefined if there is none. */
export async function claimDueFile(context: FileContext): Promise<ClaimedFile | undefined> {
  const now = nowMs(context)
  const due = { kind: 'compare', column: 'scan_at', operator: '<', value: now + 1 } as const
  for (;;) {
    const rows = await context.storage.find(FILES.name, due, { order: 'asc', limit: CANDIDATES })
    if (rows.length === 0) return undefined
    for (const row of rows) {
      const [isClaimed] = await context.storage.update(FILES.name, [claimOf(row, now)])
      // A row that fails authentication is not scanned, and keeps no other from being: its claim only ends later.
      const [file] = isClaimed === true ? await openFileRows(context, [row]) : []
      if (file !== undefined) return claimed(context, file, now)
    }
  }
}

function claimOf({ id, version }: Pick<Patch, 'id' | 'version'>, now: number): Patch {
  return { id, version, set: { scan_at: now + CLAIM_MS } }
}

function claimed(context: FileContext, file: OpenedFile, since: number): ClaimedFile {
  let version = file.version + 1
  let renewedAt = since
  return {
    file,
    version: () => version,
    async renew() {
      const now = nowMs(context)
      if (now - renewedAt < CLAIM_MS / 4) return true
      const [isRenewed] = await context.storage.update(FILES.name, [claimOf({ id: file.id, version }, now)])
      if (isRenewed !== true) return false
      version++
      renewedAt = now
      return true
    },
  }
}

/** Notes that a scan failed. It is due again after a delay that grows with each failure. Changes nothing if the claim was lost. */
export async function postponeScan(context: FileContext, { file, version }: ClaimedFile): Promise<void> {
  const failures = file.entry.failures + 1
  const scanAt = nowMs(context) + retryDelayMs(failures)
  const current = { ...file, version: version() }
  await context.underNewestKeys((inner) =>
    inner.update(FILES.name, [
      patchOf(context.barrier, current, { ...file.entry, state: 'error', failures }, { scan_at: scanAt }),
    ]),
  )
}

/** Ends a claim without a result: the file is due at once. Changes nothing if the claim was lost. */
export async function releaseScan(context: FileContext, { file, version }: ClaimedFile): Promise<void> {
  await context.storage.update(FILES.name, [{ id: file.id, version: version(), set: { scan_at: nowMs(context) } }])
}

/** Removes the content of an infected file, which its row already says is deleted. A process that ends meanwhile leaves it due. */
export async function removeInfected(context: FileContext, file: OpenedFile): Promise<void> {
  await context.blobs.delete([file.entry.key])
  await context.storage.update(FILES.name, [{ id: file.id, version: file.version, set: { scan_at: null } }])
}
