/** Calendar periods: which texts are one, and since when one has passed, compared with counting forwards. */
import { expect, it } from 'vitest'
import { latestBefore, nextHour, type Period, parsePeriod } from '../../../src/core/util/period.ts'
import { randomFor } from '../../support/random/seeded-random.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

it('reads years, months, weeks, days and hours, and nothing else', () => {
  expect(parsePeriod('P7Y')).toEqual({ months: 84, ms: 0 })
  expect(parsePeriod('P1Y2M3W4DT5H')).toEqual({ months: 14, ms: 25 * DAY + 5 * HOUR })
  expect(parsePeriod('PT12H')).toEqual({ months: 0, ms: 12 * HOUR })
  for (const text of [
    '',
    'P',
    'PT',
    'P0D',
    'P1',
    '7Y',
    'P1.5Y',
    'P-1D',
    'PT5M',
    'PT5S',
    'P1D1M',
    'p1d',
    ' P1D',
    'P1DT',
    'P99999Y',
  ])
    expect(parsePeriod(text), text).toBeUndefined()
})

it('has passed a month later on the same day, and where there is none, at the end of the month', () => {
  const month = { months: 1, ms: 0 }
  const since = (now: string): string => new Date(latestBefore(Date.parse(now), month)).toISOString()
  expect(since('2026-03-28T23:00:00Z')).toBe('2026-02-28T23:00:00.000Z')
  expect(since('2026-03-29T05:00:00Z')).toBe('2026-02-28T23:59:59.999Z')
  expect(since('2026-03-01T00:00:00Z')).toBe('2026-02-01T00:00:00.000Z')
  expect(new Date(latestBefore(Date.parse('2024-02-29T01:00:00Z'), { months: 84, ms: 0 })).toISOString()).toBe(
    '2017-02-28T23:59:59.999Z',
  )
  expect(new Date(latestBefore(Date.parse('0050-01-02T00:00:00Z'), { months: 12, ms: DAY })).toISOString()).toBe(
    '0049-01-01T00:00:00.000Z',
  )
})

/** Counts forwards: the first instant at which the period has passed. */
function end(from: number, { months, ms }: Period): number {
  const start = new Date(from)
  const first = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + months, 1)
  const next = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + months + 1, 1)
  const same = first + (start.getUTCDate() - 1) * DAY + (from % DAY)
  return Math.min(same, next) + ms
}

it('agrees with counting forwards, and never goes back', () => {
  const random = randomFor('periods')
  for (let n = 0; n < 5000; n++) {
    const period = { months: Math.floor(random() * 30), ms: Math.floor(random() * 3) * DAY }
    const from = Date.UTC(2019, Math.floor(random() * 60), 25 + Math.floor(random() * 8), Math.floor(random() * 24))
    const due = end(from, period)
    const now = due + (Math.floor(random() * 200) - 100) * HOUR
    // Days are taken away before months, as they are added after them.
    expect([from, period, now, latestBefore(now, period) >= from]).toEqual([from, period, now, now >= due])
    expect(latestBefore(now + HOUR, period)).toBeGreaterThanOrEqual(latestBefore(now, period))
  }
})

it('hours are rounded up, and a full one stays', () => {
  expect([nextHour(0), nextHour(1), nextHour(HOUR), nextHour(-1), nextHour(-HOUR - 1)]).toEqual([0, HOUR, HOUR, -0, -HOUR])
})
