/** Benchmark: inserts of 1,000 records per batch with one unique column, against plaintext with UUID keys and a unique text column. */
import { openPostgresUuidUnique } from '../baselines/postgres-uuid-unique.ts'
import { openSqliteUuidUnique } from '../baselines/sqlite-uuid-unique.ts'
import { fill, openPostgresVault, openSqliteVault } from '../fixtures/people-vaults.ts'
import { type FilledPair, measureInserts } from '../measuring/measure-inserts.ts'
import type { Entry } from '../report/result-shape.ts'
import type { Benchmark, Measurement, RunConfig } from '../runner/run-config.ts'

const BASELINE = 'plaintext, uuid key, unique'

const onPostgres: Measurement = (config) => measureOn(config, { storage: 'postgres', target: 0.95, fillPair: fillPostgres })

export const insertUniqueBenchmark: Benchmark = {
  names: ['insert-unique'],
  storages: {
    sqlite: (config) => measureOn(config, { storage: 'sqlite', target: 1.2, fillPair: fillSqlite }),
    postgres: onPostgres,
  },
  quick: { postgres: onPostgres },
}

interface StoragePlan {
  readonly storage: 'sqlite' | 'postgres'
  readonly target: number
  fillPair(config: RunConfig, rows: number): Promise<FilledPair>
}

function measureOn(config: RunConfig, { storage, target, fillPair }: StoragePlan): Promise<Entry[]> {
  const { timing, batches, sizes } = config.scale
  return measureInserts({
    subject: { benchmark: 'insert 1,000, one unique', storage, target },
    timing,
    sizes: sizes[storage],
    batches,
    next: config.people.nextUnique,
    fillPair: (rows) => fillPair(config, rows),
  })
}

async function fillSqlite({ environments, people }: RunConfig, rows: number): Promise<FilledPair> {
  const baselineFile = environments.sqliteFile()
  const vault = await openSqliteVault(environments.sqliteFile(), { unique: true })
  await fill(rows, people.nextUnique, vault.insert)
  const filling = openSqliteUuidUnique(baselineFile, 'filling')
  await fill(rows, people.nextUnique, filling.insert)
  filling.close()
  return { ours: { name: 'strongroom', ...vault }, baseline: { name: BASELINE, ...openSqliteUuidUnique(baselineFile) } }
}

async function fillPostgres({ environments, people }: RunConfig, rows: number): Promise<FilledPair> {
  const pool = environments.postgresPool()
  const vault = await openPostgresVault(pool, environments.postgresName(), { unique: true })
  const plaintext = await openPostgresUuidUnique(pool, environments.postgresName())
  await fill(rows, people.nextUnique, vault.insert)
  await fill(rows, people.nextUnique, plaintext.insert)
  return { ours: { name: 'strongroom', ...vault }, baseline: { name: BASELINE, ...plaintext } }
}
