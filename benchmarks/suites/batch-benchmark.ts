/** Benchmark: batches of 1,000 items. Mixed ones against the same statements run raw in one transaction, and inserts against one insert of as many. */
import { at } from '../../src/core/util/lists.ts'
import { openPostgresMixed } from '../baselines/postgres-mixed.ts'
import { openSqliteMixed } from '../baselines/sqlite-mixed.ts'
import { createMixedItems, type MixedItem } from '../fixtures/mixed-items.ts'
import type { Batch, Person } from '../fixtures/people.ts'
import { fill, openPostgresVault, openSqliteVault, type PeopleVault, type PersonItem } from '../fixtures/people-vaults.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { measurePair, type Variant } from '../measuring/harness.ts'
import { insertBatches } from '../measuring/measure-inserts.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'

/** A batch of inserts takes at most 1.3 of the time of one insert. */
const INSERT_TARGET = 1 / 1.3

export const batchBenchmark: Benchmark = {
  names: ['batch'],
  storages: {
    async sqlite(config) {
      const vault = await openSqliteVault(config.environments.sqliteFile())
      const baseline = openSqliteMixed(config.environments.sqliteFile())
      return measureBatches(config, vault, { storage: 'sqlite', target: 0.25, baseline })
    },
    async postgres(config) {
      const pool = config.environments.postgresPool()
      const vault = await openPostgresVault(pool, config.environments.postgresName())
      const baseline = await openPostgresMixed(pool, config.environments.postgresName())
      return measureBatches(config, vault, { storage: 'postgres', target: 0.3, baseline })
    },
  },
}

/** What a vault is compared with. */
interface Comparison {
  readonly storage: StorageName
  readonly target: number
  readonly baseline: { run(items: readonly MixedItem[]): readonly Person[] | Promise<readonly Person[]>; close(): unknown }
}

async function measureBatches(config: RunConfig, vault: PeopleVault, comparison: Comparison): Promise<Entry[]> {
  const { scale, people } = config
  const { storage, target, baseline } = comparison
  const mixed = mixedRunner(vault)
  const filling = (run: (items: readonly MixedItem[]) => unknown) => (batch: Batch) =>
    run(batch.map(({ fields }) => ({ kind: 'insert', person: fields })))
  // Both get the same records in the same order, so that positions mean the same.
  await fill(scale.rows, people.next, async (batch) => {
    await filling(mixed)(batch)
    await filling(baseline.run)(batch)
  })
  const sample: MixedItem[] = [0, scale.rows - 1].map((position) => ({ kind: 'get', position }))
  assertSame(await mixed(sample), await baseline.run(sample))
  const running = (name: string, call: (items: readonly MixedItem[]) => unknown): Variant => {
    const next = createMixedItems(config, scale.rows)
    const prepareItems = () => Array.from({ length: scale.batches }, next)
    return sequentialCalls({ name, prepareItems, call, operationsPerCall: BATCH })
  }
  const subject = { storage, rows: scale.rows }
  const entries = [
    await measurePair(
      { ...subject, benchmark: 'batch of 1,000 mixed items', target },
      { ours: running('strongroom', mixed), baseline: running('the same statements, prepared, one transaction', baseline.run) },
      scale.timing,
    ),
    await measurePair(
      { ...subject, benchmark: 'batch of 1,000 inserts', target: INSERT_TARGET },
      {
        ours: insertBatches({ name: 'strongroom', insert: (batch) => vault.batch(toInserts(batch)) }, { ...scale, ...people }),
        baseline: insertBatches({ name: 'one insert of 1,000', insert: vault.insert }, { ...scale, ...people }),
      },
      scale.timing,
    ),
  ]
  await baseline.close()
  await vault.close()
  return entries
}

function toInserts(batch: Batch): PersonItem[] {
  return batch.map(({ fields }) => ({ insert: 'people', fields, tokenization: true }))
}

/** Returns a function that runs items as one batch, and returns the records that were read. */
function mixedRunner(vault: PeopleVault): (items: readonly MixedItem[]) => Promise<readonly unknown[]> {
  const ids: string[] = []
  return async (items) => {
    const values = await vault.batch(items.map((item) => toItem(item, ids)))
    const read: unknown[] = []
    for (const [index, item] of items.entries()) {
      const { id, fields } = at(values, index)
      if (item.kind === 'insert') ids.push(id)
      if (item.kind === 'get') read.push(fields)
    }
    return read
  }
}

function toItem(item: MixedItem, ids: readonly string[]): PersonItem {
  const table = 'people'
  switch (item.kind) {
    case 'insert':
      return { insert: table, fields: item.person }
    case 'get':
      return { get: table, id: at(ids, item.position), redaction: 'PLAIN_TEXT' }
    case 'update':
      return { update: table, id: at(ids, item.position), fields: { phone: item.phone } }
    case 'delete':
      return { delete: table, id: at(ids, item.position) }
  }
}
