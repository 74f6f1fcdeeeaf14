/** The calendar of dates, times and instants: years 0001 to 9999 of the Gregorian calendar, without leap seconds. */

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
export function secondText(second: number): string {
  return `${padded(Math.floor(second / 3600), 2)}:${padded(Math.floor(second / 60) % 60, 2)}:${padded(second % 60, 2)}`
}

/** Returns the second of the day from 0, or undefined for a time that is not in a day. 24:00 and leap seconds are not. */
export function toSecond(hour: number, minute: number, second: number): number | undefined {
  return hour > 23 || minute > 59 || second > 59 ? undefined : hour * 3600 + minute * 60 + second
}

/** Returns the digits of a fraction as canonical text: `.5` for `500`, empty text for `000`. */
export function fractionText(digits: string): string {
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--
  return end === 0 ? '' : `.${digits.slice(0, end)}`
}

/** Returns the nanoseconds of zero to nine digits after the decimal point. */
export function toNanos(digits: string): number {
  return Number(digits.padEnd(9, '0'))
}

/** Compares two canonical texts of one kind. Both are ASCII and written from the largest unit down. Returns -1, 0 or 1. */
export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

function padded(value: number, width: number): string {
  return value.toString().padStart(width, '0')
}
