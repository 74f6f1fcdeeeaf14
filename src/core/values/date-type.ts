/** DATE: a day of the calendar, years 0001 to 9999. */

import { readUtf8 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { compareTexts, toDays } from './calendar.ts'
import { textCell } from './cells.ts'
import { type ColumnType, ValueError } from './column-type.ts'
import { isDaySpelling } from './spelling.ts'

const DATE = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/

/** Trusted form: `YYYY-MM-DD`. */
export const dateType: ColumnType<string> = {
  name: 'DATE',
  tag: 5,
  physical: 'text',
  hasShortCells: true,
  size: 10,
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
