/** Slow work as it is written and watched: passes of slices that commit one by one, so that it can be stopped after each and run again. */
import type { Storage } from '../ports/storage.ts'
import type { ReportProgress } from '../util/boundary.ts'
import type { Signal } from '../util/signal.ts'

/** What is done in jobs, by the method of the vault that begins it; `importRecords` is of `strongroom/transfer`. */
export type JobName =
  | 'sweep'
  | 'purgeDisk'
  | 'scanFiles'
  | 'verifyRecords'
  | 'verifyAudit'
  | 'rotateKeys'
  | 'rotateLookups'
  | 'changeSchema'
  | 'compact'
  | 'importRecords'

/** What a caller asks of slow work. */
export interface Watch {
  /** An abort throws `cancelled` before the next slice. What earlier ones committed stays. */
  readonly signal?: Signal | undefined
  readonly report?: ReportProgress
  /** Rows a second at most. Default: as fast as it goes. */
  readonly pace?: number | undefined
}

/** One slice of a job, after its commit. */
export interface Slice {
  /** Rows that it changed or read: the pace counts them. */
  readonly rows: number
  /** Rows by which the progress grows; with 0 it is not reported. Default: `rows`. */
  readonly done?: number
  /** The table of the schema that it was about. */
  readonly table?: string | undefined
}

/** Slow work, divided into slices. */
export interface MaintenancePass {
  /** Does and commits one slice. Returns what it changed, and whether it was the last slice. A pass that runs again continues where it stopped. */
  slice(): Promise<Slice & { readonly isLast: boolean }>
}

/** Where a job goes on after it ended early, as its work chooses to say it. It is sealed. */
export type JobPlace = Readonly<Record<string, string | number | boolean | null>>

/** A job that runs, as its work has it. */
export interface Job {
  readonly signal: Signal | undefined
  /** The last place of an exclusive job that ended early or whose process died, possibly of another version of the work; undefined at a new beginning. */
  readonly place: JobPlace | undefined
  /** True if an earlier run of an exclusive job did not get to its end: its process was killed. */
  readonly isTakenOver: boolean
  /** Says how many rows there are in all, if that is known, before the first slice. A job that goes on counts those of before. */
  expect(total: number | undefined): void
  /** Runs a pass to its end. Returns the number of rows changed. Yields to the event loop between two slices. */
  pass(pass: MaintenancePass): Promise<number>
  /** Call after each slice that is of no pass, outside of transactions: reports progress, keeps the row of the job, and waits for the pace. */
  advance(slice: Slice): Promise<void>
  /** The same, with a turn of the event loop after it. Throws `cancelled` at an abort and, for an exclusive job, when the vault closes. */
  turn(slice: Slice): Promise<void>
  /** Keeps the row of the job within a slice that takes long, outside of transactions. Nearly always only looks at the clock. */
  keep(): Promise<void>
  /**
   * Waits outside of transactions, and keeps the row of the job meanwhile. `waitsFor` says in a few words for what, in the progress. Throws `cancelled` at an
   * abort, and when the vault closes.
   */
  wait(milliseconds: number, waitsFor?: string): Promise<void>
  /**
   * Takes the place of an exclusive job after the slice in progress, within its transaction, and stores it there with every 20th slice. Throws
   * `aborted`, which must end the slice, if another process has taken the job over. Not for a transaction that changes the catalog.
   */
  savePlace(transaction: Storage, place: JobPlace): Promise<void>
}
