/** TIME: a time of day with nanoseconds, without a date and without a time zone. */

import { readUtf8 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { compareTexts, fractionText, toNanos, toSecond } from './calendar.ts'
import { textCell } from './cells.ts'
import { type ColumnType, ValueError } from './column-type.ts'
import { isTimeSpelling } from './spelling.ts'

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
  return second === undefined ? undefined : second * 1_000_000_000 + toNanos(found[4] ?? '')
}
