/** Puts literals of a query into a list of values, with parameters in their places. */

import { type Constant, replaceConstants } from '../../../src/core/expressions/ast.ts'
import type { QueryValue } from '../../../src/core/expressions/parameter-values.ts'
import { parseSelect } from '../../../src/core/sql/parse-select.ts'
import { VaultError } from '../../../src/index.ts'
import type { SeededRandom } from '../random/seeded-random.ts'

/** A query and the values of its parameters. */
export interface Parameterized {
  readonly text: string
  readonly values: readonly QueryValue[]
}

/** A literal of a condition, with its sign; or a number after LIMIT or OFFSET. */
const LITERAL = /'(?:[^']|'')*'|"(?:[^"]|"")*"|-?\s*(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|true|false|null/iy
const WINDOW = /(?<=\b(?:limit|offset)\s+)\d+/gi

/** Returns the query with some literals replaced; unchanged if it does not parse. Equal values can share a parameter. */
export function withParameters(random: SeededRandom, text: string): Parameterized {
  const values: QueryValue[] = []
  const places = placesOf(text).filter(() => random.chance(0.8))
  let replaced = ''
  let kept = 0
  for (const { at, length, value } of places) {
    const known = values.indexOf(value)
    const number = known < 0 || random.chance(0.5) ? values.push(value) : known + 1
    replaced += `${text.slice(kept, at)}$${number}`
    kept = at + length
  }
  return { text: replaced + text.slice(kept), values }
}

interface Place {
  readonly at: number
  readonly length: number
  readonly value: QueryValue
}

/** Every literal that can be a parameter, in the order of the text. */
function placesOf(text: string): readonly Place[] {
  const constants = constantsOf(text)
  if (constants === undefined) return []
  const inConditions = constants.flatMap((constant) => placeOf(text, constant) ?? [])
  const end = Math.max(0, ...inConditions.map(({ at, length }) => at + length))
  const inWindow = [...text.matchAll(WINDOW)].flatMap(({ 0: digits, index: at }) =>
    // Texts and comments can have the words of a window in them.
    at > end && !/['"]|--|\*\//.test(text.slice(at)) ? [{ at, length: digits.length, value: Number(digits) }] : [],
  )
  return [...inConditions, ...inWindow].toSorted((one, other) => one.at - other.at)
}

function constantsOf(text: string): readonly Constant[] | undefined {
  const constants: Constant[] = []
  const collect = (constant: Constant): Constant => {
    constants.push(constant)
    return constant
  }
  try {
    const { joins, where } = parseSelect(text)
    for (const { on } of joins) replaceConstants(on, collect)
    if (where !== undefined) replaceConstants(where, collect)
    return constants
  } catch {
    return undefined
  }
}

/** Returns undefined for a literal that no value stands for: a number with a sign before its place, or a spelling that no JavaScript number has. */
function placeOf(text: string, constant: Constant): Place | undefined {
  const { at } = constant
  if (constant.kind === 'number' && /[+-]\s*$/.test(text.slice(0, at))) return undefined
  LITERAL.lastIndex = at
  const length = LITERAL.exec(text)?.[0].length
  const value = literalValue(constant)
  return value === undefined || length === undefined ? undefined : { at, length, value }
}

function literalValue(constant: Constant): QueryValue | undefined {
  switch (constant.kind) {
    case 'text':
      return constant.text
    case 'boolean':
      return constant.value
    case 'null':
      return null
    case 'number':
      return numberOf(constant.text)
    default:
      return undefined
  }
}

/** An integer can be a bigint, and a number only if it is spelled as its text. */
function numberOf(text: string): number | bigint | undefined {
  if (/^-?[1-9]\d{15,300}$/.test(text)) return BigInt(text)
  return String(Number(text)) === text ? Number(text) : undefined
}

/** The message of an error without its position, and without the difference between a literal and a parameter. */
export function withoutPlace(error: unknown): string {
  if (!VaultError.isGenuine(error)) throw error
  const message = error.message
    .replace(/^(?:Query failed\. )?Line \d+, column \d+: /, '')
    .replace(/parameter \$\d+ \(([^)]*)\)/gi, '$1')
    .replace(/Parameter \$\d+ compared/, 'The literal compared')
    .replace(/Parameter \$\d+ is too large/, 'The number is too large')
    .toLowerCase()
  return `${error.code}: ${message}`
}
