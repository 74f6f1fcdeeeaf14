/** DATE, TIME and DATETIME, and the calendar that they share: years 0001 to 9999 of the Gregorian calendar, without leap seconds. */
import { readI64, readU32, readUtf8 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { type ColumnType, textCell, ValueError } from './column-type.ts'
import { isDaySpelling, isTimeSpelling, withAsciiDigits } from './spelling.ts'

const DATE = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/

/** Trusted form: `YYYY-MM-DD`. */
export const dateType: ColumnType<string> = {
  name: 'DATE',
  tag: 5,
  physical: 'text',
  hasShortCells: true,
  size: 10,
  comparesAs: 'date',
  keyForm: 'signed',
  isOrdered: true,
  isSummable: false,
  hasFormats: true,
  parse(input) {
    if (typeof input !== 'string') throw new ValueError('must be a date as text, such as 2026-01-31')
    return dateType.fromText(input)
  },
  fromText(text) {
    if (daysOf(text) === undefined) throw new ValueError('must be a day of the calendar as YYYY-MM-DD, years 0001 to 9999')
    return text
  },
  write(value, out) {
    out.utf8(value)
  },
  read: readUtf8,
  canonical(value, out) {
    out.i64(required(daysOf(value), 'The day of a DATE'))
  },
  fromCanonical: (bytes, start) => dayText(Number(readI64(bytes, start))),
  compare: compareTexts,
  toCell: (value) => value,
  fromCell: textCell,
  toText: (value) => value,
  isSpelledBy: isDaySpelling,
  toJson: (value) => value,
}

function daysOf(text: string): number | undefined {
  const found = DATE.exec(text)
  return found === null ? undefined : toDays(Number(found[1]), Number(found[2]), Number(found[3]))
}

const TIME = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?$/

/**
 * Trusted form: `HH:MM:SS`, then up to nine decimals without trailing zeros. Seconds are required, because `12:30` could
 * mean the whole minute or its first second.
 */
export const timeType: ColumnType<string> = {
  name: 'TIME',
  tag: 6,
  physical: 'text',
  hasShortCells: true,
  size: undefined,
  comparesAs: 'time',
  keyForm: 'signed',
  isOrdered: true,
  isSummable: false,
  parse(input) {
    if (typeof input !== 'string') throw new ValueError('must be a time of day as text, such as 23:59:59.5')
    return timeType.fromText(input)
  },
  fromText(text) {
    if (nanosOf(text) === undefined)
      throw new ValueError('must be a time of day as HH:MM:SS with up to nine decimals and no offset, 00:00:00 to 23:59:59')
    return text.slice(0, 8) + fractionText(text.slice(9))
  },
  write(value, out) {
    out.utf8(value)
  },
  read: readUtf8,
  canonical(value, out) {
    out.i64(required(nanosOf(value), 'The time of a TIME'))
  },
  fromCanonical(bytes, start) {
    const nanos = Number(readI64(bytes, start))
    return secondText(Math.floor(nanos / SECOND_NANOS)) + nanosText(nanos % SECOND_NANOS)
  },
  compare: compareTexts,
  toCell: (value) => value,
  fromCell: textCell,
  toText: (value) => value,
  isSpelledBy: isTimeSpelling,
  toJson: (value) => value,
}

/** Returns nanoseconds since midnight, or undefined for text that is not a time. They are below 2^47, so a number is exact. */
function nanosOf(text: string): number | undefined {
  const found = TIME.exec(text)
  if (found === null) return undefined
  const second = toSecond(Number(found[1]), Number(found[2]), Number(found[3]))
  return second === undefined ? undefined : second * SECOND_NANOS + toNanos(found[4] ?? '')
}

const INSTANT =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$/

const DAY_SECONDS = 86_400
const SECOND_NANOS = 1_000_000_000
/** Digits behind the point of a second, at most. */
const FRACTION_DIGITS = 9

const MESSAGE =
  'must be a date and time as RFC 3339 text with its offset, such as 2026-01-31T23:59:59.5+02:00, within years 0001 to 9999 UTC'

/** Trusted form: `YYYY-MM-DDTHH:MM:SS`, up to nine decimals without trailing zeros, `Z`. */
export const datetimeType: ColumnType<string> = {
  name: 'DATETIME',
  tag: 7,
  physical: 'text',
  hasShortCells: true,
  size: undefined,
  comparesAs: 'instant',
  keyForm: 'signed',
  isOrdered: true,
  isSummable: false,
  parse(input) {
    return typeof input === 'string' ? datetimeType.fromText(input) : fromDate(input)
  },
  fromText(text) {
    const instant = readInstant(text)
    if (instant === undefined) throw new ValueError(MESSAGE)
    return instantText(instant.seconds, instant.fraction)
  },
  write(value, out) {
    out.utf8(value)
  },
  read: readUtf8,
  canonical(value, out) {
    const { seconds, fraction } = required(readInstant(value), 'The instant of a DATETIME')
    out.i64(seconds)
    out.u32(toNanos(fraction))
  },
  fromCanonical: (bytes, start) => instantText(Number(readI64(bytes, start)), padded(readU32(bytes, start + 8), FRACTION_DIGITS)),
  // The Z is cut off: it would sort after the decimal point of a longer fraction.
  compare: (left, right) => compareTexts(left.slice(0, -1), right.slice(0, -1)),
  toCell: (value) => value.slice(0, -1),
  fromCell: (cell) => `${textCell(cell)}Z`,
  toText: (value) => value,
  isSpelledBy(value, text) {
    const instant = readInstant(withAsciiDigits(text).trim().replace(' ', 'T'))
    return instant === undefined ? isTimeSpelling(value, text) : instantText(instant.seconds, instant.fraction) === value
  },
  toJson: (value) => value,
}

/** Seconds since 1970-01-01T00:00:00Z, and the digits after the decimal point. */
interface Instant {
  readonly seconds: number
  readonly fraction: string
}

function readInstant(text: string): Instant | undefined {
  const found = INSTANT.exec(text)
  if (found === null) return undefined
  const days = toDays(Number(found[1]), Number(found[2]), Number(found[3]))
  const second = toSecond(Number(found[4]), Number(found[5]), Number(found[6]))
  const offset = found[8] === undefined ? 0 : toSecond(Number(found[9]), Number(found[10]), 0)
  if (days === undefined || second === undefined || offset === undefined) return undefined
  const seconds = days * DAY_SECONDS + second - (found[8] === '-' ? -offset : offset)
  return isInCalendar(seconds) ? { seconds, fraction: found[7] ?? '' } : undefined
}

/** Returns the canonical text of a JavaScript `Date`. Reads its internal slot, so that objects that only look like a date are rejected. */
function fromDate(input: unknown): string {
  const milliseconds = millisecondsOf(input)
  const seconds = Math.floor(milliseconds / 1000)
  if (!isInCalendar(seconds)) throw new ValueError(MESSAGE) // Rejects NaN too, the time of an invalid date.
  return instantText(seconds, (milliseconds - seconds * 1000).toString().padStart(3, '0'))
}

function millisecondsOf(input: unknown): number {
  try {
    return Number(Date.prototype.getTime.call(input))
  } catch {
    throw new ValueError(MESSAGE)
  }
}

function isInCalendar(seconds: number): boolean {
  return seconds >= FIRST_DAY * DAY_SECONDS && seconds < (LAST_DAY + 1) * DAY_SECONDS
}

function instantText(seconds: number, fraction: string): string {
  const days = Math.floor(seconds / DAY_SECONDS)
  return `${dayText(days)}T${secondText(seconds - days * DAY_SECONDS)}${fractionText(fraction)}Z`
}

/** 0001-01-01 and 9999-12-31, in days since 1970-01-01. */
export const FIRST_DAY = -719_162
export const LAST_DAY = 2_932_896

/** Days of each month in a common year, January first. */
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/** Returns days since 1970-01-01, or undefined if the calendar has no such day. */
export function toDays(year: number, month: number, day: number): number | undefined {
  if (year < 1 || year > 9999) return undefined
  const leapDay = month === 2 && isLeap(year) ? 1 : 0
  if (day < 1 || day > (MONTH_DAYS[month - 1] ?? 0) + leapDay) return undefined
  const beforeMarch = month <= 2
  const march = beforeMarch ? year - 1 : year
  const dayOfYear = Math.floor((153 * (month + (beforeMarch ? 9 : -3)) + 2) / 5) + day - 1
  return march * 365 + Math.floor(march / 4) - Math.floor(march / 100) + Math.floor(march / 400) + dayOfYear - 719_468
}

/** Returns a day between `FIRST_DAY` and `LAST_DAY` as `YYYY-MM-DD`. Years are counted from March, so that a leap day comes last. */
export function dayText(days: number): string {
  const fromMarch = days + 719_468
  const era = Math.floor(fromMarch / 146_097)
  const ofEra = fromMarch - era * 146_097
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  )
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shifted = Math.floor((5 * ofYear + 2) / 153)
  const month = shifted < 10 ? shifted + 3 : shifted - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return `${padded(year, 4)}-${padded(month, 2)}-${padded(ofYear - Math.floor((153 * shifted + 2) / 5) + 1, 2)}`
}

/** Returns a second of the day, from 0 to 86,399, as `HH:MM:SS`. */
function secondText(second: number): string {
  return `${padded(Math.floor(second / 3600), 2)}:${padded(Math.floor(second / 60) % 60, 2)}:${padded(second % 60, 2)}`
}

/** Returns the second of the day from 0, or undefined for a time that is not in a day. 24:00 and leap seconds are not. */
function toSecond(hour: number, minute: number, second: number): number | undefined {
  return hour > 23 || minute > 59 || second > 59 ? undefined : hour * 3600 + minute * 60 + second
}

/** Returns the digits of a fraction as canonical text: `.5` for `500`, empty text for `000`. */
function fractionText(digits: string): string {
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--
  return end === 0 ? '' : `.${digits.slice(0, end)}`
}

/** Returns the nanoseconds of zero to nine digits after the decimal point. */
function toNanos(digits: string): number {
  return Number(digits.padEnd(FRACTION_DIGITS, '0'))
}

/** Returns nanoseconds below a second as the text of a fraction: the inverse. */
function nanosText(nanos: number): string {
  return fractionText(padded(nanos, FRACTION_DIGITS))
}

/** Compares two canonical texts of one kind. Both are ASCII and written from the largest unit down. Returns -1, 0 or 1. */
function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

function padded(value: number, width: number): string {
  return value.toString().padStart(width, '0')
}
