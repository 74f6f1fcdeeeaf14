/** The states of a file's malware scan, what of them callers are shown, and which states allow the file to be opened. */

/** The status that callers are shown. Source: specification, "States and transitions". */
export type ScanStatus =
  | 'SCAN_CLEAN'
  | 'SCAN_INFECTED'
  | 'SCAN_DELETED'
  | 'SCAN_ERROR'
  | 'SCAN_PENDING'
  | 'SCAN_UNSCANNABLE'
  | 'SCAN_FILE_NOT_FOUND'
  | 'SCAN_INVALID'

/**
 * The stored state. `pending`: not scanned yet. `clean`. `infected`: the sealed content is kept, and never opened. `deleted`: it was
 * infected, and the content is destroyed. `error`: the last scan failed; it is repeated. `unscannable`: the
 * scanner could not read all of it. `missing`: the content is not in the blob store. `invalid`: the content failed authentication.
 */
export const SCAN_STATES = ['pending', 'clean', 'infected', 'deleted', 'error', 'unscannable', 'missing', 'invalid'] as const

/** A stored state. */
export type ScanState = (typeof SCAN_STATES)[number]

const STATUSES: Readonly<Record<ScanState, ScanStatus>> = {
  pending: 'SCAN_PENDING',
  clean: 'SCAN_CLEAN',
  infected: 'SCAN_INFECTED',
  deleted: 'SCAN_DELETED',
  error: 'SCAN_ERROR',
  unscannable: 'SCAN_UNSCANNABLE',
  missing: 'SCAN_FILE_NOT_FOUND',
  invalid: 'SCAN_INVALID',
}

/** Returns the status of a file. Without a scanner nothing is pending: the file cannot be scanned. */
export function scanStatusOf(state: ScanState, hasScanner: boolean): ScanStatus {
  return hasScanner || state !== 'pending' ? STATUSES[state] : 'SCAN_UNSCANNABLE'
}

/** States that no one may open, with a scanner or without. */
const NEVER_OPEN: ReadonlySet<ScanState> = new Set(['infected', 'deleted', 'missing', 'invalid'])

/** True if the content may be opened: with a scanner only when it is clean, without one unless it is known to be bad. */
export function mayOpen(state: ScanState, hasScanner: boolean): boolean {
  return hasScanner ? state === 'clean' : !NEVER_OPEN.has(state)
}

/** Bounds of the delay before a failed scan is repeated, in milliseconds. */
const FIRST_DELAY_MS = 10_000
const MAX_DELAY_MS = 60 * 60_000

/** Returns the delay before the next scan in milliseconds: it doubles with each failure, up to an hour. */
export function retryDelayMs(failures: number): number {
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1))
}
