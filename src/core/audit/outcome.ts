/** How an operation ended, as its event tells it. */
import type { ErrorCode } from '../errors.ts'
import { isVaultError, statusOf } from '../errors.ts'

/** Code and message of an outcome. */
export interface Outcome {
  readonly code: number
  readonly message: string
}

/** All went well. */
export const SUCCESS: Outcome = { code: 200, message: '' }

/** How an error is told: a `VaultError` in its own words, which hold no value; of anything else nothing, for an engine may have quoted some. */
export function outcomeOf(error: unknown): Outcome & { readonly failure: ErrorCode } {
  if (isVaultError(error)) return { code: error.httpStatus, message: error.message, failure: error.code }
  return { code: statusOf(undefined).http, message: 'Something unexpected went wrong.', failure: 'internal' }
}

/** Words after which a message names something. */
const NAMED = /(?<=\b(?:[Cc]olumn|[Tt]able|[Gg]roup|[Oo]ption|name) )[A-Za-z_][A-Za-z0-9_]*/g
/** Words of our own that stand there too. */
const OWN_WORDS: ReadonlySet<string> = new Set(
  'alone already and at before by cannot could does from group has holds in is it list must name needs of or that the to which'.split(
    ' ',
  ),
)

/** A message without names that the schema does not have: a careless caller may have put a value where a name belongs. */
export function withoutStrangers(message: string, isName: (word: string) => boolean): string {
  return message.replace(NAMED, (word) => (isName(word) || OWN_WORDS.has(word) ? word : '*UNKNOWN*'))
}

/** How a change ended that was made and then undone with the transaction it was part of. */
export const UNDONE: Outcome = {
  code: statusOf(undefined).http,
  message: 'Undone: the transaction it was part of was rolled back.',
}

/** How a change ended of which nobody can say whether it stands. */
export const UNCERTAIN: Outcome = {
  code: statusOf(undefined).http,
  message: 'Unknown: the storage was lost while its transaction ended.',
}
