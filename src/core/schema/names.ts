/** Rules for the names of tables, columns and column groups. */
import { MAX_NAME_LENGTH } from '../limits.ts'

/** Reserved words of the query language, in lower case. No name can be one of them. */
export const RESERVED_WORDS: ReadonlySet<string> = new Set(
  `all and as asc between by case cross desc distinct else end except exists false from full group having ilike in inner
  intersect is join left like limit natural not null offset on or order outer right select then true union using when where with`.split(
    /\s+/,
  ),
)

/** The name of the record id in queries and in the data API. */
export const RECORD_ID_NAME = 'svc_id'

/** Names that every JavaScript object has. */
const OTHER_RESERVED = new Set(['constructor', 'prototype'])

const SHAPE = /^[a-z][a-z0-9_]*$/

/** Returns why a name is not allowed, as a clause that follows the name; undefined if it is allowed. */
export function nameProblem(name: string): string | undefined {
  if (!SHAPE.test(name)) return 'must be lower-case letters, digits and _, beginning with a letter'
  if (name.length > MAX_NAME_LENGTH) return `must have at most ${MAX_NAME_LENGTH} characters`
  if (RESERVED_WORDS.has(name)) return 'is a reserved word of the query language'
  if (name === RECORD_ID_NAME) return 'is reserved: it names the record id in queries'
  if (OTHER_RESERVED.has(name)) return 'is reserved'
  return undefined
}
