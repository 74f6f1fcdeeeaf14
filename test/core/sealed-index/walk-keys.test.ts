/** Walks of sealed indexes, and queries in their order, beside merges and rows that move. */

import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { IndexChanges } from '../../../src/core/index-runs/delta.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { INDEX_BLOCKS } from '../../../src/core/schema/system-tables.ts'
import { compactIndexes } from '../../../src/core/sealed-index/merge-due.ts'
import { required } from '../../../src/core/util/lists.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { filledIndex, keysOf, TABLE, writeDelta } from '../../laws/sealed-indexes.ts'
import { INDEXES_ONLY } from '../../support/queries/read-costs.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

it('a walk goes on where blocks are merged away meanwhile, and gives each row once', async () => {
  const { reader, merge, handle } = await filledIndex(5000)
  for (const direction of ['up', 'down'] as const) {
    const rows: number[] = []
    const walk = reader.walk(11, [{}], { direction })
    for await (const found of keysOf(walk)) {
      for (const row of found.rows) rows.push(row)
      if (rows.length % 1000 !== 500) continue
      await writeDelta(handle, [new IndexChanges()])
      await compactIndexes(merge, TABLE, { without: new Set() })
    }
    expect(rows.length).toBe(5000)
    expect(new Set(rows).size).toBe(5000)
    expect(walk.hasMoved).toBe(true)
  }
})

it('a query in the order of an index has each row once, where one moves and the index is merged meanwhile', async () => {
  const stored = memoryStorage()
  let atRead = async (): Promise<void> => {}
  const storage: StorageHandle = {
    ...stored,
    async get(table, ids, ...others) {
      if (table === INDEX_BLOCKS.name) await atRead()
      return stored.get(table, ids, ...others)
    },
  }
  const schema = defineSchema({ things: { name: column.string({ redaction: 'PLAIN_TEXT', index: 'sealed' }) } })
  const keys = () => localKeys({ key: TEST_SECRET })
  const nameOf = (place: number) => `${1e6 + place}${'x'.repeat(50)}`
  const writer = await openVault({ ...SYSTEM_PORTS, id: 'v1', storage: stored, schema, keys: keys() })
  const fields = Array.from({ length: 1000 }, (_, place) => ({ fields: { name: nameOf(place) } }))
  const { records } = await writer.as(OWNER).insert('things', fields)
  await writer.compact()
  for (const [from, to] of [
    [2, 990],
    [980, 3],
  ] as const) {
    const limits = { maxQueryRecords: 1000 }
    const vault = await openVault({ ...SYSTEM_PORTS, id: 'v1', storage, schema, keys: keys(), readCosts: INDEXES_ONLY, limits })
    let reads = 0
    atRead = async () => {
      if (++reads !== 3) return
      await writer.as(OWNER).updateOne('things', records[from]?.id ?? '', { name: `${nameOf(to)}y` })
      await writer.compact()
    }
    const found = await vault.as(OWNER).query<{ svc_id: string }>('SELECT svc_id FROM things ORDER BY name LIMIT 1000')
    expect(reads).toBeGreaterThanOrEqual(3)
    expect(found.records.length).toBe(1000)
    expect(new Set(found.records.map((record) => record.fields.svc_id)).size).toBe(1000)
    atRead = async () => {}
    await vault.close()
  }
  await writer.close()
})

it('a row that goes from one range to another is in one of them', async () => {
  const { reader, handle } = await filledIndex(100)
  const keys: Uint8Array[] = []
  for await (const { key } of keysOf(reader.walk(11, [{}], { direction: 'up' }))) keys.push(key)
  const middle = required(keys[keys.length >> 1])
  const halves = [{ high: middle }, { low: middle }]
  const { count } = await reader.totals(11, halves)
  expect(count).toBe(100)
  let rows = 0
  for await (const found of keysOf(reader.walk(11, halves, { direction: 'up' }))) {
    // Of the first range, while the second is to come.
    const changes = new IndexChanges()
    if (rows === 0) for (const row of found.rows) moveRow(changes, row, found.key, required(keys.at(-1)))
    if (changes.length > 0) await writeDelta(handle, [changes])
    rows += found.rows.length
  }
  expect(rows).toBe(100)
})

function moveRow(changes: IndexChanges, row: number, from: Uint8Array, to: Uint8Array): void {
  changes.remove(11, from, row)
  changes.add(11, to, row)
}
