/** Benchmark: inserts into a table with two sealed indexes against one without any: batches of 1,000, 64 callers, and one after the other. */
import { openPostgresVault, openSqliteVault, type PeopleVault } from '../fixtures/people-vaults.ts'
import { measurePair, type Variant } from '../measuring/harness.ts'
import { CALLERS, runConcurrently } from '../measuring/run-concurrently.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'

export const insertIndexedBenchmark: Benchmark = {
  names: ['insert-indexed'],
  storages: {
    sqlite: (config) =>
      measureOn(config, 'sqlite', (isIndexed) => openSqliteVault(config.environments.sqliteFile(), { isIndexed })),
    postgres: (config) =>
      measureOn(config, 'postgres', (isIndexed) =>
        openPostgresVault(config.environments.postgresPool(), config.environments.postgresName(), { isIndexed }),
      ),
  },
}

/** Records of one timed run that are inserted one after the other. */
const SINGLES = 200

async function measureOn(
  { scale, people }: RunConfig,
  storage: StorageName,
  open: (isIndexed: boolean) => Promise<PeopleVault>,
): Promise<Entry[]> {
  const [indexed, without] = [await open(true), await open(false)]
  const pairOf = (variantOf: (name: string, vault: PeopleVault) => Variant) => ({
    ours: variantOf('strongroom, two sealed indexes', indexed),
    baseline: variantOf('strongroom, none', without),
  })
  const inOrder = (count: number, records: number) =>
    pairOf((name, { insert: call }) =>
      sequentialCalls({
        name,
        prepareItems: () => Array.from({ length: count }, () => people.next(records)),
        call,
        operationsPerCall: records,
      }),
    )
  const together = pairOf((name, { insert: call }) =>
    runConcurrently({ name, prepareItems: () => Array.from({ length: scale.insertsPerCaller }, () => people.next(1)), call }),
  )
  const subjectOf = (what: string) => ({ benchmark: `insert ${what}, two sealed indexes`, storage, rows: 0 })
  const entries = [
    await measurePair({ ...subjectOf('1,000'), target: 0.65 }, inOrder(scale.batches, BATCH), scale.timing),
    await measurePair({ ...subjectOf(`one, ${CALLERS} callers`), target: 0.8 }, together, scale.timing),
    await measurePair(subjectOf('one'), inOrder(SINGLES, 1), scale.timing),
  ]
  await indexed.close()
  await without.close()
  return entries
}
