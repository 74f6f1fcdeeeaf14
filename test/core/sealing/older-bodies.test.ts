/** Stored bodies of the older format and layout: known answers open, a table can have both, and an update writes the new one. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { systemEntropy } from '../../../src/adapters/system/system-entropy.ts'
import type { Barrier } from '../../../src/core/barrier/barrier.ts'
import { openRows, revealRows } from '../../../src/core/barrier/reveal.ts'
import { resealRows } from '../../../src/core/barrier/seal-rows.ts'
import { revealTransients } from '../../../src/core/barrier/transients.ts'
import type { Cell, NewRow, Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import { layoutSchema } from '../../../src/core/schema/layout.ts'
import { CATALOG, SYSTEM_TABLES } from '../../../src/core/schema/system-tables.ts'
import { required } from '../../../src/core/util/at.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { sealRecords } from '../../support/vaults/seal-records.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

type StoredCell = number | string | null | { readonly base64: string }

/** What the last release that wrote the older format stored, and what it returned. */
const STORED: {
  readonly ids: readonly string[]
  readonly tokens: readonly Readonly<Record<string, string>>[]
  readonly values: readonly Readonly<Record<string, unknown>>[]
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, StoredCell>>[]>>
  readonly sealed: {
    readonly inserted: readonly string[]
    readonly updated: string
    readonly empty: string
    readonly transient: string
    readonly transientCheck: readonly number[]
    readonly expiresAt: number
  }
} = JSON.parse(readFileSync(new URL('../../vectors/older-bodies.json', import.meta.url), 'utf8'))

describe('known bodies', () => {
  const barrier: Barrier = {
    ring: keyRingFactory.createRing('v1', [{ version: 1, key: new Uint8Array(32).fill(7) }]),
    entropy: systemEntropy,
    vault: new Uint8Array(16).fill(9),
  }
  const columns = {
    name: column.string({ token: 'random' }),
    age: column.integer({}),
    card: column.string({ token: 'random' }),
    pin: column.string({ token: 'transient' }),
    note: column.string({}),
  }
  const table = required(layoutSchema(assignIds({ things: columns }, EMPTY_CATALOG_SCHEMA)).tables.get('things'))
  const rowOf = (id: number, base64: string): Row => ({ id, version: 1, body: Uint8Array.from(Buffer.from(base64, 'base64')) })
  const read = (rows: readonly Row[]) =>
    revealRows(
      barrier,
      table,
      rows,
      table.readable.map((one) => ({ column: one, level: 'PLAIN_TEXT' as const })),
    )
  const { inserted, updated, empty, transient, transientCheck, expiresAt } = STORED.sealed
  const rows = [...inserted.map((body, index) => rowOf(index + 1, body)), rowOf(3, empty)]
  const ann = { name: 'Ann', age: 41, card: '4111111111111111', note: 'é'.repeat(100) }
  const [bo, none] = ['Bo', null].map((name) => ({ name, age: null, card: null, note: null }))

  it('open, alone, in lists, and among new ones', () => {
    expect(read(rows)).toEqual([ann, bo, none])
    expect(read([rowOf(1, updated)])).toEqual([{ ...ann, card: '5500000000000004' }])
    const cursor = openRows(barrier, table, [rowOf(1, updated)])
    cursor.to(0)
    expect(cursor.tokenText(required(table.byName.get('card')))).toBe('tok-1')
    const sources = { textOf: () => undefined, supplied: [], transientIds: [2], nowMs: 1000 }
    const { rows: newer } = sealRecords(barrier, table, { ids: [4], records: [['Dee', 4, null, '9', 'new']], sources })
    const dee: Row = { version: 1, ...required(newer[0]) }
    expect(read([dee, ...rows, dee])).toEqual([
      { name: 'Dee', age: 4, card: null, note: 'new' },
      ...[ann, bo, none],
      { name: 'Dee', age: 4, card: null, note: 'new' },
    ])
    expect(read([rowOf(1, inserted[0] ?? ''), dee])).toEqual([ann, { name: 'Dee', age: 4, card: null, note: 'new' }])
  })

  it('of another row, or with the first byte of the new format, do not open', () => {
    expect(() => read([rowOf(2, inserted[0] ?? '')])).toThrow('failed authentication')
    const body = Buffer.from(inserted[0] ?? '', 'base64')
    expect(() => read([{ id: 1, version: 1, body: Uint8Array.of(0x81, ...body.subarray(3)) }])).toThrow('failed authentication')
  })

  it('hold transient values', () => {
    const pin = required(table.byName.get('pin'))
    expect(revealTransients(barrier, pin, [rowOf(1, transient)])).toEqual([
      { value: '1234', expiresAt, high: transientCheck[0], low: transientCheck[1], text: undefined },
    ])
  })

  it('are rewritten by an update with all other cells, and their token checks stay', () => {
    const sources = { textOf: () => undefined, supplied: [], transientIds: [], nowMs: 1000 }
    for (const row of [rowOf(1, inserted[0] ?? ''), rowOf(1, updated)]) {
      const resealer = resealRows(barrier, table, {
        rows: [row],
        records: [['Eve', undefined, undefined, undefined, undefined]],
        sources,
      })
      expect(resealer.resealSome()).toBe(false)
      const { rows: patches } = resealer.end()
      const changed: Row = { ...row, ...required(patches[0]).set }
      expect(changed.body instanceof Uint8Array && changed.body[0]).toBe(0x81)
      expect(read([changed])).toEqual([{ ...required(read([row])[0]), name: 'Eve' }])
      const [before, after] = [row, changed].map((one) => openRows(barrier, table, [one]))
      before?.to(0)
      after?.to(0)
      const card = required(table.byName.get('card'))
      expect(after?.tokenText(card)).toBe(before?.tokenText(card))
      const [high, low] = transientCheck
      expect(after?.hasTokenCheck(card, high ?? 0, low ?? 0)).toBe(before?.hasTokenCheck(card, high ?? 0, low ?? 0))
    }
  })
})

it('bodies under root key versions with and without a short header open together', () => {
  const versions = [1, 127, 128, 300]
  const roots = versions.map((version) => ({ version, key: new Uint8Array(32).fill(version) }))
  const table = required(
    layoutSchema(assignIds({ things: { name: column.string({}) } }, EMPTY_CATALOG_SCHEMA)).tables.get('things'),
  )
  const barrierOf = (activeVersion: number): Barrier => ({
    ring: keyRingFactory.createRing('v1', roots, { activeVersion, lookupVersion: 1 }),
    entropy: systemEntropy,
    vault: new Uint8Array(16).fill(9),
  })
  const sources = { textOf: () => undefined, supplied: [], transientIds: [], nowMs: 1000 }
  const rows = versions.map((version, index): Row => {
    const { rows } = sealRecords(barrierOf(version), table, { ids: [index + 1], records: [[`of ${version}`]], sources })
    return { version: 1, ...required(rows[0]) }
  })
  const views = table.readable.map((one) => ({ column: one, level: 'PLAIN_TEXT' as const }))
  const expected = versions.map((version) => ({ name: `of ${version}` }))
  expect(revealRows(barrierOf(1), table, rows, views)).toEqual(expected)
  for (const [index, row] of rows.entries()) expect(revealRows(barrierOf(1), table, [row], views)).toEqual([expected[index]])
})

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const PEOPLE = {
  name: column.string({ ...PLAIN, token: 'random' }),
  email: column.string({ ...PLAIN, token: 'random', unique: true }),
  card: column.string({ ...PLAIN, token: 'random' }),
  pin: column.string({ ...PLAIN, token: 'transient' }),
  sum: column.integer({ ...PLAIN, encrypted: false }),
  note: column.string(PLAIN),
}

function cellOf(cell: StoredCell): Cell {
  return cell !== null && typeof cell === 'object' ? Uint8Array.from(Buffer.from(cell.base64, 'base64')) : cell
}

/** Stores the rows of the older vault. */
async function restore(storage: StorageHandle): Promise<void> {
  const { tables } = layoutSchema(assignIds({ people: PEOPLE }, EMPTY_CATALOG_SCHEMA))
  await storage.prepare([CATALOG, ...SYSTEM_TABLES, required(tables.get('people')).physical])
  for (const [table, rows] of Object.entries(STORED.tables)) {
    await storage.reserveIds(table, rows.length)
    const cells = rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cellOf(cell)])))
    // The cast is safe: the file has the rows of a storage, with their ids.
    await storage.insert(table, cells as unknown as NewRow[])
  }
}

onEachStorage('a vault of the older format', (engine) => {
  it('opens, and works on with records of both formats', async () => {
    const place = engine.fresh()
    const storage = place.open()
    await restore(storage)
    const open = (handle: StorageHandle) =>
      createVault({
        id: 'older',
        audit: 'off',
        schema: defineSchema({ people: PEOPLE }),
        storage: handle,
        keys: localKeys({ key: TEST_SECRET }),
      })
    const vault = await open(storage)
    const session = vault.as(OWNER)
    const { ids, values, tokens } = STORED
    const read = async () => (await session.get('people', { ids })).records.map(({ fields }) => fields)
    expect(await read()).toMatchObject(values)
    const older = tokens.flatMap((all, index) =>
      Object.entries(all).map(([name, token]) => ({ token, value: values[index]?.[name] })),
    )
    const resolved = await session.detokenize(older.map(({ token }) => ({ token })))
    expect(resolved.records.map(({ value }) => value)).toEqual(older.map(({ value }) => value))

    const fields = { name: 'Dee', email: 'dee@acme.example', card: '378282246310005', pin: '1234', sum: 5, note: 'newer' }
    const { records: added } = await session.insert('people', [{ fields }], { tokenization: true })
    await session.update('people', ids[0] ?? '', { fields: { note: 'changed' } })
    expect(await read()).toMatchObject([{ ...values[0], note: 'changed' }, ...values.slice(1)])
    expect((await session.detokenize([{ token: tokens[0]?.card ?? '' }])).records[0]?.value).toBe(values[0]?.card)
    await expect(session.insert('people', [{ fields: { email: 'bo@acme.example' } }])).rejects.toMatchObject({ code: 'conflict' })
    const found = await session.query(`SELECT name FROM people WHERE note LIKE '%e%'`)
    expect(found.records.map((record) => record.fields.name).sort()).toEqual(['Ann', 'Dee'])
    expect((await session.get('people', { columnName: 'email', columnValues: ['cy@acme.example'] })).records.length).toBe(1)
    expect((await session.detokenize([{ token: added[0]?.tokens.pin ?? '' }])).records[0]?.value).toBe('1234')
    expect((await vault.verifyRecords()).ok).toBe(true)

    const rows = await storage.find('records_1_people', { kind: 'all' }, { order: 'asc', limit: 10 })
    expect(rows.map(({ body }) => (body instanceof Uint8Array ? body[0] : undefined))).toEqual([0x81, 1, 1, 1, 0x81])
    const again = await open(place.open())
    expect((await again.as(OWNER).get('people', { ids: ids.slice(1) })).records.map((record) => record.fields)).toMatchObject(
      values.slice(1),
    )
    await again.close()
    await vault.close()
  })
})
