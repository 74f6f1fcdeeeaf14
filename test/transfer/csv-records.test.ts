/** The reader of CSV: RFC 4180, wherever the bytes are cut, and what it says of everything else. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type CsvRecord, CsvRecords } from '../../src/transfer/csv-records.ts'
import { SourceText } from '../../src/transfer/source-text.ts'
import { bytesOf } from '../support/transfer/imported.ts'

async function read(text: string | Uint8Array, { size = 5, limit = 3, keepsBlank = false, delimiter = ',' } = {}) {
  const source = new SourceText(bytesOf(text, size))
  const records = new CsvRecords(source, delimiter)
  const all: CsvRecord[] = []
  for (;;) {
    const some = await records.read(limit, keepsBlank)
    if (some.length === 0) return { records: all, digest: source.digest() }
    all.push(...some)
  }
}

const fieldsOf = async (text: string, options = {}) => (await read(text, options)).records.map(({ fields }) => fields)
const problemsOf = async (text: string) =>
  (await read(text)).records.map(({ line, problem }) => [line, problem?.split(' ')[1] ?? ''])

it('reads fields with and without quotes, LF and CRLF, with and without a last line end', async () => {
  expect(await fieldsOf('a,b\n1,2\n')).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ])
  expect(await fieldsOf('a,b\r\n1,2')).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ])
  expect(await fieldsOf('"a, b","c ""d""",\r\n"e\r\nf",,"g"\r\n')).toEqual([
    ['a, b', 'c "d"', ''],
    ['e\r\nf', '', 'g'],
  ])
  expect(await fieldsOf('a;"b;c"\n', { delimiter: ';' })).toEqual([['a', 'b;c']])
  expect(await fieldsOf('')).toEqual([])
})

it('leaves out blank lines, or keeps them as records of one field', async () => {
  expect(await fieldsOf('a,b\n\n1,2\r\n\r\n')).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ])
  expect(await fieldsOf('a\n\nb\n', { keepsBlank: true })).toEqual([['a'], [''], ['b']])
})

it('distinguishes an empty field in quotes from one without', async () => {
  expect((await read('"",,""\n')).records).toMatchObject([{ quotedEmpty: [0, 2] }])
})

it('leaves out a byte order mark at the beginning, and nowhere else', async () => {
  expect(await fieldsOf('\ufeffa\n\ufeffb\n')).toEqual([['a'], ['\ufeffb']])
})

it('says of a record what is wrong, and goes on with the next line', async () => {
  expect(await problemsOf('a,b\n1,x"y\n2,"z" \n3,"u"v"\n4,r\rs\n5,6\n')).toEqual([
    [1, ''],
    [2, 'quote'],
    [3, 'field'],
    [4, 'field'],
    [5, 'carriage'],
    [6, ''],
  ])
})

it('counts the lines of values with line ends', async () => {
  expect((await read('a\n"b\n\nc"\r\nd\n')).records.map(({ line }) => line)).toEqual([1, 2, 5])
})

it('refuses a quote that is never closed, and bytes that are not UTF-8, with the line', async () => {
  await expect(read('a\nb\n"c\nd\n')).rejects.toThrow('Line 3: a quote that opens in this record is never closed.')
  const latin = new Uint8Array([...new TextEncoder().encode('a\nbé\nc'), 0xe9, 0x0a, 0x64, 0x0a])
  for (const size of [1, 3, 100]) await expect(read(latin, { size })).rejects.toThrow('Line 3: the bytes are not UTF-8.')
  await expect(read(new Uint8Array([0xff, 0xfe, 0x61, 0x00, 0x0a, 0x00]))).rejects.toThrow('Line 1: the bytes are not UTF-8.')
})

it('refuses a record that is longer than memory should hold', async () => {
  const line = new Uint8Array(1 << 20).fill(0x61)
  async function* endless() {
    yield new Uint8Array([0x22])
    for (;;) yield line
  }
  const records = new CsvRecords(new SourceText(endless()), ',')
  await expect(records.read(1, false)).rejects.toThrow('Line 1: a record is longer than')
})

const cell = fc.string({
  unit: fc.oneof(fc.constantFrom(...'ab",;\r\n \ufeff'), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 })),
  maxLength: 6,
})

it('reads what any strict writer wrote, wherever it is cut, with one digest', async () => {
  const table = fc
    .integer({ min: 2, max: 4 })
    .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 6 }))
  await fc.assert(
    fc.asyncProperty(table, fc.constantFrom('\n', '\r\n'), fc.integer({ min: 1, max: 40 }), async (rows, end, size) => {
      const text = rows.map((row) => row.map((one) => `"${one.replaceAll('"', '""')}"`).join(',') + end).join('')
      const { records, digest } = await read(text, { size, limit: 2 })
      expect(records.map(({ fields }) => fields)).toEqual(rows)
      expect(records.every(({ problem }) => problem === undefined)).toBe(true)
      expect(digest).toBe((await read(text, { size: 1000 })).digest)
    }),
    { numRuns: 300 },
  )
})

it('gives another digest to every text that differs before the end', async () => {
  const { digest } = await read('a,b\n1,2\n')
  for (const other of ['a,b\n1,3\n', 'a,b\n"1",2\n', 'a,b\r\n1,2\n', 'a,b\n1,2\n\n'])
    expect((await read(other)).digest).not.toBe(digest)
})
