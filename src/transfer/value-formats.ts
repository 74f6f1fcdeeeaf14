/** How values are written in a source, and what the vault reads in their place. */
import { VaultError } from '../core/errors.ts'
import { assertOptions } from '../core/util/options.ts'

/** How the values of one column are written. */
export interface ValueFormat {
  /** Leave out white space around a value. Default: the option of the import. */
  readonly trim?: boolean
  /** What an empty value is. Default: the option of the import. */
  readonly empty?: EmptyValue
  /** How dates are written, such as `DD.MM.YYYY`, `MM/DD/YYYY HH:mm` or `HH:mm:ss`. Default: as the vault writes them. */
  readonly date?: string
  /** The offset of dates with a time, such as `+02:00`. Default `Z`. */
  readonly offset?: string
  /** The decimal mark of numbers; the other one, spaces and apostrophes can separate thousands. Default: as JSON writes them. */
  readonly decimal?: '.' | ','
  /** The words for true and for false, in any case. Default: `true` and `false`. */
  readonly true?: readonly string[]
  readonly false?: readonly string[]
}

/**
 * What an empty value is: `unquoted` is null without quotes and text in quotes, as `export` and PostgreSQL write them; `null` is null, and `text` text, in
 * both cases. NDJSON has no such quotes: there `unquoted` is text.
 */
export type EmptyValue = 'unquoted' | 'null' | 'text'

export const EMPTY_VALUES: readonly unknown[] = ['unquoted', 'null', 'text'] satisfies EmptyValue[]
export const FORMAT_OPTIONS = ['trim', 'empty', 'date', 'offset', 'decimal', 'true', 'false'] as const

/** Returns the value for the vault, or the problem of a text as a clause that follows the name of the column. */
export type Convert = (text: string) => { readonly value: unknown } | { readonly problem: string }

/** What the vault reads: texts of values, or values as JSON has them. */
export type ValueForm = 'texts' | 'values'

/** Returns what converts the values of a column; undefined if they stay as they are. Throws `invalid_request`. `of` is the path of the format. */
export function compileFormat(format: ValueFormat, form: ValueForm, of: string): Convert | undefined {
  assertOptions<ValueFormat>(format, FORMAT_OPTIONS, { of: 'importRecords', member: of })
  const { date, decimal, offset = 'Z' } = format
  const kinds = [date, decimal, format.true ?? format.false].filter((kind) => kind !== undefined)
  if (kinds.length > 1) throw invalid(of, 'has more than one of date, decimal, and true or false')
  if (date !== undefined) return dateConverter(date, offset, of)
  if (decimal !== undefined) return numberConverter(decimal, form, of)
  if (kinds.length > 0) return wordConverter(format, form, of)
  return undefined
}

/** Returns the error of a wrong option. */
export function invalid(of: string, problem: string): VaultError {
  return new VaultError('invalid_request', `Import failed. Option ${of} ${problem}.`)
}

const PARTS: Readonly<Record<string, string>> = {
  YYYY: '(?<year>[0-9]{4})',
  MM: '(?<month>[0-9]{1,2})',
  DD: '(?<day>[0-9]{1,2})',
  HH: '(?<hour>[0-9]{1,2})',
  mm: '(?<minute>[0-9]{2})',
  ss: '(?<second>[0-9]{2})',
}

const OFFSET = /^(Z|[+-][0-9]{2}:[0-9]{2})$/

function dateConverter(pattern: string, offset: string, of: string): Convert {
  const shape = String(pattern).replace(/YYYY|MM|DD|HH|mm|ss|[^A-Za-z]|[A-Za-z]/g, (part) => PARTS[part] ?? literal(part, of))
  const hasDay = ['YYYY', 'MM', 'DD'].map((part) => pattern.split(part).length - 1)
  const hasTime = pattern.includes('HH')
  const isDay = hasDay.every((count) => count === 1)
  if (!isDay && (hasDay.some((count) => count > 0) || !hasTime))
    throw invalid(of, 'has a date that does not name YYYY, MM and DD once each, or a time as HH:mm')
  if (!OFFSET.test(offset)) throw invalid(of, 'has an offset that is not Z, or such as +02:00')
  const expression = new RegExp(`^${shape}$`)
  const problem = `must be written as ${pattern}`
  return (text) => {
    const found = expression.exec(text)?.groups
    if (found === undefined) return { problem }
    const { year = '', month = '', day = '', hour = '', minute = '00', second = '00' } = found
    const date = isDay ? `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}` : ''
    const time = hasTime ? `${hour.padStart(2, '0')}:${minute}:${second}` : ''
    return { value: isDay && hasTime ? `${date}T${time}${offset}` : date + time }
  }
}

function literal(part: string, of: string): string {
  if (/[A-Za-z]/.test(part)) throw invalid(of, 'has a date with other letters than YYYY, MM, DD, HH, mm and ss')
  return `\\u${part.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function numberConverter(decimal: string, form: ValueForm, of: string): Convert {
  if (decimal !== '.' && decimal !== ',') throw invalid(of, 'has a decimal that is neither "." nor ","')
  const mark = decimal === '.' ? '\\.' : ','
  const group = decimal === '.' ? "[,' \\u00a0\\u202f\\u2019]" : "[.' \\u00a0\\u202f\\u2019]"
  const expression = new RegExp(`^([+-]?)0*([0-9]{1,3}(?:${group}[0-9]{3})+|[0-9]+)(?:${mark}([0-9]+))?$`)
  const groups = new RegExp(group, 'g')
  const problem = `must be a number with ${decimal === '.' ? 'a point' : 'a comma'} as decimal mark`
  return (text) => {
    const found = expression.exec(text)
    if (found === null) return { problem }
    const [, sign, whole = '', fraction] = found
    const digits = `${sign === '-' ? '-' : ''}${whole.replace(groups, '')}${fraction === undefined ? '' : `.${fraction}`}`
    const near = Number(digits)
    // A whole number that a double cannot hold stays text, which an INTEGER column takes.
    return { value: form === 'texts' || (fraction === undefined && !Number.isSafeInteger(near)) ? digits : near }
  }
}

function wordConverter(format: ValueFormat, form: ValueForm, of: string): Convert {
  const words = new Map<string, boolean>()
  for (const is of [true, false]) {
    for (const word of format[is ? 'true' : 'false'] ?? [String(is)]) {
      if (typeof word !== 'string' || words.has(word.toLowerCase())) throw invalid(of, 'has a word that is not text, or twice')
      words.set(word.toLowerCase(), is)
    }
  }
  return (text) => {
    const is = words.get(text.toLowerCase())
    if (is === undefined) return { problem: 'must be one of the words for true and false' }
    return { value: form === 'texts' ? String(is) : is }
  }
}
