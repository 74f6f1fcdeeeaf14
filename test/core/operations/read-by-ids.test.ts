/** Reads by ids with an order, an offset and a limit. */
import { expect, it } from 'vitest'
import { column } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'

const TABLES = { people: { name: column.string({ redaction: 'PLAIN_TEXT' }) } }

onEachStorage('a read by ids', (engine) => {
  async function open() {
    const { session } = await openLoose(engine.fresh().open(), TABLES)
    const records = ['A', 'B', 'C', 'D'].map((name) => ({ fields: { name } }))
    const [a = '', b = '', c = '', d = ''] = (await session.insert('people', records)).records.map(({ id }) => id)
    const read = async (options: object) => {
      const found = (await session.get('people', { ids: [c, a, d, b], ...options })).records
      const all = new Map([...'ABCD'].map((name, index) => [name, [a, b, c, d][index]]))
      expect(found.map(({ id }) => id)).toEqual(found.map(({ fields }) => all.get(String(fields.name))))
      return found.map(({ fields }) => fields.name).join('')
    }
    return { session, read, ids: [a, b, c, d] }
  }

  it('keeps the order of the ids, unless an order of insertion is named', async () => {
    const { read } = await open()
    expect(await read({})).toBe('CADB')
    expect(await read({ orderBy: 'NONE' })).toBe('CADB')
    expect(await read({ orderBy: 'ASCENDING' })).toBe('ABCD')
    expect(await read({ orderBy: 'DESCENDING' })).toBe('DCBA')
  })

  it('cuts the page after ordering, and returns all without a limit', async () => {
    const { read } = await open()
    expect(await read({ offset: 1, limit: 2 })).toBe('AD')
    expect(await read({ offset: 1 })).toBe('ADB')
    expect(await read({ orderBy: 'DESCENDING', limit: 3 })).toBe('DCB')
    expect(await read({ orderBy: 'ASCENDING', offset: 3, limit: 3 })).toBe('D')
    expect(await read({ offset: 4 })).toBe('')
  })

  it('keeps repeated ids, and reads as many as a request can name', async () => {
    const { session, ids } = await open()
    const repeated = Array.from({ length: 60 }, (_, index) => ids[index % 4] ?? '')
    const { records } = await session.get('people', { ids: repeated })
    expect(records.map(({ id }) => id)).toEqual(repeated)
    const sorted = (await session.get('people', { ids: repeated, orderBy: 'ASCENDING', limit: 16 })).records
    expect(sorted.map(({ fields }) => fields.name).join('')).toBe(`${'A'.repeat(15)}B`)
  })

  it('fails for an id without a record, also beyond the page', async () => {
    const { session, ids } = await open()
    const unknown = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
    await expect(session.get('people', { ids: [...ids, unknown], limit: 1 })).rejects.toMatchObject({
      code: 'not_found',
      details: [{ table: 'people', index: 4, id: unknown }],
    })
  })
})
