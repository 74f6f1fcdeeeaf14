/** Bodies sealed under one schema and opened under another: a cell of another column or type is unreadable, and no neighbor's bytes are returned. */
import { describe, expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { systemEntropy } from '../../../src/adapters/system/system.ts'
import type { Barrier } from '../../../src/core/barrier/barrier.ts'
import { revealRows } from '../../../src/core/barrier/reveal.ts'
import { resealRows } from '../../../src/core/barrier/seal-rows.ts'
import { revealTransients, sealTransients } from '../../../src/core/barrier/transients.ts'
import type { Row } from '../../../src/core/ports/storage.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import type { ColumnDefinition } from '../../../src/core/schema/column.ts'
import { layoutSchema, type Table } from '../../../src/core/schema/layout.ts'
import { required } from '../../../src/core/util/lists.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { sealRecords } from '../../support/vaults/seal-records.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const CANARY = 'canary-4711-of-a-neighbor'

const barrier: Barrier = {
  ring: keyRingFactory.createRing('v1', [{ version: 1, key: new Uint8Array(32).fill(7) }]),
  entropy: systemEntropy,
  vault: new Uint8Array(16).fill(9),
}

/** The table of these columns, as the first schema of a vault. Two calls number the columns alike. */
function tableOf(columns: Readonly<Record<string, ColumnDefinition>>): Table {
  return required(layoutSchema(assignIds({ things: columns }, EMPTY_CATALOG_SCHEMA)).tables.get('things'))
}

/** A stored row with these values. */
function sealed(table: Table, values: readonly unknown[]): Row {
  const sources = { textOf: () => undefined, supplied: [], transientIds: [1], nowMs: 1000 }
  const { rows } = sealRecords(barrier, table, { ids: [1], records: [values], sources })
  return { version: 1, ...required(rows[0]) }
}

function read(table: Table, row: Row): unknown {
  return revealRows(barrier, table, [row], {
    views: table.readable.map((one) => ({ column: one, level: 'PLAIN_TEXT' as const })),
  })
}

/** A column of every type, and a short value of it. */
const TYPES: readonly (readonly [ColumnDefinition, unknown])[] = [
  [column.string({}), '1'],
  [column.integer({}), 1],
  [column.float({}), 1.5],
  [column.boolean({}), true],
  [column.date({}), '2026-01-31'],
  [column.time({}), '12:00:00'],
  [column.datetime({}), '2026-01-31T12:00:00Z'],
  [column.json({}), { a: 1 }],
  [column.array({}), [1]],
]

describe('a body sealed under another schema', () => {
  it('is unreadable for a column of every other type', () => {
    for (const [before, value] of TYPES) {
      const row = sealed(tableOf({ first: before, neighbor: column.string({}) }), [value, CANARY])
      for (const [after] of TYPES) {
        const table = tableOf({ first: after, neighbor: column.string({}) })
        if (after === before) expect(read(table, row)).toEqual([{ first: value, neighbor: CANARY }])
        else expect(() => read(table, row), `${before.type} as ${after.type}`).toThrow('failed authentication')
      }
    }
  })

  it('is unreadable for a column of the same type with another name or number', () => {
    const row = sealed(tableOf({ hidden: column.string({}), neighbor: column.string({}) }), [CANARY, 'b'])
    expect(() => read(tableOf({ shown: column.string({}), neighbor: column.string({}) }), row)).toThrow('failed authentication')
    expect(() => read(tableOf({ neighbor: column.string({}), hidden: column.string({}) }), row)).toThrow('failed authentication')
    const later = assignIds(
      { things: { hidden: column.string({}), neighbor: column.string({}) } },
      { ...EMPTY_CATALOG_SCHEMA, nextObjectId: 2 },
    )
    const renumbered = { ...required(layoutSchema(later).tables.get('things')), objectId: 1 }
    expect(() => read(renumbered, row)).toThrow('failed authentication')
  })

  it('is unreadable for a transient column of another type', () => {
    const record = ['1234', CANARY]
    const before = tableOf({ pin: column.string({ token: 'transient' }), neighbor: column.string({}) })
    const row = sealed(before, record)
    const after = tableOf({ pin: column.integer({ token: 'transient' }), neighbor: column.string({}) })
    expect(() => read(after, row)).toThrow('failed authentication')
    const { metadata } = sealRecords(barrier, before, {
      ids: [1],
      records: [record],
      sources: { textOf: () => undefined, supplied: [], transientIds: [1], nowMs: 1000 },
    })
    const [transient] = sealTransients(barrier, before, { records: [record], metadata })
    const stored = [{ version: 1, ...required(transient) }]
    expect(revealTransients(barrier, required(before.transient[0]), stored)).toMatchObject([{ value: '1234' }])
    expect(revealTransients(barrier, required(after.transient[0]), stored)).toEqual([undefined])
  })
})

describe('a body sealed under a newer schema', () => {
  /** The tables of a vault whose schema had these columns, one change after the other. */
  const tablesOf = (...changes: readonly Readonly<Record<string, ColumnDefinition>>[]) => {
    let schema = EMPTY_CATALOG_SCHEMA
    return changes.map((columns) => {
      schema = assignIds({ things: columns }, schema)
      return required(layoutSchema(schema).tables.get('things'))
    })
  }
  const text = column.string({})

  it('is read by a process with an older one, which keeps the other cells when it writes', () => {
    const [older, newer] = tablesOf({ name: text, code: text }, { name: text, code: text, pin: text, secret: text })
    const row = sealed(required(newer), ['Ann', 'a', '1', CANARY])
    expect(read(required(older), row)).toEqual([{ name: 'Ann', code: 'a' }])
    const sources = { textOf: () => undefined, supplied: [], transientIds: [], nowMs: 1000 }
    const resealer = resealRows(barrier, required(older), { rows: [row], records: [[undefined, 'b']], sources })
    expect(resealer.resealSome()).toBe(false)
    const { rows } = resealer.end()
    const changed = { ...row, ...required(rows[0]).set }
    expect(read(required(older), changed)).toEqual([{ name: 'Ann', code: 'b' }])
    expect(read(required(newer), changed)).toEqual([{ name: 'Ann', code: 'b', pin: '1', secret: CANARY }])
  })

  it('is unreadable where columns were numbered again, for every number of columns that the reader has', () => {
    const added = ['pin', 'secret', 'hint', 'memo']
    const columnsOf = (...names: readonly string[]) => Object.fromEntries(['name', ...names].map((name) => [name, text]))
    const [, newer] = tablesOf(columnsOf(), columnsOf(...added))
    const row = sealed(required(newer), ['Ann', ...added.map(() => CANARY)])
    for (let count = 1; count <= added.length + 1; count++) {
      const [first, other] = tablesOf(columnsOf(), columnsOf(...Array.from({ length: count }, (_, index) => `other_${index}`)))
      expect(() => read(required(other), row), `${count} other columns`).toThrow('failed authentication')
      expect(read(required(first), row)).toEqual([{ name: 'Ann' }])
      // A part of the same columns is not of the same catalog either.
      const [, part] = tablesOf(columnsOf(), columnsOf(...added.slice(0, count)))
      if (count < added.length) expect(() => read(required(part), row)).toThrow('failed authentication')
    }
  })
})

onEachStorage('a vault whose stored schema was restored to an older copy', (engine) => {
  it('returns no bytes of another column', async () => {
    const storage = engine.fresh().open()
    // Without an audit trail, nothing but catalog and marker has the generation of the schema: both are restored.
    const open = (things: Readonly<Record<string, ColumnDefinition>>) =>
      createVault({ id: 'v1', audit: 'off', schema: defineSchema({ things }), storage, keys: localKeys({ key: TEST_SECRET }) })
    const name = column.string({ redaction: 'PLAIN_TEXT' })
    await open({ name })
    const tables = ['catalog', 'vault_marker']
    const older = await Promise.all(tables.map((table) => storage.find(table, { kind: 'all' }, { order: 'asc', limit: 100 })))
    const newer = await open({ name, pin: column.string({}), secret: column.string({}) })
    await newer.as(OWNER).insert('things', [{ fields: { name: 'Ann', pin: '1', secret: CANARY } }])
    for (const [index, table] of tables.entries()) {
      await storage.delete(table, { filter: { kind: 'all' } })
      await storage.insert(table, required(older[index]))
    }
    const session = (await open({ name, count: column.integer({ redaction: 'PLAIN_TEXT' }) })).as(OWNER)
    const outcome = await session.get('things', { redaction: 'PLAIN_TEXT' }).catch((error: unknown) => error)
    expect(outcome).toMatchObject({ code: 'data_loss', details: [{ table: 'things' }] })
  })
})
