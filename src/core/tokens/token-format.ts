/** The contract of every token format: numbers the texts that can be the token of a value, so that a random number or a cipher selects one. */
import type { Rank } from '../ports/crypto.ts'

/** Minimum number of possible tokens of a value: the smallest domain of FF1. Source: NIST SP 800-38G revision 1, section 5.1. */
export const MIN_DOMAIN = 1_000_000n

/**
 * Thrown for an invalid definition of a format and for a value that cannot have a token. The message is a clause, "must have at
 * least 6 digits ...", that follows the name of a column. It never quotes a value or a token.
 */
export class TokenFormatError extends Error {}

/** The possible tokens of one value, numbered from 0: all different, none equal to the value. */
export interface TokenRange {
  /** Number of possible tokens. */
  readonly domain: bigint
  /** Returns the token of a rank from 0 to `domain` - 1. */
  tokenAt(rank: bigint): string
}

/** A value as a rank to encrypt. */
export interface RankedValue extends Rank {
  /** Returns the token of the encrypted rank. */
  tokenAt(rank: bigint): string
}

/** A token as a rank to decrypt. */
export interface RankedToken extends Rank {
  /** Returns the value of the decrypted rank. */
  valueAt(rank: bigint): string
}

/** A format whose tokens are computed from values with a key, and values from tokens. Values and tokens of one template map one-to-one. */
export interface DeterministicFormat {
  /** The smallest domain of all accepted values. */
  readonly capacity: bigint
  /** Returns a value as a rank. Throws `TokenFormatError` for a value that cannot have a token. */
  rankOf(value: string): RankedValue
  /** Returns a token as a rank; undefined for a text that cannot be a token of this format. */
  rankOfToken(token: string): RankedToken | undefined
}

/** One format, compiled from its definition. Works on text only, without randomness and without keys. */
export interface TokenFormat {
  /**
   * Source of a regular expression, with the flag `u`, that finds what may be tokens in prose. Other texts match it too. Tokens do not that have signs
   * where prose has its own, such as two separators in a row.
   */
  readonly pattern: string
  /** The smallest number of possible tokens of all accepted values. The value itself counts if it has the form of a token. */
  readonly capacity: bigint
  /** Returns the possible tokens of a value. Throws `TokenFormatError` for a value that cannot have one. */
  rangeOf(value: string): TokenRange
  /** Absent if values cannot be computed from tokens. The schema check then rejects deterministic tokens of this format. */
  readonly deterministic?: DeterministicFormat
}

/** Returns a count with a comma after every three digits: 1,000,000. */
export function formatCount(count: bigint): string {
  return count.toString().replaceAll(/\B(?=(?:[0-9]{3})+$)/g, ',')
}
