/** Founding a vault: only where none of its tables holds rows, whole or not at all, and with a marker that later openings check. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { CATALOG, MARKER } from '../../../src/core/schema/system-tables.ts'
import { column, createVault, type SchemaDefinition, type Vault, VaultError } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const NAME = column.string({ redaction: 'PLAIN_TEXT' })
const THINGS = { things: { name: NAME } }
const WIDER = { things: { name: NAME, note: column.string() } }
const EVERY = { kind: 'all' } as const
const ALL = { order: 'asc', limit: 1000 } as const

function open<const S extends SchemaDefinition>(
  storage: StorageHandle,
  tables: S,
  audit: 'on' | 'off' = 'on',
): Promise<Vault<S>> {
  return createVault({ id: 'v1', schema: checkSchema(tables), storage, audit, keys: localKeys({ key: TEST_SECRET }) })
}

/** A handle on which the system tables and the table of records are prepared. */
async function prepared(storage: StorageHandle): Promise<StorageHandle> {
  await storage.prepare([CATALOG, MARKER, { name: 'records_1_things', columns: [{ name: 'body', type: 'bytes' }], indexes: [] }])
  return storage
}

async function empty(storage: StorageHandle, tables: readonly string[]): Promise<void> {
  for (const table of tables) await storage.delete(table, { filter: EVERY })
}

onEachStorage('founding a vault', (engine) => {
  it.each([
    ['on', ['catalog'], 'vault_marker'],
    ['off', ['catalog'], 'vault_marker'],
    ['on', ['catalog', 'vault_marker'], 'audit_events'],
    ['off', ['catalog', 'vault_marker'], 'records_1_things'],
  ] as const)('is refused beside rows, with the audit %s and %j emptied', async (audit, emptied, named) => {
    const place = engine.fresh()
    const vault = await open(place.open(), THINGS, audit)
    await vault.as(OWNER).insert('things', [{ fields: { name: 'x' } }])
    const storage = await prepared(place.open())
    await empty(storage, emptied)
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(open(place.open(), THINGS, audit)).rejects.toMatchObject({
        code: 'data_loss',
        message: expect.stringContaining(`table "${named}" holds rows. Restore the catalog`),
      })
    }
    for (const table of emptied) expect(await storage.find(table, EVERY, ALL)).toEqual([])
    expect((await storage.find('records_1_things', EVERY, ALL)).length).toBe(1)
  })

  it('is possible beside tables of the application', async () => {
    const storage = engine.fresh().open()
    await storage.prepare([{ name: 'orders', columns: [{ name: 'total', type: 'integer' }], indexes: [] }])
    await storage.insert('orders', [{ id: 1, total: 5 }])
    const vault = await open(storage, THINGS)
    await vault.as(OWNER).insert('things', [{ fields: { name: 'x' } }])
  })

  it('leaves nothing if it fails in the middle, and can be done again', async () => {
    const place = engine.fresh()
    for (const method of ['insert', 'commit'] as const) {
      const { storage, fail } = faultyStorage(place.open())
      fail((call) =>
        call.method === method && (method === 'commit' || call.table === MARKER.name)
          ? new VaultError('unavailable', 'power')
          : undefined,
      )
      await expect(open(storage, THINGS)).rejects.toThrow('power')
    }
    const vault = await open(place.open(), THINGS)
    await vault.as(OWNER).insert('things', [{ fields: { name: 'x' } }])
    expect((await (await open(place.open(), THINGS)).as(OWNER).get('things')).records.length).toBe(1)
  })

  it('by another process that has written records meanwhile is not taken for a lost catalog', async () => {
    const place = engine.fresh()
    const storage = place.open()
    let isFirst = true
    const late: StorageHandle = {
      ...storage,
      async find(table, filter, page) {
        const rows = await storage.find(table, filter, page)
        if (table !== CATALOG.name || !isFirst) return rows
        isFirst = false
        const faster = await open(place.open(), THINGS)
        await faster.as(OWNER).insert('things', [{ fields: { name: 'faster' } }])
        return rows
      },
    }
    const vault = await open(late, THINGS)
    expect((await vault.as(OWNER).get('things')).records.length).toBe(1)
  })

  it('leaves a marker without which the vault does not open', async () => {
    const place = engine.fresh()
    await open(place.open(), THINGS)
    const storage = await prepared(place.open())
    const [marker] = await storage.find(MARKER.name, EVERY, ALL)
    await storage.update(MARKER.name, [{ id: 1, version: marker?.version ?? 0, set: { body: new Uint8Array(60) } }])
    await expect(open(place.open(), THINGS)).rejects.toMatchObject({
      code: 'data_loss',
      message: expect.stringContaining('the marker of its founding failed authentication'),
    })
    await empty(storage, [MARKER.name])
    await expect(open(place.open(), THINGS)).rejects.toMatchObject({
      code: 'data_loss',
      message: expect.stringContaining('the marker of its founding is missing'),
    })
  })
})

describe('a catalog restored from an older copy', () => {
  const byName = (rows: readonly Row[], entry: string) => rows.find((row) => row.entry === entry)

  /** Opens a vault, widens it, and puts the older schema row back, and the older marker if it is asked for. */
  async function rollBack(audit: 'on' | 'off', withMarker: boolean) {
    const storage = memoryStorage()
    const vault = await open(storage, THINGS, audit)
    await vault.as(OWNER).insert('things', [{ fields: { name: 'x' } }])
    const before = byName(await storage.find('catalog', EVERY, ALL), 'schema')
    const [marker] = await storage.find(MARKER.name, EVERY, ALL)
    await (await open(storage, WIDER, audit)).as(OWNER).insert('things', [{ fields: { name: 'y', note: 'z' } }])
    const after = byName(await storage.find('catalog', EVERY, ALL), 'schema')
    const content = before?.content ?? null
    await storage.update('catalog', [{ id: after?.id ?? 0, version: after?.version ?? 0, set: { content } }])
    const [newer] = await storage.find(MARKER.name, EVERY, ALL)
    if (withMarker)
      await storage.update(MARKER.name, [{ id: 1, version: newer?.version ?? 0, set: { body: marker?.body ?? null } }])
    return { storage, vault }
  }

  it.each([
    ['on', false],
    ['off', false],
    ['on', true],
  ] as const)('is refused, with the audit %s, also if the marker is restored with it: %s', async (audit, withMarker) => {
    const { storage } = await rollBack(audit, withMarker)
    for (const tables of [THINGS, WIDER]) {
      await expect(open(storage, tables, audit)).rejects.toMatchObject({
        code: 'data_loss',
        message: expect.stringContaining('its catalog is an older copy than its records'),
      })
    }
  })

  it('stops the writes of a process that has it open', async () => {
    const { vault } = await rollBack('on', false)
    await expect(vault.as(OWNER).insert('things', [{ fields: { name: 'w' } }])).rejects.toMatchObject({ code: 'data_loss' })
  })

  it('negative control: restored with marker and without an audit, it opens', async () => {
    const { storage } = await rollBack('off', true)
    await open(storage, THINGS, 'off')
  })
})
