/** Law: sealed indexes answer as a plain list does, while two handles write, merge and compact them at once. */
import { expect } from 'vitest'
import { keyRingFactory } from '../../src/adapters/keys/key-ring-factory.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { IndexChanges, sealDelta } from '../../src/core/index-runs/delta.ts'
import { VALUES } from '../../src/core/index-runs/key-ranges.ts'
import { compareKeys, type KeyRange, keyAfter, orderKey } from '../../src/core/index-runs/order-key.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { INDEX_BLOCKS, INDEX_RUNS } from '../../src/core/schema/system-tables.ts'
import { HeadCache } from '../../src/core/sealed-index/index-rows.ts'
import { compactIndexes, type IndexedTable, mergeDue, sweepParts } from '../../src/core/sealed-index/merge-due.ts'
import { type MergePorts, SIZES } from '../../src/core/sealed-index/merge-runs.ts'
import { createIndexReader, type IndexReader } from '../../src/core/sealed-index/read-index.ts'
import type { KeyRows, KeyWalk } from '../../src/core/sealed-index/walk-keys.ts'
import { columnTypes } from '../../src/core/values/column-types.ts'
import { randomFor, type SeededRandom } from '../support/random/seeded-random.ts'
import { engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import { SYSTEM_PORTS } from '../support/vaults/system-ports.ts'
import type { Law } from './law.ts'

const TEXT = { objectId: 11, hasSums: false }
const NUMBER = { objectId: 12, hasSums: true }
export const TABLE: IndexedTable = { objectId: 5, indexes: [TEXT, NUMBER] }
export const INDEX_KEYS = {
  ring: keyRingFactory.createRing('law', [{ version: 1, key: new Uint8Array(32).fill(7) }]),
  vault: new Uint8Array(16).fill(3),
}
const STEPS = 25
const EVERYTHING = { kind: 'all' } as const

/** What a row has: one value of each index. */
interface Values {
  readonly text: string | null
  readonly number: number | bigint | null
}

/** A row of the plain list: its key in each index. */
interface PlainRow extends Values {
  readonly keys: ReadonlyMap<number, Uint8Array>
}

/** What reads and merges the indexes of one handle. */
export interface IndexHandle {
  readonly storage: StorageHandle
  readonly reader: IndexReader
  readonly merge: MergePorts
}

/** Returns what reads and merges by one handle. Merges have a cache of their own, which a test can harm. */
export function indexHandle(storage: StorageHandle, sizes: MergePorts['sizes'], mergeCache = new HeadCache()): IndexHandle {
  const catalog = { keys: { generation: 1 }, isCurrent: async () => true, reload: async () => {} }
  const ports = { ...SYSTEM_PORTS, storage, keys: INDEX_KEYS }
  return {
    storage,
    reader: createIndexReader({ ...ports, cache: new HeadCache() }, TABLE),
    merge: {
      ...ports,
      catalog,
      cache: mergeCache,
      between: () => SYSTEM_PORTS.scheduler.yield(),
      ...(sizes === undefined ? {} : { sizes }),
    },
  }
}

/** Writes changes by one handle in one commit, as writers of records do. */
export async function writeDelta({ storage }: Pick<IndexHandle, 'storage'>, changes: readonly IndexChanges[]): Promise<void> {
  const [id = 0] = await storage.reserveIds(INDEX_RUNS.name, 1)
  await storage.insert(INDEX_RUNS.name, [sealDelta(INDEX_KEYS, id, TABLE, changes)])
}

/** Runs one case on two handles of one storage, and returns the number of checks. */
export async function checkIndexes(
  open: () => StorageHandle,
  random: SeededRandom,
  mergeCache?: () => HeadCache,
): Promise<number> {
  const sizes = {
    blockBytes: random.pick([256, 512, 2048]),
    dueDeltas: 1 + random.below(6),
    dueEntries: 50 + random.below(500),
    fanIn: 2 + random.below(3),
    leastEntries: 40,
  }
  const handles = [indexHandle(open(), sizes, mergeCache?.()), indexHandle(open(), sizes, mergeCache?.())]
  for (const { storage } of handles) await storage.prepare([INDEX_RUNS, INDEX_BLOCKS])
  const rows = new Map<number, PlainRow>()
  const values = valuesOf(random)
  const next = { row: 1 }
  let checks = 0
  for (let step = 0; step < STEPS; step++) {
    await writeDelta(random.pick(handles), changeRows(rows, next, random, values))
    const background = handles.map(({ merge }) => mergeDue(merge, TABLE))
    if (random.chance(0.1)) background.push(compactIndexes(random.pick(handles).merge, TABLE).then(() => 0))
    try {
      for (const { objectId } of TABLE.indexes) checks += await checkReads(random.pick(handles).reader, objectId, rows, random)
    } finally {
      await Promise.allSettled(background)
    }
    await Promise.all(background)
  }
  await checkCompacted(random.pick(handles), rows)
  return checks
}

/** Values, of which few or many repeat: texts with equal beginnings, some longer than a key, and numbers of all sizes. */
function valuesOf(random: SeededRandom): () => Values {
  const spread = random.pick([1, 4, 200, 100_000])
  const words = ['ann', 'bo', 'jürgen', 'åsa', '𝒳y', '', `${'long '.repeat(13)}`]
  const far = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, 2 ** 53 - 1]
  return () => ({
    text: random.chance(0.1) ? null : `${random.pick(words)}${random.below(spread)}`,
    number: random.chance(0.1) ? null : random.chance(0.2) ? random.pick(far) : random.below(spread) - Math.floor(spread / 2),
  })
}

/** Inserts, updates and deletes random rows, as one or two writes of one commit. */
function changeRows(
  rows: Map<number, PlainRow>,
  next: { row: number },
  random: SeededRandom,
  values: () => Values,
): IndexChanges[] {
  const changes = [new IndexChanges(), new IndexChanges()]
  const store = (row: number): void => {
    const value = values()
    const keys = new Map([
      [TEXT.objectId, orderKey(columnTypes.STRING, value.text)],
      [NUMBER.objectId, orderKey(columnTypes.INTEGER, value.number)],
    ])
    rows.set(row, { ...value, keys })
    const to = random.pick(changes)
    for (const [index, key] of keys) to.add(index, key, row)
  }
  for (let inserts = random.chance(0.3) ? random.below(300) : random.below(4); inserts > 0; inserts--) store(next.row++)
  for (const row of random.sample([...rows.keys()], random.below(20))) {
    const to = random.pick(changes)
    for (const [index, key] of rows.get(row)?.keys ?? []) to.remove(index, key, row)
    rows.delete(row)
    if (random.chance(0.6)) store(row)
  }
  return changes
}

async function checkReads(
  reader: IndexReader,
  index: number,
  rows: ReadonlyMap<number, PlainRow>,
  random: SeededRandom,
): Promise<number> {
  const sorted = [...rows]
    .map(([row, { keys, number }]) => ({ row, key: keys.get(index) ?? new Uint8Array(0), number: number ?? 0 }))
    .sort((one, other) => compareKeys(one.key, other.key) || one.row - other.row)
  const range = rangeAmong(sorted, random)
  const inside = sorted.filter(({ key }) => isIn(range, key))
  const { least, most } = await reader.estimate(index, [range])
  expect(least).toBeLessThanOrEqual(inside.length)
  expect(most).toBeGreaterThanOrEqual(inside.length)
  const others = [range, rangeAmong(sorted, random), rangeAmong(sorted, random)]
  const inAny = sorted.filter(({ key }) => others.some((one) => isIn(one, key)))
  expect([...(await reader.candidates(index, others))]).toEqual(inAny.map(({ row }) => row).sort((one, other) => one - other))
  const sum = index === NUMBER.objectId ? inside.reduce((total, { number }) => total + BigInt(number), 0n) : 0n
  expect(await reader.totals(index, [range], index === NUMBER.objectId)).toEqual({ count: inside.length, sum })
  const direction = random.pick(['up', 'down'] as const)
  const sign = direction === 'up' ? 1 : -1
  const ordered = inside.toSorted((one, other) => sign * compareKeys(one.key, other.key) || one.row - other.row)
  const wanted = random.pick([1, 25, Number.POSITIVE_INFINITY])
  const walk = reader.walk(index, [range], { direction })
  const first = await walk.next(wanted)
  const walked = [...first, ...(await walk.next(3))].flatMap(({ key, rows: found }) => found.map((row) => ({ row, key })))
  expect(walked).toEqual(ordered.slice(0, wanted + 3).map(({ row, key }) => ({ row, key })))
  expect(await reader.firstKey(index, [range], direction)).toEqual(ordered[0]?.key)
  return 4
}

/** Compacted, each index is one run of the rows that are there, and nothing is left of what was merged. */
async function checkCompacted({ storage, merge, reader }: IndexHandle, rows: ReadonlyMap<number, PlainRow>): Promise<void> {
  await compactIndexes(merge, TABLE)
  await sweepParts(merge)
  const heads = await storage.find(INDEX_RUNS.name, EVERYTHING, { order: 'asc', limit: 100, columns: ['space'] })
  expect(heads.length).toBeLessThanOrEqual(2)
  const runs = new Set(heads.map(({ id }) => id))
  const blocks = await storage.find(INDEX_BLOCKS.name, EVERYTHING, { order: 'asc', limit: 100_000, columns: ['run'] })
  expect(blocks.filter(({ run }) => !runs.has(Number(run)))).toEqual([])
  for (const { objectId } of TABLE.indexes) {
    // Entries that took each other back are gone: whole blocks alone have come to something.
    expect(await reader.estimate(objectId, [{}])).toEqual({ least: rows.size, most: rows.size })
    expect((await reader.candidates(objectId, VALUES)).length).toBeLessThanOrEqual(rows.size)
  }
}

function rangeAmong(sorted: readonly { readonly key: Uint8Array }[], random: SeededRandom): KeyRange {
  const bound = (): Uint8Array | undefined => {
    const key = sorted.length === 0 || random.chance(0.2) ? undefined : random.pick(sorted).key
    return key === undefined || random.chance(0.5) ? key : keyAfter(key)
  }
  const [low, high] = [bound(), bound()]
  return low !== undefined && high !== undefined && compareKeys(low, high) > 0 ? { low: high, high: low } : { low, high }
}

function isIn({ low, high }: KeyRange, key: Uint8Array): boolean {
  return (low === undefined || compareKeys(key, low) >= 0) && (high === undefined || compareKeys(key, high) < 0)
}

export const sealedIndexes: Law = {
  name: 'sealed-indexes',
  statement: 'Sealed indexes answer as a plain list does, while two processes write, merge and compact them at once',
  unit: 'checks',
  figures: { test: 1200, soak: 1_000_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      check: ({ number, random }) => onFresh(engineInTurn(places, number), (place) => checkIndexes(() => place.open(), random)),
      close: () => places.close(),
    }
  },
}

/** An index in memory with so many rows, in one run of short blocks an index. */
export async function filledIndex(rows: number) {
  const handle = indexHandle(memoryStorage(), { ...SIZES, blockBytes: 512 })
  const { storage, reader, merge } = handle
  await storage.prepare([INDEX_RUNS, INDEX_BLOCKS])
  const random = randomFor('filled index')
  const changes = new IndexChanges()
  for (let row = 1; row <= rows; row++) {
    changes.add(11, orderKey(columnTypes.STRING, `name ${random.below(1_000_000)}`), row)
    changes.add(12, orderKey(columnTypes.INTEGER, random.below(1000)), row)
  }
  await writeDelta(handle, [changes])
  await compactIndexes(merge, TABLE)
  return { handle, storage, reader, merge }
}

/** Yields the keys of a walk, row by row. */
export async function* keysOf(walk: KeyWalk): AsyncGenerator<KeyRows> {
  for (let found = await walk.next(1); found.length > 0; found = await walk.next(1)) yield* found
}
