/** How an operation ended, as its event tells it. */
import type { ErrorCode } from '../errors.ts'
import { isVaultError } from '../errors.ts'
import type { EventDraft } from './event.ts'
import { statusOf } from './status-of.ts'

/** Code and message of an outcome. */
export interface Outcome {
  readonly code: number
  readonly message: string
}

/** All went well. */
export const SUCCESS: Outcome = { code: 200, message: '' }

/** How an error is told: a `VaultError` in its own words, which hold no value; of anything else nothing, for an engine may have quoted some. */
export function outcomeOf(error: unknown): Outcome & { readonly failure: ErrorCode } {
  if (isVaultError(error)) return { code: statusOf(error.code), message: error.message, failure: error.code }
  return { code: statusOf('internal'), message: 'Something unexpected went wrong.', failure: 'internal' }
}

/** The event of a change that was made and then undone with the transaction it was part of. */
export function undone(event: EventDraft): EventDraft {
  return { ...event, code: statusOf('internal'), message: 'Undone: the transaction it was part of was rolled back.' }
}
