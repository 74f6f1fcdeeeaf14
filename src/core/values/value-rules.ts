/** The rules a column adds to its type, compiled when the layout is created. */
import { type RE2JS as Pattern, RE2JS } from 're2js'
import { MAX_UNIQUE_TEXT_LENGTH } from '../limits.ts'
import { ValueError } from './column-type.ts'
import type { AnyColumnType } from './column-types.ts'
import { type Normalizer, normalize, SELECTIVE } from './normalizers.ts'

/** The options of a column that restrict its values. */
export interface RuleOptions {
  /** RE2 pattern that the whole text of the value must match. */
  readonly pattern?: string
  /** Maximum length of the text of the value, in code points. */
  readonly maxLength?: number
  /** The allowed values, as text or as numbers. */
  readonly oneOf?: readonly (string | number)[]
  /** True for a unique column: limits the length of its text. */
  readonly unique?: boolean
  /** True for a column that stores digests: of each value its normalizers must leave something. */
  readonly hasDigest?: boolean
  readonly normalize?: readonly Normalizer[]
}

/** Checks a trusted value of this type. Throws `ValueError` if it breaks a rule. */
export type ValueRule = (value: unknown, type: AnyColumnType) => void

/** Checks the text of a value. */
type TextRule = (text: string) => void

/** Returns the rules as one check, or undefined if there are none. Throws `ValueError` for a pattern that is not RE2 syntax, and for allowed values that do not have the type. */
export function compileRules(options: RuleOptions, type: AnyColumnType): ValueRule | undefined {
  const { pattern, maxLength, oneOf, unique, hasDigest, normalize: names = [] } = options
  const rules: TextRule[] = []
  if (unique === true) rules.push(atMost(MAX_UNIQUE_TEXT_LENGTH, ' because its column is unique (token insertion error)'))
  if (maxLength !== undefined) rules.push(atMost(maxLength, ''))
  if (oneOf !== undefined) rules.push(among(oneOf, type))
  if (pattern !== undefined) rules.push(matching(pattern))
  const selective = names.flatMap((name) => SELECTIVE[name] ?? [])
  if (hasDigest === true) for (const clause of selective) rules.push(keyed(names, clause))
  if (rules.length === 0) return undefined
  return (value, type) => {
    const text = type.toText(value)
    for (const rule of rules) rule(text)
  }
}

function atMost(count: number, reason: string): TextRule {
  const clause = `must have at most ${count} character${count === 1 ? '' : 's'}${reason}`
  return (text) => {
    if (text.length > count && hasMoreThan(count, text)) throw new ValueError(clause)
  }
}

/** True if a text with more than `count` UTF-16 units has more than `count` code points. */
function hasMoreThan(count: number, text: string): boolean {
  if (text.length > count * 2) return true
  let points = 0
  for (const _ of text) points++
  return points > count
}

function among(allowed: readonly (string | number)[], type: AnyColumnType): TextRule {
  const texts = new Set(allowed.map(String))
  for (const text of texts) if (type.toText(type.fromText(text)) !== text) throw new ValueError(UNUSUAL)
  return (text) => {
    if (!texts.has(text)) throw new ValueError('must be one of the values its column allows')
  }
}

const UNUSUAL = 'has a value in oneOf that is not written as reads return it'

function keyed(names: readonly Normalizer[], clause: string): TextRule {
  return (text) => {
    if (normalize(names, text) === undefined) throw new ValueError(clause)
  }
}

function matching(source: string): TextRule {
  const pattern = compilePattern(source)
  return (text) => {
    if (!pattern.testExact(text)) throw new ValueError('must match the pattern of its column as a whole')
  }
}

function compilePattern(source: string): Pattern {
  try {
    return RE2JS.compile(source)
  } catch {
    throw new ValueError('must have a pattern in RE2 syntax')
  }
}
