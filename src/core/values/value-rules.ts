/** The rules a column adds to its type, compiled once when the schema is laid out. */
import type { RE2JS as Pattern } from 're2js'
import { RE2JS } from 're2js'
import { LONGEST_UNIQUE_TEXT } from '../limits.ts'
import { ValueFault } from './column-type.ts'
import type { AnyColumnType } from './column-types.ts'

/** The options of a column that are rules about its values. */
export interface RuleOptions {
  /** RE2 pattern that the whole shown text must match, from its first character to its last. */
  readonly pattern?: string
  /** Most code points of the shown text. */
  readonly maxLength?: number
  /** The only values allowed, as shown text or as numbers. */
  readonly oneOf?: readonly (string | number)[]
  /** Bounds the text of a value that no other record may hold. */
  readonly unique?: boolean
}

/** Throws `ValueFault` with what must hold; the value is a trusted one of this type. */
export type ValueRule = (value: unknown, type: AnyColumnType) => void

/** Checks a shown text. */
type TextRule = (shown: string) => void

/** The rules as one check, or undefined where there are none. Throws `ValueFault` for a pattern that is none. */
export function compileRules({ pattern, maxLength, oneOf, unique }: RuleOptions): ValueRule | undefined {
  const rules: TextRule[] = []
  if (unique === true) rules.push(atMost(LONGEST_UNIQUE_TEXT, ' because its column is unique (token insertion error)'))
  if (maxLength !== undefined) rules.push(atMost(maxLength, ''))
  if (oneOf !== undefined) rules.push(among(oneOf))
  if (pattern !== undefined) rules.push(matching(pattern))
  if (rules.length === 0) return undefined
  return (value, type) => {
    const shown = type.show(value)
    for (const rule of rules) rule(shown)
  }
}

function atMost(count: number, reason: string): TextRule {
  const sentence = `must have at most ${count} character${count === 1 ? '' : 's'}${reason}`
  return (shown) => {
    if (shown.length > count && hasMoreThan(count, shown)) throw new ValueFault(sentence)
  }
}

/** True when the text, already known to have more units, has more code points than this. */
function hasMoreThan(count: number, text: string): boolean {
  if (text.length > count * 2) return true
  let points = 0
  for (const _ of text) points++
  return points > count
}

function among(allowed: readonly (string | number)[]): TextRule {
  const texts = new Set(allowed.map(String))
  return (shown) => {
    if (!texts.has(shown)) throw new ValueFault('must be one of the values its column allows')
  }
}

function matching(source: string): TextRule {
  const pattern = compilePattern(source)
  return (shown) => {
    if (!pattern.testExact(shown)) throw new ValueFault('must match the pattern of its column as a whole')
  }
}

function compilePattern(source: string): Pattern {
  try {
    return RE2JS.compile(source)
  } catch {
    throw new ValueFault('must have a pattern that is a regular expression of RE2 syntax')
  }
}
