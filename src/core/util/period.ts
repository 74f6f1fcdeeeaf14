/** Calendar periods of ISO 8601, such as `P7Y` and `P90D`, and the instant that is one before another. All in UTC. */

/** A period: months, and milliseconds besides, because months differ in length. */
export interface Period {
  readonly months: number
  readonly ms: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const PERIOD = /^P(?:([0-9]{1,4})Y)?(?:([0-9]{1,4})M)?(?:([0-9]{1,5})W)?(?:([0-9]{1,6})D)?(?:T([0-9]{1,6})H)?$/

/** Returns the period of a text: years, months, weeks, days and hours, in this order. Undefined for any other text, and for a period of no time. */
export function parsePeriod(text: string): Period | undefined {
  const found = PERIOD.exec(text)
  if (found === null) return undefined
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0] = found.slice(1).map((digits) => Number(digits ?? 0))
  const period = { months: years * 12 + months, ms: (weeks * 7 + days) * DAY_MS + hours * HOUR_MS }
  return period.months + period.ms > 0 ? period : undefined
}

/**
 * Returns the latest instant since which the whole period has passed at `now`, in milliseconds since 1970. A month has passed on the same day of the
 * next one; where that has no such day, at its end. It never falls when `now` rises.
 */
export function latestBefore(now: number, { months, ms }: Period): number {
  const end = new Date(now - ms)
  if (months === 0) return end.getTime()
  const day = end.getUTCDate()
  const start = new Date(0)
  start.setUTCFullYear(end.getUTCFullYear(), end.getUTCMonth() - months, 1)
  const month = start.getUTCMonth()
  start.setUTCDate(day)
  if (start.getUTCMonth() === month) return start.getTime() + (end.getTime() - Math.floor(end.getTime() / DAY_MS) * DAY_MS)
  start.setUTCDate(1)
  return start.getTime() - 1
}

/** Returns the first full hour from an instant on, in milliseconds since 1970. */
export function nextHour(instant: number): number {
  return Math.ceil(instant / HOUR_MS) * HOUR_MS
}
