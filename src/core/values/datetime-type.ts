/** DATETIME: an instant with nanoseconds. Input has an offset; the stored value is in UTC. */

import { readUtf8 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { compareTexts, dayText, FIRST_DAY, fractionText, LAST_DAY, secondText, toDays, toNanos, toSecond } from './calendar.ts'
import { textCell } from './cells.ts'
import { type ColumnType, ValueError } from './column-type.ts'
import { isTimeSpelling, withAsciiDigits } from './spelling.ts'

const INSTANT =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$/

const DAY_SECONDS = 86_400

const MESSAGE =
  'must be a date and time as RFC 3339 text with its offset, such as 2026-01-31T23:59:59.5+02:00, within years 0001 to 9999 UTC'

/** Trusted form: `YYYY-MM-DDTHH:MM:SS`, up to nine decimals without trailing zeros, `Z`. */
export const datetimeType: ColumnType<string> = {
  name: 'DATETIME',
  tag: 7,
  physical: 'text',
  hasShortCells: true,
  size: undefined,
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
