/** Sealed indexes: their law, what it finds in a merge that forgets, and what their rows show at rest. */
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { CATALOG_MOVED, UNKNOWN_KEY } from '../../../src/core/barrier/barrier.ts'
import { IndexChanges, sealDelta } from '../../../src/core/index-runs/delta.ts'
import { keysThat, orderKey } from '../../../src/core/index-runs/order-key.ts'
import type { Row, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { INDEX_BLOCKS, INDEX_RUNS } from '../../../src/core/schema/system-tables.ts'
import { HeadCache, MAX_HEADS, readHeads, type StoredHead } from '../../../src/core/sealed-index/index-rows.ts'
import { compactIndexes, dropIndexes, sweepParts } from '../../../src/core/sealed-index/merge-due.ts'
import { createIndexReader } from '../../../src/core/sealed-index/read-index.ts'
import { required } from '../../../src/core/util/lists.ts'
import { columnTypes } from '../../../src/core/values/column-types.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { checkIndexes, filledIndex, INDEX_KEYS, keysOf, sealedIndexes, TABLE, writeDelta } from '../../laws/sealed-indexes.ts'
import { itHolds } from '../../support/laws/it-holds.ts'
import { randomFor } from '../../support/random/seeded-random.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const NO_PACE = { worked: async () => {} }
const EVERYTHING = { kind: 'all' } as const

itHolds(sealedIndexes)

/** Forgets that one value went: the first that a merge comes to. */
class ForgetfulCache extends HeadCache {
  #isDone = false

  override keep(heads: ReadonlyMap<number, readonly StoredHead[]>): void {
    for (const head of [...heads.values()].flat()) {
      if (head.kind !== 'delta') continue
      for (const { weights } of head.segments.values()) {
        const at = weights.indexOf(-1)
        if (at < 0 || this.#isDone) continue
        weights[at] = 0
        this.#isDone = true
      }
    }
    super.keep(heads)
  }
}

it('the law finds a merge that leaves out that one value went', async () => {
  const storage = memoryStorage()
  const check = checkIndexes(
    () => storage,
    randomFor('forgetful'),
    () => new ForgetfulCache(),
  )
  await expect(check).rejects.toThrow()
})

it('the ids of blocks say nothing of the order of keys, and blocks have one length', async () => {
  const { storage, merge } = await filledIndex(10_000)
  const rows = await storage.find(INDEX_BLOCKS.name, EVERYTHING, { order: 'asc', limit: 1000 })
  expect(new Set(rows.map(({ body }) => (body as Uint8Array).length)).size).toBe(1)
  const { heads } = await readHeads(merge, new HeadCache(), { spaces: [TABLE.indexes[0]?.objectId ?? 0], pace: NO_PACE })
  const ids = heads.flatMap((head) => (head.kind === 'run' ? [...head.run.ids] : []))
  expect(ids.length).toBeGreaterThan(30)
  const rising = ids.filter((id, index) => index > 0 && id > (ids[index - 1] ?? 0)).length
  // Of n ids in random order, half of the neighbors rise, with a deviation of the square root of n / 12.
  expect(Math.abs(rising - ids.length / 2)).toBeLessThan(5 * Math.sqrt(ids.length / 12))
})

it('a part that is damaged, or put under another index, is data_loss that says where, without a value', async () => {
  for (const [table, harm] of [
    [INDEX_BLOCKS, ({ body }: Row) => ({ body: (body as Uint8Array).map((byte, at) => (at === 100 ? byte ^ 1 : byte)) })],
    [INDEX_RUNS, ({ body }: Row) => ({ body: (body as Uint8Array).map((byte, at) => (at === 100 ? byte ^ 1 : byte)) })],
    [INDEX_RUNS, ({ space }: Row) => ({ space: Number(space) === 11 ? 12 : 11 })],
    [INDEX_BLOCKS, () => ({ body: null })],
  ] as const) {
    const { storage, reader } = await filledIndex(2000)
    const rows = await storage.find(table.name, EVERYTHING, { order: 'asc', limit: 1000 })
    await storage.update(
      table.name,
      rows.map((row) => ({ id: row.id, version: row.version, set: harm(row) })),
    )
    const error: unknown = await reader.candidates(11, [{}]).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'data_loss' })
    expect(String(error)).toMatch(
      new RegExp(`^VaultError: Row \\d+ of ${table.name}, a part of a sealed index, .+ add it again\\.$`),
    )
  }
})

it('a part that is sealed with a key of another process is UNKNOWN_KEY where that is asked for', async () => {
  const { storage } = await filledIndex(2000)
  const ring = keyRingFactory.createRing('law', [{ version: 2, key: new Uint8Array(32).fill(8) }])
  const ports = { ...SYSTEM_PORTS, storage, cache: new HeadCache() }
  const candidates = (signalsUnknownKeys: boolean) =>
    createIndexReader({ ...ports, keys: { ...INDEX_KEYS, ring, signalsUnknownKeys } }, TABLE).candidates(11, [{}])
  await expect(candidates(true)).rejects.toBe(UNKNOWN_KEY)
  await expect(candidates(false)).rejects.toMatchObject({ code: 'data_loss' })
})

it('rows that are forgotten are in no part of the index after it was compacted without them', async () => {
  const { storage, reader, merge, handle } = await filledIndex(2000)
  const changes = new IndexChanges()
  const rows = [...(await reader.candidates(11, [{}]))].slice(0, 500)
  for await (const { key, rows: found } of keysOf(reader.walk(11, [{}], { direction: 'up' })))
    for (const row of found) if (rows.includes(row)) changes.remove(11, key, row)
  await writeDelta(handle, [changes])
  await compactIndexes(merge, TABLE, { without: new Set(rows) })
  expect((await reader.candidates(11, [{}])).length).toBe(1500)
  const { heads } = await readHeads(merge, new HeadCache(), { spaces: [TABLE.objectId, 11], pace: NO_PACE })
  expect(heads.map((head) => (head.kind === 'run' ? head.run.entries : 0))).toEqual([1500])
  expect(await storage.aggregate(INDEX_RUNS.name, EVERYTHING, [{ kind: 'count' }])).toEqual([2])
})

it('a merge that ends early leaves nothing, and what a killed one left is swept, while one that goes on after a sweep loses', async () => {
  const { storage, reader, merge } = await filledIndex(5000)
  const before = await stored(storage)
  const cancelled = new Error('cancelled')
  const failing = { ...merge, between: () => Promise.reject(cancelled) }
  await expect(compactIndexes(failing, TABLE, { without: new Set() })).rejects.toBe(cancelled)
  expect(await stored(storage)).toEqual(before)
  // A killed merge: it never goes on after its first slice.
  const began = Promise.withResolvers<void>()
  const killed = {
    ...merge,
    between: () => {
      began.resolve()
      return new Promise<void>(() => {})
    },
  }
  void compactIndexes(killed, TABLE, { without: new Set() })
  await began.promise
  expect(await stored(storage)).not.toEqual(before)
  await sweepParts(merge)
  expect(await stored(storage)).toEqual(before)
  // One that sleeps while another process sweeps: it begins again, and its first blocks are of no use to it.
  let slept = false
  const sleeping = {
    ...merge,
    async between() {
      if (!slept) await sweepParts(merge)
      slept = true
    },
  }
  await compactIndexes(sleeping, TABLE, { without: new Set() })
  await sweepParts(merge)
  expect(await reader.totals(12, [{}], true)).toMatchObject({ count: 5000 })
  expect((await reader.candidates(11, [{}])).length).toBe(5000)
  expect((await stored(storage)).length).toBe(before.length)
})

it('a merge that is killed at any of its calls loses nothing, and a sweep leaves nothing of it', async () => {
  const dead = new Error('killed')
  // It fails at the call, or also at all after it, as a process that is killed.
  for (const goesOn of [true, false]) {
    let calls = 0
    let isWhole = false
    for (let last = 1; !isWhole; last++) {
      const { storage, reader, merge, handle } = await filledIndex(400)
      const changes = new IndexChanges()
      for (let row = 1; row <= 300; row++) changes.add(12, orderKey(columnTypes.INTEGER, row), 1000 + row)
      await writeDelta(handle, [changes])
      const faulty = faultyStorage(storage)
      calls = 0
      faulty.fail(() => (++calls === last || (calls > last && !goesOn) ? dead : undefined))
      isWhole = await compactIndexes({ ...merge, storage: faulty.storage, cache: new HeadCache() }, TABLE).then(
        () => true,
        (error) => {
          expect(error).toBe(dead)
          return false
        },
      )
      const expected = { text: 400, number: { count: 700 } }
      const found = async () => ({
        text: (await reader.candidates(11, [{}])).length,
        number: await reader.totals(12, [{}], true),
      })
      expect(await found()).toMatchObject(expected)
      await sweepParts(merge)
      expect(await found()).toMatchObject(expected)
      const parts = await stored(storage)
      const heads = new Set(parts.filter(({ run }) => run === undefined).map(({ id }) => id))
      expect(parts.filter(({ run, space }) => space === 0 || (run !== undefined && !heads.has(Number(run))))).toEqual([])
      await compactIndexes(merge, TABLE)
      expect(await found()).toMatchObject(expected)
    }
    expect(calls).toBeGreaterThan(25)
  }
})

it('a merge changes nothing where another process changed the catalog meanwhile', async () => {
  const { storage, merge } = await filledIndex(3000)
  const before = await stored(storage)
  const catalog = { ...merge.catalog, isCurrent: async () => false }
  await expect(compactIndexes({ ...merge, catalog }, TABLE, { without: new Set() })).rejects.toBe(CATALOG_MOVED)
  expect(await stored(storage)).toEqual(before)
})

it('an index that is dropped has no rows any more, and deltas of it are left out of merges', async () => {
  const { storage, reader, merge, handle } = await filledIndex(3000)
  await dropIndexes(merge, [12])
  const changes = new IndexChanges()
  changes.add(11, orderKey(columnTypes.STRING, 'a'), 1)
  changes.add(12, orderKey(columnTypes.INTEGER, 1), 1)
  await writeDelta(handle, [changes])
  await compactIndexes(merge, { objectId: TABLE.objectId, indexes: TABLE.indexes.slice(0, 1) })
  expect(await reader.estimate(12, [{}])).toEqual({ least: 0, most: 0 })
  expect(await reader.estimate(11, [{}])).toEqual({ least: 3001, most: 3001 })
  expect(new Set((await stored(storage)).map(({ run, space }) => run ?? space)).size).toBe(2)
})

it('memory has no more than its limit of what others read, and nothing of what was merged away', async () => {
  const { merge, handle } = await filledIndex(3000)
  const bytesAfter = async (cache: HeadCache, index: number) => {
    const reader = createIndexReader({ ...merge, ...SYSTEM_PORTS, cache }, TABLE)
    expect((await reader.candidates(index, [{}])).length).toBe(3000)
    return cache.bytes
  }
  const all = new HeadCache()
  const [one, both] = [await bytesAfter(all, 11), await bytesAfter(all, 12)]
  expect(both).toBeGreaterThan(one)
  expect(await bytesAfter(all, 11)).toBe(both)
  // What is read last stays, and the other index goes; blocks go first.
  const few = new HeadCache({ headBytes: 1, blockBytes: 0 })
  await bytesAfter(few, 12)
  expect(await bytesAfter(few, 11)).toBeLessThan(one / 2)
  expect(await bytesAfter(few, 12)).toBeLessThan(one / 2)
  // A list that is cut, as beyond MAX_HEADS, leaves no more either.
  const cut = { spaces: [TABLE.objectId, 11, 12], pace: NO_PACE, limit: 1 }
  expect((await readHeads(merge, few, cut)).areAll).toBe(false)
  expect(few.bytes).toBe(0)
  // Several that read at once hold what they found, whatever others drop.
  await Promise.all([11, 12, 11, 12].map((index) => bytesAfter(few, index)))
  await writeDelta(handle, [new IndexChanges()])
  await compactIndexes(merge, TABLE, { without: new Set() })
  expect([await bytesAfter(all, 11), await bytesAfter(all, 12)]).toEqual([both, both])
  all.clear()
  expect(all.bytes).toBe(0)
})

it('a delta that was rolled back is never taken for another one with its id', async () => {
  const { storage, merge } = await filledIndex(10)
  const cache = new HeadCache()
  const [id = 0] = await storage.reserveIds(INDEX_RUNS.name, 1)
  const rowsSeen = async (row: number, within: Storage) => {
    const changes = new IndexChanges()
    changes.add(11, orderKey(columnTypes.STRING, 'same'), row)
    await within.insert(INDEX_RUNS.name, [sealDelta(INDEX_KEYS, id, TABLE, [changes])])
    const reader = createIndexReader({ ...merge, ...SYSTEM_PORTS, storage: within, cache }, TABLE)
    return [...(await reader.candidates(11, [keysThat('=', columnTypes.STRING, 'same').range]))]
  }
  const rolledBack = new Error('rolled back')
  const work = storage.transaction(async (within) => {
    expect(await rowsSeen(100, within)).toEqual([100])
    throw rolledBack
  })
  await expect(work).rejects.toBe(rolledBack)
  expect(await rowsSeen(200, storage)).toEqual([200])
})

it('an index with too many parts is estimated as of no use, and what reads it says what to do', async () => {
  const { storage, reader } = await filledIndex(10)
  const ids = await storage.reserveIds(INDEX_RUNS.name, MAX_HEADS)
  await storage.insert(
    INDEX_RUNS.name,
    ids.map((id) => sealDelta(INDEX_KEYS, id, TABLE, [])),
  )
  expect(await reader.estimate(11, [{}])).toEqual({ least: 0, most: Number.POSITIVE_INFINITY })
  await expect(reader.totals(11, [{}])).rejects.toThrow('too many parts to be read. Run compact')
})

it('a query reads all rows where an index has too many parts', async () => {
  const stored = memoryStorage()
  const storage: StorageHandle = {
    ...stored,
    async find(table, filter, page) {
      const rows = await stored.find(table, filter, page)
      if (table !== INDEX_RUNS.name || page.limit !== MAX_HEADS) return rows
      return Array.from({ length: MAX_HEADS }, () => required(rows[0]))
    },
  }
  const schema = defineSchema({ things: { size: column.integer({ redaction: 'PLAIN_TEXT', index: 'sealed' }) } })
  const keys = localKeys({ key: TEST_SECRET })
  const vault = await openVault({ ...SYSTEM_PORTS, id: 'v1', storage, schema, keys })
  await vault.as(OWNER).insert(
    'things',
    Array.from({ length: 1000 }, (_, size) => ({ fields: { size } })),
  )
  for (const [asked, first] of [
    ['size FROM things WHERE size = 7', { size: 7 }],
    ['size FROM things ORDER BY size DESC LIMIT 1', { size: 999 }],
    ['COUNT(*) AS size FROM things WHERE size > 7', { size: 992 }],
    ['MIN(size) AS size FROM things WHERE size > 7', { size: 8 }],
  ] as const) {
    const { records } = await vault.as(OWNER).query(`SELECT ${asked}`)
    expect(records[0]?.fields).toEqual(first)
  }
  await vault.close()
})

/** What is in both tables, without the bodies. */
async function stored(storage: StorageHandle): Promise<readonly Row[]> {
  const page = { order: 'asc', limit: 100_000 } as const
  const runs = await storage.find(INDEX_RUNS.name, EVERYTHING, { ...page, columns: ['space'] })
  return [...runs, ...(await storage.find(INDEX_BLOCKS.name, EVERYTHING, { ...page, columns: ['run'] }))]
}
