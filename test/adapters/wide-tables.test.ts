/** Tables at and past what an engine takes in one row: refused where they are prepared, and otherwise every row is stored. */
import { expect, it } from 'vitest'
import type { Cell, PhysicalColumn, PhysicalTable } from '../../src/core/ports/storage.ts'
import type { ColumnDefinition } from '../../src/core/schema/column.ts'
import { type Engine, postgresEngine, sqliteEngine } from '../support/storages/engines.ts'
import { openLoose } from '../support/vaults/open-untyped.ts'

const postgres = postgresEngine()
const sqlite = sqliteEngine()

type Kind = Omit<PhysicalColumn, 'name'>

function tableOf(kind: Kind, count: number): PhysicalTable {
  return { name: 'wide', columns: Array.from({ length: count }, (_, index) => ({ name: `c${index}`, ...kind })), indexes: [] }
}

const DIGEST = new Uint8Array(12).fill(7)
const LONG = 'a text that the server can store beside the row, as it has many more bytes than a pointer to them'

/** The most columns of a kind, a cell of it, and the limit that one more breaks. */
const LIMITS: readonly (readonly [engine: Engine, kind: Kind, most: number, cell: Cell, says: string])[] = [
  [postgres, { type: 'integer' }, 999, 2n ** 62n, '8160'],
  [postgres, { type: 'real' }, 999, 0.1, '8160'],
  [postgres, { type: 'text' }, 448, LONG, '8160'],
  [postgres, { type: 'bytes', byteLength: 12 }, 618, DIGEST, '8160'],
  [sqlite, { type: 'integer' }, 1998, 2n ** 62n, '2000'],
  [sqlite, { type: 'text' }, 1998, LONG, '2000'],
]

for (const [engine, kind, most, cell, says] of LIMITS) {
  it(`${engine.name} stores full rows of ${most} columns of ${kind.type}, and refuses to prepare one more`, async () => {
    const storage = engine.fresh().open()
    await expect(storage.prepare([tableOf(kind, most + 1)])).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining(says),
      details: [{ table: 'wide' }],
    })
    const table = tableOf(kind, most)
    await storage.prepare([table])
    const cells = Object.fromEntries(table.columns.map(({ name }) => [name, cell]))
    const ids = await storage.reserveIds('wide', 3)
    await storage.insert('wide', [{ id: ids[0] ?? 0, ...cells }])
    await storage.insert(
      'wide',
      ids.slice(1).map((id) => ({ id, ...cells })),
    )
    const patches = ids.map((id) => ({ id, version: 1, set: cells }))
    expect(await storage.update('wide', patches)).toEqual([true, true, true])
    expect(await storage.get('wide', ids)).toEqual(ids.map((id) => ({ id, version: 2, ...cells })))
    await expect(storage.prepare([tableOf(kind, most + 1)])).rejects.toMatchObject({ code: 'failed_precondition' })
    expect(await storage.find('wide', { kind: 'all' }, { order: 'asc', limit: 9, columns: [] })).toHaveLength(3)
  })
}

it('more columns than a table of PostgreSQL takes are counted, not measured', async () => {
  const preparing = postgres
    .fresh()
    .open()
    .prepare([tableOf({ type: 'integer' }, 1599)])
  await expect(preparing).rejects.toMatchObject({ code: 'failed_precondition', message: expect.stringContaining('at most 1600') })
})

it('texts that are a little too short to be stored beside a row are refused for the row, not for an index', async () => {
  const storage = postgres.fresh().open()
  const table = tableOf({ type: 'text' }, 448)
  await storage.prepare([table])
  const cells = Object.fromEntries(table.columns.map(({ name }) => [name, 'x'.repeat(22)]))
  const refusal = {
    code: 'unprocessable',
    message: expect.stringContaining('8160 bytes of a row'),
    details: [{ table: 'wide', index: 0 }],
  }
  await expect(storage.insert('wide', [{ id: 1, ...cells }])).rejects.toMatchObject(refusal)
})

/** Columns of a vault that are too many for an engine, and what its error says. */
const SCHEMAS: readonly (readonly [engine: Engine, definition: ColumnDefinition, count: number, says: string])[] = [
  [postgres, { type: 'INTEGER', encrypted: false }, 1100, '8160'],
  [postgres, { type: 'STRING', encrypted: false }, 500, '8160'],
  [postgres, { type: 'STRING', searchable: true }, 700, '8160'],
  [postgres, { type: 'STRING', token: 'deterministic' }, 500, '8160'],
  [postgres, { type: 'INTEGER', encrypted: false }, 1700, 'at most 1600'],
  [sqlite, { type: 'INTEGER', encrypted: false }, 2000, 'at most 2000'],
]

for (const [engine, definition, count, says] of SCHEMAS) {
  it(`a vault on ${engine.name} with ${count} columns of ${JSON.stringify(definition)} is not opened, and one of sealed columns is`, async () => {
    const place = engine.fresh()
    const columns = (one: ColumnDefinition) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`c${index}`, one]))
    const opening = openLoose(place.open(), { wide: columns(definition) })
    await expect(opening).rejects.toMatchObject({ code: 'failed_precondition', message: expect.stringContaining(says) })
    const { session } = await openLoose(engine.fresh().open(), { wide: columns({ type: 'STRING' }) })
    const fields = Object.fromEntries(Array.from({ length: count }, (_, index) => [`c${index}`, 'value']))
    const { records } = await session.insert('wide', [{ fields }])
    expect(Object.keys((await session.getOne('wide', records[0]?.id ?? '')).fields)).toHaveLength(count)
  })
}
