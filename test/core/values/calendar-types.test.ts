/** DATE, TIME and DATETIME, compared with the calendar of the runtime. */
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import {
  dateType,
  datetimeType,
  dayText,
  FIRST_DAY,
  LAST_DAY,
  timeType,
  toDays,
} from '../../../src/core/values/calendar-types.ts'
import { readableOf, takenOf } from '../../support/column-types/cases.ts'

describe('the calendar', () => {
  it('agrees with the runtime on days of all years, in both directions', () => {
    const wrong: number[] = []
    for (let day = FIRST_DAY; day <= LAST_DAY; day += day < FIRST_DAY + 800 || day > LAST_DAY - 800 ? 1 : 17) {
      const text = new Date(day * 86_400_000).toISOString().slice(0, 10)
      const [year, month, date] = text.split('-').map(Number)
      if (dayText(day) !== text || toDays(year ?? 0, month ?? 0, date ?? 0) !== day) wrong.push(day)
    }
    expect(wrong).toEqual([])
  })

  it('has every day of a leap year, a common year and both kinds of century', () => {
    for (const year of [1900, 2000, 2023, 2024]) {
      for (let month = 0; month <= 13; month++) {
        for (let day = 0; day <= 32; day++) {
          const asked = new Date(Date.UTC(year, month - 1, day))
          const exists = asked.getUTCFullYear() === year && asked.getUTCMonth() === month - 1 && asked.getUTCDate() === day
          expect(toDays(year, month, day)).toBe(exists ? asked.getTime() / 86_400_000 : undefined)
        }
      }
    }
  })
})

it('DATE rejects days that do not exist and other spellings', () => {
  const right = ['0001-01-01', '2024-02-29', '2000-02-29', '9999-12-31']
  const wrong = [
    '2026-02-30',
    '2025-02-29',
    '1900-02-29',
    '2026-00-10',
    '2026-13-01',
    '2026-01-00',
    '2026-04-31',
    '0000-01-01',
    '10000-01-01',
  ]
  const spellings = [
    '2026-1-31',
    '20260131',
    '2026/01/31',
    '2026-01-31T00:00:00Z',
    ' 2026-01-31',
    '2026-01-31\n',
    '-2026-01-31',
    '２０２６-01-31',
    '',
  ]
  expect(readableOf(dateType, [...right, ...wrong, ...spellings])).toEqual(right)
  expect(takenOf(dateType, [new Date(0), 20260131, ['2026-01-31']])).toEqual([])
})

it('TIME requires seconds, and rejects 24:00, leap seconds and offsets', () => {
  const right = ['00:00:00', '23:59:59.999999999', '12:30:00.5']
  const wrong = [
    '24:00:00',
    '23:59:60',
    '23:60:00',
    '12:30',
    '1:02:03',
    '12:30:00Z',
    '12:30:00+01:00',
    '12:30:00.',
    '12:30:00.1234567890',
    '12:30:00,5',
    '',
  ]
  expect(readableOf(timeType, [...right, ...wrong])).toEqual(right)
  expect(timeType.parse('12:30:00.500')).toBe('12:30:00.5')
  expect(timeType.parse('12:30:00.000')).toBe('12:30:00')
})

describe('DATETIME', () => {
  it.each([
    ['2026-01-31T23:59:59Z', '2026-01-31T23:59:59Z'],
    ['2026-01-31t23:59:59z', '2026-01-31T23:59:59Z'],
    ['2026-01-31T23:59:59-00:00', '2026-01-31T23:59:59Z'],
    ['2026-01-31T23:59:59.120+02:00', '2026-01-31T21:59:59.12Z'],
    ['2024-02-28T23:30:00-01:00', '2024-02-29T00:30:00Z'],
    ['2025-12-31T23:59:59.999999999-23:59', '2026-01-01T23:58:59.999999999Z'],
    ['2026-01-01T00:00:00+00:01', '2025-12-31T23:59:00Z'],
    ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59.5Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999999999Z'],
  ])('reads %s as %s', (text, value) => {
    expect(datetimeType.parse(text)).toBe(value)
  })

  it('rejects text without an offset, invalid instants and years outside the calendar', () => {
    const wrong = [
      '2026-01-31T23:59:59',
      '2026-01-31',
      '2026-01-31 23:59:59Z',
      '2026-01-31T24:00:00Z',
      '2016-12-31T23:59:60Z',
      '2026-02-30T00:00:00Z',
    ]
    const offsets = [
      '2026-01-31T00:00:00+24:00',
      '2026-01-31T00:00:00+00:60',
      '2026-01-31T00:00:00+0200',
      '2026-01-31T00:00:00+2',
      '2026-01-31T00:00:00.Z',
    ]
    const outside = ['0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '0000-12-31T23:59:59-01:00']
    expect(readableOf(datetimeType, [...wrong, ...offsets, ...outside])).toEqual([])
  })

  it('accepts JavaScript dates, also of another realm, and rejects objects that only look like one', () => {
    expect(datetimeType.parse(new Date(-1))).toBe('1969-12-31T23:59:59.999Z')
    expect(datetimeType.parse(runInNewContext('new Date(1500)'))).toBe('1970-01-01T00:00:01.5Z')
    expect(
      takenOf(datetimeType, [new Date(Number.NaN), new Date(8.64e15), { getTime: () => 0 }, Object.create(Date.prototype), 0]),
    ).toEqual([])
  })

  it('orders fractions of a second, unlike text with a Z', () => {
    const ordered = ['2026-01-31T00:00:00Z', '2026-01-31T00:00:00.25Z', '2026-01-31T00:00:00.5Z', '2026-01-31T00:00:01Z']
    expect([...ordered].reverse().sort((left, right) => datetimeType.compare(left, right) ?? 0)).toEqual(ordered)
  })
})
