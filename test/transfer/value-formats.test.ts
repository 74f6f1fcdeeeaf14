/** How values are written in a source. */
import { describe, expect, it } from 'vitest'
import { compileFormat, type ValueForm, type ValueFormat } from '../../src/transfer/value-formats.ts'

const convert = (format: ValueFormat, text: string, form: ValueForm = 'texts') =>
  compileFormat(format, form, 'columns["x"]')?.(text)

describe('dates', () => {
  it.each([
    [{ date: 'DD.MM.YYYY' }, '3.12.2026', '2026-12-03'],
    [{ date: 'MM/DD/YYYY' }, '12/03/2026', '2026-12-03'],
    [{ date: 'YYYYMMDD' }, '20261203', '2026-12-03'],
    [{ date: 'DD.MM.YYYY HH:mm', offset: '+01:00' }, '03.12.2026 9:05', '2026-12-03T09:05:00+01:00'],
    [{ date: 'YYYY-MM-DD HH:mm:ss' }, '2026-12-03 09:05:07', '2026-12-03T09:05:07Z'],
    [{ date: 'HH:mm' }, '9:05', '09:05:00'],
  ])('%o reads %s', (format, text, value) => {
    expect(convert(format, text)).toEqual({ value })
  })

  it('refuses other texts without repeating them, and patterns that leave a part out', () => {
    expect(convert({ date: 'DD.MM.YYYY' }, '2026-12-03')).toEqual({ problem: 'must be written as DD.MM.YYYY' })
    for (const date of ['DD.MM', 'DD.MM.YY', 'mm:ss', 'DD.DD.YYYY', 'day'])
      expect(() => convert({ date }, '')).toThrow('Import failed. Option columns["x"] has a date')
    expect(() => convert({ date: 'DD.MM.YYYY HH:mm', offset: 'CET' }, '')).toThrow('offset')
  })
})

describe('numbers', () => {
  it.each([
    [',', '1.234.567,80', '1234567.80'],
    [',', '-7,5', '-7.5'],
    [',', '1 234', '1234'],
    ['.', "1'234.5", '1234.5'],
    ['.', '1,234', '1234'],
    ['.', '+007', '7'],
    ['.', '0.5', '0.5'],
  ] as const)('with the mark %s, %s is %s', (decimal, text, value) => {
    expect(convert({ decimal }, text)).toEqual({ value })
  })

  it('refuses groups of other lengths, and two marks', () => {
    for (const text of ['1.23', '1,2,3', '1.2345,6', 'x', '', ',5', '1e3'])
      expect(convert({ decimal: ',' }, text)).toHaveProperty('problem')
  })

  it('are numbers in NDJSON, where a double holds them', () => {
    expect(convert({ decimal: ',' }, '1.234,5', 'values')).toEqual({ value: 1234.5 })
    expect(convert({ decimal: ',' }, '9007199254740993', 'values')).toEqual({ value: '9007199254740993' })
  })
})

it('words for true and false are read in any case', () => {
  const format = { true: ['ja', 'x'], false: ['nein'] }
  expect(convert(format, 'JA')).toEqual({ value: 'true' })
  expect(convert(format, 'nein', 'values')).toEqual({ value: false })
  expect(convert(format, 'true')).toHaveProperty('problem')
  expect(() => convert({ true: ['a'], false: ['A'] }, '')).toThrow('has a word that is not text, or twice')
})

it('one column has one format', () => {
  expect(() => convert({ date: 'DD.MM.YYYY', decimal: ',' }, '')).toThrow('has more than one of date, decimal')
  expect(compileFormat({ trim: true }, 'texts', 'columns["x"]')).toBeUndefined()
})
