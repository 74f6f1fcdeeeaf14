/** The law every token format obeys: which texts may stand in for a value, counted, so that luck or a cipher can pick one. */
import type { Rank } from '../ports/keys.ts'

/** Fewest texts among which a token is picked. Source: SP 800-38G revision 1, section 5.1, for the smallest domain. */
export const LEAST_POSSIBILITIES = 1_000_000n

/**
 * What must hold and does not, as a clause that follows the name of a column: "must have at least 6 digits ...". Thrown for a
 * definition that cannot work and for a value that cannot have a token. Never quotes a value or a token.
 */
export class TokenFault extends Error {}

/** The tokens one value may have, numbered from 0: all different, none of them the value. */
export interface TokenShape {
  readonly domain: bigint
  /** The token of a rank from 0 to `domain` - 1. */
  tokenAt(rank: bigint): string
}

/** A value as a number, ready to be enciphered, and how the number it becomes is written as its token. */
export interface RankedValue extends Rank {
  tokenAt(rank: bigint): string
}

/** A token as a number, ready to be deciphered, and how the number it becomes is written as its value. */
export interface RankedToken extends Rank {
  valueAt(rank: bigint): string
}

/** Tokens computed from values under a key and back again: between values and tokens of one shape there is a one-to-one map. */
export interface DeterministicFormat {
  /** Least domain any accepted value can have. */
  readonly capacity: bigint
  /** Throws `TokenFault` for a value that can have no such token. */
  rankOf(value: string): RankedValue
  /** Undefined for a text that can be no token of this format. */
  rankOfToken(token: string): RankedToken | undefined
}

/** One format, compiled from its definition. Text in, text out; no luck and no keys. */
export interface TokenFormat {
  /** Fewest texts, the value itself counted where it is one of them, among which the token of any accepted value is picked. */
  readonly capacity: bigint
  /** The tokens a value may have; throws `TokenFault` for a value that can have none. */
  shapeOf(value: string): TokenShape
  /** Absent where tokens cannot be turned back into values, so that the schema can refuse such a column by name. */
  readonly deterministic?: DeterministicFormat
}

/** A count as people write it: 1,000,000. */
export function counted(count: bigint): string {
  return count.toString().replaceAll(/\B(?=(?:[0-9]{3})+$)/g, ',')
}
