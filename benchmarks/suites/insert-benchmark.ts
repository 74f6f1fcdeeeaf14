/** Benchmark: inserts of 1,000 records per batch, five of six columns tokenized, none unique, and growth of the table. */
import { openPostgresPlaintext } from '../baselines/postgres-plaintext.ts'
import { openSqlitePlaintext } from '../baselines/sqlite-plaintext.ts'
import { fill, openPostgresVault, openSqliteVault } from '../fixtures/people-vaults.ts'
import { type FilledPair, measureInserts } from '../measuring/measure-inserts.ts'
import type { Entry } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

export const insertBenchmark: Benchmark = {
  names: ['insert'],
  storages: {
    sqlite: (config) => measureOn(config, 'sqlite', { target: 0.35, fillPair: fillSqlite }),
    postgres: (config) => measureOn(config, 'postgres', { target: 0.5, fillPair: fillPostgres }),
  },
}

interface StoragePlan {
  readonly target: number
  fillPair(config: RunConfig, rows: number): Promise<FilledPair>
}

function measureOn(config: RunConfig, storage: 'sqlite' | 'postgres', { target, fillPair }: StoragePlan): Promise<Entry[]> {
  const { scale, people } = config
  return measureInserts({
    subject: { benchmark: 'insert 1,000', storage, target },
    growth: { benchmark: 'growth of insert', target: 0.8 },
    timing: scale.timing,
    sizes: scale.sizes[storage],
    batches: scale.batches,
    next: people.next,
    fillPair: (rows) => fillPair(config, rows),
  })
}

async function fillSqlite({ environments, people }: RunConfig, rows: number): Promise<FilledPair> {
  const baselineFile = environments.sqliteFile()
  const vault = await openSqliteVault(environments.sqliteFile())
  await fill(rows, people.next, vault.insert)
  const filling = openSqlitePlaintext(baselineFile, 'filling')
  await fill(rows, people.next, filling.insert)
  filling.close()
  const plaintext = openSqlitePlaintext(baselineFile)
  return { ours: { name: 'strongroom', ...vault }, baseline: { name: 'plaintext, rowid, prepared', ...plaintext } }
}

async function fillPostgres({ environments, people }: RunConfig, rows: number): Promise<FilledPair> {
  const pool = environments.postgresPool()
  const vault = await openPostgresVault(pool, environments.postgresName())
  const plaintext = await openPostgresPlaintext(pool, environments.postgresName())
  await fill(rows, people.next, vault.insert)
  await fill(rows, people.next, plaintext.insert)
  return { ours: { name: 'strongroom', ...vault }, baseline: { name: 'plaintext, VALUES, prepared', ...plaintext } }
}
