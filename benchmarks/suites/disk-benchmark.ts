/** Benchmark: bytes on disk per record, with indexes and the system tables of the vault, against the plaintext table. */
import type pg from 'pg'
import { at } from '../../src/core/util/lists.ts'
import { bytesOnDisk } from '../baselines/open-sqlite.ts'
import { openPostgresPlaintext } from '../baselines/postgres-plaintext.ts'
import { openSqlitePlaintext } from '../baselines/sqlite-plaintext.ts'
import { fill, openPostgresVault, openSqliteVault } from '../fixtures/people-vaults.ts'
import { compareSizes } from '../measuring/compare.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

const TARGET = 1.6

export const diskBenchmark: Benchmark = {
  names: ['disk'],
  storages: { sqlite: measureSqlite, postgres: measurePostgres },
}

async function measureSqlite({ environments, people, scale: { rows } }: RunConfig): Promise<Entry[]> {
  const [ourFile, baselineFile] = [environments.sqliteFile(), environments.sqliteFile()]
  const vault = await openSqliteVault(ourFile)
  const plaintext = openSqlitePlaintext(baselineFile)
  await fill(rows, people.next, vault.insert)
  await fill(rows, people.next, plaintext.insert)
  await vault.close()
  plaintext.close()
  return [entryOf('sqlite', rows, { ours: bytesOnDisk(ourFile), baseline: bytesOnDisk(baselineFile) })]
}

async function measurePostgres({ environments, people, scale: { rows } }: RunConfig): Promise<Entry[]> {
  const pool = environments.postgresPool()
  const name = environments.postgresName()
  const vault = await openPostgresVault(pool, name)
  const plaintext = await openPostgresPlaintext(pool, environments.postgresName())
  await fill(rows, people.next, vault.insert)
  await fill(rows, people.next, plaintext.insert)
  const bytes = { ours: await bytesOfSchema(pool, name), baseline: await plaintext.bytesOnDisk() }
  await vault.close()
  await plaintext.close()
  return [entryOf('postgres', rows, bytes)]
}

/** Sizes in bytes of all rows together. */
interface Bytes {
  readonly ours: number
  readonly baseline: number
}

function entryOf(storage: StorageName, rows: number, { ours, baseline }: Bytes): Entry {
  const subject = { benchmark: 'bytes on disk', storage, rows, target: TARGET }
  const unit = 'bytes/record'
  return compareSizes(subject, { figure: ours / rows, baseline: 'plaintext table', baselineFigure: baseline / rows, unit })
}

/** Bytes of every table in a schema, with indexes. */
export async function bytesOfSchema(pool: pg.Pool, name: string): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(oid)) as bytes from pg_class where relnamespace = $1::regnamespace and relkind = 'r'`,
    [name],
  )
  return Number(at(rows, 0).bytes)
}
