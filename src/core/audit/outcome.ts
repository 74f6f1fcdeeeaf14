/** How an operation ended, as its event records it. */
import { type ErrorCode, VaultError } from '../errors.ts'

/** HTTP status and message of an outcome. The message is empty on success. */
export interface Outcome {
  readonly code: number
  readonly message: string
  /** The code of a failure. Events do not record it. */
  readonly failure?: ErrorCode
}

/** The operation succeeded. */
export const SUCCESS: Outcome = { code: 200, message: '' }

/** The outcome of an error. Only the message of a `VaultError` is kept: it holds no value, while an engine may have quoted one. */
export function outcomeOf(error: unknown): Outcome & { readonly failure: ErrorCode } {
  if (VaultError.isGenuine(error)) return { code: error.httpStatus, message: error.message, failure: error.code }
  return { code: 500, message: 'Something unexpected went wrong.', failure: 'internal' }
}

/** A change that was made and then rolled back with its transaction. */
export const ROLLED_BACK: Outcome = { code: 500, message: 'Rolled back with its transaction.' }

/** A change whose transaction lost the storage during COMMIT. */
export const OUTCOME_UNKNOWN: Outcome = { code: 500, message: 'Outcome unknown: storage was lost during commit.' }

/** An item of a batch that did not run, because the batch had failed before. */
export const NOT_RUN: Outcome = { code: 500, message: 'Not run: the batch failed before this item.' }

/** True for the outcome of a change that ran, even if it rolled back: its event contains the rows. A refused change has none. */
export function isOfChange(outcome: Outcome): boolean {
  return outcome === SUCCESS || outcome === ROLLED_BACK || outcome === OUTCOME_UNKNOWN
}
