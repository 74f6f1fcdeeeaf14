/** Benchmark: the vault in memory against a Map of plain objects copied through JSON. */
import { at } from '../../src/core/util/lists.ts'
import { createMemoryMap, type MemoryMap } from '../baselines/memory-map.ts'
import { fill, fillAndCollect, openMemoryVault, type PeopleVault } from '../fixtures/people-vaults.ts'
import { randomPositions } from '../measuring/check-reads.ts'
import { measurePair } from '../measuring/harness.ts'
import { insertBatches } from '../measuring/measure-inserts.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'

const TARGET = 0.15
const BASELINE = 'Map, copied through JSON'

export const memoryBenchmark: Benchmark = {
  names: ['memory'],
  storages: { memory: async (config) => [await measureInsert(config), await measureGet(config)] },
}

interface Stores {
  readonly vault: PeopleVault
  readonly map: MemoryMap
  /** Record ids of the vault. The record at position p has the key p + 1 in the map. */
  readonly ids: readonly string[]
}

async function fillStores({ scale, people }: RunConfig): Promise<Stores> {
  const vault = await openMemoryVault()
  const map = createMemoryMap()
  const stored = await fillAndCollect(scale.rows, people.next, vault.insert)
  await fill(scale.rows, people.next, map.insert)
  return { vault, map, ids: stored.map(({ id }) => id) }
}

async function measureInsert(config: RunConfig): Promise<Entry> {
  const { vault, map } = await fillStores(config)
  const drawing = { batches: config.scale.batches, next: config.people.next }
  const pair = {
    ours: insertBatches({ name: 'strongroom', insert: vault.insert }, drawing),
    baseline: insertBatches({ name: BASELINE, insert: map.insert }, drawing),
  }
  const subject = { benchmark: 'insert 1,000', storage: 'memory', rows: config.scale.rows, target: TARGET } as const
  const entry = await measurePair(subject, pair, config.scale.timing)
  await vault.close()
  return entry
}

async function measureGet(config: RunConfig): Promise<Entry> {
  const { vault, map, ids } = await fillStores(config)
  const draw = () => randomPositions(config, ids.length, BATCH)
  const pair = {
    ours: sequentialCalls({
      name: 'strongroom',
      prepareItems: () => draw().map((positions) => positions.map((position) => at(ids, position))),
      call: vault.get,
      operationsPerCall: BATCH,
    }),
    baseline: sequentialCalls({
      name: BASELINE,
      prepareItems: () => draw().map((positions) => positions.map((position) => position + 1)),
      call: map.get,
      operationsPerCall: BATCH,
    }),
  }
  const subject = { benchmark: 'get 1,000', storage: 'memory', rows: config.scale.rows, target: TARGET } as const
  const entry = await measurePair(subject, pair, config.scale.timing)
  await vault.close()
  return entry
}
