/** Benchmark: inserts of one record per call by 64 concurrent callers. Each waits until its record is durable. */
import { openPostgresPlaintext } from '../baselines/postgres-plaintext.ts'
import { openSqlitePlaintext } from '../baselines/sqlite-plaintext.ts'
import type { Person } from '../fixtures/people.ts'
import { openPostgresVault, openSqliteVault, type PeopleVault } from '../fixtures/people-vaults.ts'
import { measurePair } from '../measuring/harness.ts'
import { CALLERS, runConcurrently } from '../measuring/run-concurrently.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

export const insertConcurrentBenchmark: Benchmark = {
  names: ['insert-concurrent'],
  storages: { sqlite: measureOnSqlite, postgres: measureOnPostgres },
  quick: { postgres: measureOnPostgres },
}

async function measureOnSqlite(config: RunConfig): Promise<Entry[]> {
  const vault = await openSqliteVault(config.environments.sqliteFile())
  const { insertOne, close } = openSqlitePlaintext(config.environments.sqliteFile())
  const baseline = { name: 'the driver, one commit each', insertOne }
  const entry = await measureCallers(config, { storage: 'sqlite', target: 2 }, { vault, baseline })
  await vault.close()
  close()
  return [entry]
}

async function measureOnPostgres(config: RunConfig): Promise<Entry[]> {
  const { environments } = config
  const [ourPool, baselinePool] = [environments.postgresPool(), environments.postgresPool()]
  const vault = await openPostgresVault(ourPool, environments.postgresName())
  const { insertOne, close } = await openPostgresPlaintext(baselinePool, environments.postgresName())
  const baseline = { name: 'the driver on an equal pool', insertOne }
  const entry = await measureCallers(config, { storage: 'postgres', target: 0.85 }, { vault, baseline })
  await vault.close()
  await close()
  return [entry]
}

interface Goal {
  readonly storage: StorageName
  readonly target: number
}

interface Stores {
  readonly vault: PeopleVault
  readonly baseline: { readonly name: string; insertOne(person: Person): unknown }
}

function measureCallers({ scale, people }: RunConfig, goal: Goal, { vault, baseline }: Stores): Promise<Entry> {
  const batchesOfOne = () => Array.from({ length: scale.insertsPerCaller }, () => people.next(1))
  const pair = {
    ours: runConcurrently({ name: 'strongroom', prepareItems: batchesOfOne, call: vault.insert }),
    baseline: runConcurrently({
      name: baseline.name,
      prepareItems: () => people.next(scale.insertsPerCaller),
      call: ({ fields }) => baseline.insertOne(fields),
    }),
  }
  return measurePair({ benchmark: `insert one, ${CALLERS} callers`, rows: 0, ...goal }, pair, scale.timing)
}
