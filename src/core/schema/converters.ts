/** How the values of a column become those of a column that takes its place: named in the catalog, so that every process that writes records makes the same. */
import { keysOf } from '../util/lists.ts'
import type { ColumnTypeName } from '../values/column-type.ts'
import { ValueError } from '../values/column-type.ts'
import type { ColumnDefinition } from './column.ts'
import { typeOf } from './column.ts'

/** A way to make values of one type of those of others. */
interface Converter {
  readonly to: ColumnTypeName
  /** The types of which every value, or nearly every one, has one that means the same: used unless another is named. */
  readonly widens: readonly ColumnTypeName[]
  /** Types of which only some values convert: used only where it is named. */
  readonly narrows: readonly ColumnTypeName[]
  /** Returns the text that the type reads, of the text of a value. Default: the same. */
  text?(text: string): string
}

/** Converters by name. Names are stored: one is never given another meaning. */
const CONVERTERS = {
  toText: { to: 'STRING', widens: ['INTEGER', 'FLOAT', 'BOOL', 'DATE', 'TIME', 'DATETIME'], narrows: [] },
  toFloat: { to: 'FLOAT', widens: ['INTEGER'], narrows: ['STRING'] },
  toInteger: { to: 'INTEGER', widens: [], narrows: ['STRING', 'FLOAT'] },
  toBoolean: { to: 'BOOL', widens: [], narrows: ['STRING'] },
  toDate: { to: 'DATE', widens: [], narrows: ['STRING', 'DATETIME'], text: (text) => text.replace(/T00:00:00Z$/, '') },
  toTime: { to: 'TIME', widens: [], narrows: ['STRING'] },
  toDatetime: {
    to: 'DATETIME',
    widens: ['DATE'],
    narrows: ['STRING'],
    // A day begins at midnight of UTC. Texts that have a time keep it.
    text: (text) => (/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) ? `${text}T00:00:00Z` : text),
  },
} as const satisfies Readonly<Record<string, Converter>>

/** The name of a converter. */
export type ConverterName = keyof typeof CONVERTERS

const NAMES = keysOf(CONVERTERS)

/** The names of all converters. */
export const CONVERTER_NAMES: readonly string[] = NAMES

/** Returns the converters that make values of a column what another definition takes, by the names that can be asked for. */
export function possibleConverters(before: ColumnDefinition, after: ColumnDefinition): readonly ConverterName[] {
  return NAMES.filter((name) => {
    const { to, widens, narrows }: Converter = CONVERTERS[name]
    return to === after.type && [...widens, ...narrows].some((type) => type === before.type)
  })
}

/** Returns the converter that needs no name; undefined if there is none. */
export function widening(before: ColumnDefinition, after: ColumnDefinition): ConverterName | undefined {
  return NAMES.find((name) => {
    const { to, widens }: Converter = CONVERTERS[name]
    return to === after.type && widens.some((type) => type === before.type)
  })
}

/** Returns a value of another column; null for null. Throws `ValueError` for a value that has none. */
export type Convert = (value: unknown) => unknown

/**
 * Returns what converts the values of a column. Without a name they stay as they are. A number is converted only if no digit is lost: what the
 * result is written as must mean the number.
 */
export function converterOf(before: ColumnDefinition, after: ColumnDefinition, name: ConverterName | undefined): Convert {
  const [from, to] = [typeOf(before), typeOf(after)]
  if (name === undefined) return (value) => value
  const { text = (same: string) => same }: Converter = CONVERTERS[name]
  return (value) => {
    if (value === null || value === undefined) return value
    const converted = to.fromText(text(from.toText(value)))
    if (from.isSummable && to.isSummable && !isSameNumber(value, converted))
      throw new ValueError('must be a number that its new type holds exactly')
    return converted
  }
}

/** Compares numbers of any size: a double is a whole number of many digits, or it differs from every whole number. */
function isSameNumber(value: unknown, converted: unknown): boolean {
  const isNumber = (one: unknown): one is number | bigint => typeof one === 'number' || typeof one === 'bigint'
  // biome-ignore lint/suspicious/noDoubleEquals: It compares a number and a bigint by what they mean.
  return isNumber(value) && isNumber(converted) && value == converted
}
