/** TIME: a time of day to the nanosecond, on no particular day and in no particular zone. */
import { readUtf8 } from '../util/bytes.ts'
import { compareTexts, fractionText, toNanos, toSecond } from './calendar.ts'
import { textCell } from './cells.ts'
import type { ColumnType } from './column-type.ts'
import { ValueFault } from './column-type.ts'

const TIME = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?$/

/**
 * Trusted form: `HH:MM:SS`, then up to nine decimals without trailing zeros. Seconds must be given: whether `12:30` means
 * the minute or its first second is not ours to guess.
 */
export const timeType: ColumnType<string> = {
  name: 'TIME',
  tag: 6,
  physical: 'text',
  parse(input) {
    if (typeof input !== 'string') throw new ValueFault('must be a time of day as text, such as 23:59:59.5')
    return timeType.fromText(input)
  },
  fromText(text) {
    if (nanosOf(text) === undefined)
      throw new ValueFault('must be a time of day as HH:MM:SS with up to nine decimals and no offset, 00:00:00 to 23:59:59')
    return text.slice(0, 8) + fractionText(text.slice(9))
  },
  write(value, out) {
    out.utf8(value)
  },
  read: readUtf8,
  canonical(value, out) {
    out.i64(nanosOf(value) ?? 0)
  },
  compare: compareTexts,
  toCell: (value) => value,
  fromCell: textCell,
  show: (value) => value,
  answer: (value) => value,
}

/** Nanoseconds since midnight: below 2^47, so a number holds them exactly. */
function nanosOf(text: string): number | undefined {
  const found = TIME.exec(text)
  if (found === null) return undefined
  const second = toSecond(Number(found[1]), Number(found[2]), Number(found[3]))
  return second === undefined ? undefined : second * 1_000_000_000 + toNanos(found[4] ?? '')
}
