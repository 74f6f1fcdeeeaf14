/** Which names tables and columns may have, and how an error may repeat a name it was given. */
import { LONGEST_NAME } from '../limits.ts'

/** Words the query language reserves: no bare name can be one, so no table or column may be called so. */
export const RESERVED_WORDS: ReadonlySet<string> = new Set(
  `all and as asc between by case cross desc distinct else end except exists false from full group having ilike in inner
  intersect is join left like limit natural not null offset on or order outer right select then true union using when where with`.split(
    /\s+/,
  ),
)

/** Names JavaScript objects answer to by themselves, and the name that queries and the wire give the record id. */
const TAKEN = new Set(['constructor', 'prototype', 'svc_id'])

const SHAPE = /^[a-z][a-z0-9_]*$/

/** Why this is no name for a table or column, or undefined when it is one. */
export function nameFault(name: string): string | undefined {
  if (!SHAPE.test(name)) return 'must be lower-case letters, digits and _, beginning with a letter'
  if (name.length > LONGEST_NAME) return `must have at most ${LONGEST_NAME} characters`
  if (RESERVED_WORDS.has(name)) return 'is a reserved word of the query language'
  if (TAKEN.has(name)) return 'is reserved'
  return undefined
}
