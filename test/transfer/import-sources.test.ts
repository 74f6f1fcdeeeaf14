/** Imports without a vault: how far a source is read, how it ends, and which options are refused. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ImportSession, importRecords } from '../../src/transfer/index.ts'
import { importText } from '../support/transfer/imported.ts'

const table = 'people'

describe('an import of a long source', () => {
  const row = `Person,${'x'.repeat(90)}\n`
  const CHUNK = 50

  /** Yields chunks of 50 lines, and counts them. */
  async function* chunks(count: number, read: { chunks: number }) {
    yield new TextEncoder().encode('name,notes\n')
    for (let chunk = 0; chunk < count; chunk++) {
      read.chunks = chunk + 1
      yield new TextEncoder().encode(row.repeat(CHUNK))
    }
  }

  it('reads no more than the batch that it stores', async () => {
    const read = { chunks: 0 }
    const ahead: number[] = []
    const session: ImportSession = {
      async perform(_, { records }) {
        if (records.length > 0) ahead.push(read.chunks)
        return { rejects: [] }
      },
    }
    await importRecords(session, { table, source: chunks(40, read), format: 'csv', batchSize: 100 })
    expect(ahead).toEqual(Array.from({ length: 20 }, (_, batch) => 2 * (batch + 1)))
  })

  it('ends the source when it ends early', async () => {
    let isEnded = false
    async function* endless() {
      try {
        for (;;) yield new TextEncoder().encode(row)
      } finally {
        isEnded = true
      }
    }
    const session: ImportSession = {
      async perform(_, { records }) {
        // A source that nothing was read of has nothing to end.
        if (records.length > 0) throw new Error('lost')
        return { rejects: [] }
      },
    }
    await expect(importRecords(session, { table, source: endless(), format: 'csv', columns: ['name', null] })).rejects.toThrow(
      'lost',
    )
    expect(isEnded).toBe(true)
  })

  it('opens a file when it reads it, and says that it cannot be read', async () => {
    const slow: ImportSession = { perform: () => new Promise((resolve) => setTimeout(resolve, 50, { rejects: [] })) }
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-import-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'gone.ndjson')
    writeFileSync(file, '{}\n')
    const imported = importRecords(slow, { table, source: file, format: 'ndjson' })
    setTimeout(() => rmSync(file), 20)
    await expect(imported).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringContaining('(ENOENT)') })
    await expect(importRecords(slow, { table, source: folder, format: 'ndjson' })).rejects.toThrow('(EISDIR)')
  })
})

describe('the options of an import', () => {
  const session: ImportSession = { perform: async () => ({ rejects: [] }) }
  it.each([
    ['a,a\n', {}, 'Line 1: fields 1 and 2 of the header have the same name.'],
    ['a,,b\n', {}, 'Line 1: field 2 of the header has no name.'],
    ['', {}, 'Line 1: the source is empty.'],
    ['a"b,c\n', {}, 'Line 1: A quote is inside a field'],
    ['a,b\n', { columns: { c: 'name' } }, 'Option columns["c"] names a field that the header does not have.'],
    ['a,b\n', { columns: { a: 'b' } }, 'gives a column two fields of the source'],
    ['a,b\n', { columns: { a: { column: 'x', form: 'y' } } }, 'form'],
    ['a,b\n', { delimiter: '"' }, 'Option delimiter must be one character'],
    ['a,b\n', { batchSize: 0 }, 'Option batchSize must be a whole number from 1.'],
    ['a,b\n', { empty: 'none' }, 'Option empty must be unquoted, null or text.'],
    ['a,b\n', { format: 'xml' }, 'Option format must be csv or ndjson.'],
    ['a,b\n', { surprise: 1 }, 'surprise'],
    ['{}\n', { format: 'ndjson', columns: ['name'] }, 'is a list, and members of NDJSON have names'],
  ])('%j with %o is refused', async (text, options, sentence) => {
    // Untyped, as a mapping file has them.
    const given = options as object
    const refused = importText(session, text, { table, ...given })
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringContaining(sentence) })
  })
})
