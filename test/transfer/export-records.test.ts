/** Exports: what they write, at which levels, and that an import reads it back. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { column, createVault, defineSchema, mask } from '../../src/index.ts'
import { type ExportOptions, type ExportSession, exportRecords } from '../../src/transfer/index.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import { importText } from '../support/transfer/imported.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

const columns = {
  name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
  born: column.date(),
  salary: column.integer({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
  score: column.float(),
  active: column.boolean(),
  wakes: column.time(),
  seen: column.datetime(),
  notes: column.json(),
  tags: column.array(),
}
const schema = defineSchema({ people: columns, copies: columns, words: { word: column.string({ redaction: 'PLAIN_TEXT' }) } })

async function textOf(session: ExportSession, options: Omit<ExportOptions, 'table' | 'format'> & Partial<ExportOptions>) {
  let text = ''
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const bytes of exportRecords(session, { table: 'people', format: 'csv', ...options })) text += decoder.decode(bytes)
  return text
}

const open = (storage: StorageHandle = memoryStorage()) =>
  createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }) })

onEachStorage('exportRecords', (engine) => {
  it('writes CSV and NDJSON at the levels of the caller, page by page', async () => {
    const vault = await open(engine.fresh().open())
    const session = vault.as(OWNER)
    await session.insert('people', [
      { fields: { name: '=1+1, "A"', salary: 1, notes: { a: 1 } } },
      { fields: { name: '', salary: 2, active: true } },
      { fields: { salary: 3, tags: [1, 'b'] } },
    ])
    const some = { columns: ['salary', 'name'], pageSize: 2 }
    const plain = { ...some, redaction: 'PLAIN_TEXT' } as const
    expect(await textOf(session, plain)).toBe('salary,name\r\n1,"=1+1, ""A"""\r\n2,""\r\n3,\r\n')
    expect(await textOf(session, some)).toBe('salary,name\r\n1,=********\r\n2,""\r\n3,\r\n')
    expect(await textOf(session, { ...plain, format: 'ndjson', where: { salary: [1, 3] } })).toBe(
      '{"salary":1,"name":"=1+1, \\"A\\""}\n{"salary":3,"name":null}\n',
    )
    await expect(textOf(session, { ...some, onLowered: 'throw' })).rejects.toMatchObject({ code: 'forbidden' })
    const [id] = (await session.get('people')).records.map((record) => record.id)
    expect(await textOf(session, { columns: ['salary'], idName: 'key', where: { salary: 1 } })).toBe(`key,salary\r\n${id},1\r\n`)
    const tokens = await textOf(session, { columns: ['name'], tokenization: true, where: { salary: 1 } })
    expect(
      (await session.detokenize([{ token: tokens.split('\r\n')[1] ?? '', redaction: 'PLAIN_TEXT' }])).records[0]?.value,
    ).toBe('=1+1, "A"')
    expect(await textOf(session, { columns: ['name'], where: { salary: 9 } })).toBe('name\r\n')
  })
})

it('refuses wrong options', async () => {
  const session = (await open()).as(OWNER)
  // Untyped, as a caller without types passes them.
  for (const wrong of [
    { format: 'xml' },
    { delimiter: ',,' },
    { idName: 'name', columns: ['name'] },
    { surprise: 1 },
  ] as object[])
    await expect(textOf(session, wrong)).rejects.toMatchObject({ code: 'invalid_request' })
})

it('reads a page when it is asked for, and ends by a signal', async () => {
  const session = (await open()).as(OWNER)
  await session.insert(
    'words',
    Array.from({ length: 9 }, (_, n) => ({ fields: { word: `w${n}` } })),
  )
  let pages = 0
  const counting: ExportSession = {
    perform(name, input) {
      pages++
      return session.perform(name, input)
    },
  }
  const aborter = new AbortController()
  const pieces = exportRecords(counting, { table: 'words', format: 'ndjson', pageSize: 3, signal: aborter.signal })
  expect(pages).toBe(0)
  await pieces.next()
  expect(pages).toBe(1)
  aborter.abort()
  await expect(pieces.next()).rejects.toMatchObject({ code: 'cancelled' })
})

const text = fc.string({
  unit: fc.oneof(fc.constantFrom(...'ab",;\r\n \ufeff=-\''), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 })),
  maxLength: 8,
})
const nullable = <T>(values: fc.Arbitrary<T>) => fc.option(values, { freq: 3 })
const json = fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null)
const day = fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
const record = fc.record({
  name: nullable(text),
  born: nullable(day.map((date) => date.toISOString().slice(0, 10))),
  salary: nullable(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)),
  score: nullable(fc.double({ noNaN: true, noDefaultInfinity: true })),
  active: nullable(fc.boolean()),
  wakes: nullable(fc.constantFrom('00:00:00', '23:59:59.123456789')),
  seen: nullable(day.map((date) => date.toISOString())),
  notes: nullable(json),
  tags: nullable(fc.array(json, { maxLength: 3 })),
})

it('is read back by an import as it was, in both formats', async () => {
  const vault = await open()
  const session = vault.as(OWNER)
  const all = { redaction: 'PLAIN_TEXT', limit: 1000 } as const
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { maxLength: 5 }),
      fc.constantFrom('csv', 'ndjson'),
      fc.constantFrom(',', ';', '\t'),
      async (records, format, delimiter) => {
        await session.delete('people', '*')
        await session.delete('copies', '*')
        if (records.length > 0)
          await session.perform('insert', { table: 'people', records: records.map((fields) => ({ fields })) })
        const exported = await textOf(session, { format, delimiter, redaction: 'PLAIN_TEXT', pageSize: 2 })
        if (records.length > 0)
          expect(await importText(session, exported, { table: 'copies', format, delimiter })).toMatchObject({ rejects: [] })
        const [before, after] = [await session.get('people', all), await session.get('copies', all)]
        expect(after.records.map(({ fields }) => fields)).toEqual(before.records.map(({ fields }) => fields))
      },
    ),
    { numRuns: 150 },
  )
}, 60_000)

it('of one column with nulls, empty texts and line ends is read back too', async () => {
  const session = (await open()).as(OWNER)
  const words = ['a', null, '', '\n', '\r\n', ' ', '""', null]
  await session.insert(
    'words',
    words.map((word) => ({ fields: { word } })),
  )
  const exported = await textOf(session, { table: 'words' })
  await session.delete('words', '*')
  await importText(session, exported, { table: 'words' })
  expect((await session.get('words')).records.map(({ fields }) => fields.word)).toEqual(words)
})
