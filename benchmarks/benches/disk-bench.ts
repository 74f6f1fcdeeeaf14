/** Bench: bytes a record takes on disk, indexes and the vault's own books included, against the plaintext table. */
import type pg from 'pg'
import { bytesOnDisk } from '../floors/open-sqlite.ts'
import { openPostgresPlaintext } from '../floors/postgres-plaintext.ts'
import { openSqlitePlaintext } from '../floors/sqlite-plaintext.ts'
import { compareSizes } from '../harness.ts'
import type { Bench, Scope } from '../scope.ts'
import { fill, openPostgresVault, openSqliteVault } from '../vaults.ts'

const TARGET = 1.6

export const diskBench: Bench = {
  names: ['disk'],
  async run(scope) {
    const onSqlite = scope.has('sqlite') ? [await onSqliteFile(scope)] : []
    const onPostgres = scope.has('postgres') ? [await onPostgresServer(scope)] : []
    return [...onSqlite, ...onPostgres]
  },
}

async function onSqliteFile({ places, people, scale: { rows } }: Scope) {
  const [ourFile, floorFile] = [places.sqliteFile(), places.sqliteFile()]
  const vault = await openSqliteVault(ourFile)
  const plaintext = openSqlitePlaintext(floorFile)
  await fill(rows, people.next, vault.insert)
  await fill(rows, people.next, plaintext.insert)
  await vault.close()
  plaintext.close()
  return entryOf('sqlite', rows, { ours: bytesOnDisk(ourFile), floor: bytesOnDisk(floorFile) })
}

async function onPostgresServer({ places, people, scale: { rows } }: Scope) {
  const pool = await places.postgresPool()
  const name = places.postgresName()
  const vault = await openPostgresVault(pool, name)
  const plaintext = await openPostgresPlaintext(pool, places.postgresName())
  await fill(rows, people.next, vault.insert)
  await fill(rows, people.next, plaintext.insert)
  const bytes = { ours: await bytesOfSchema(pool, name), floor: await plaintext.bytesOnDisk() }
  await vault.close()
  await plaintext.close()
  return entryOf('postgres', rows, bytes)
}

function entryOf(storage: 'sqlite' | 'postgres', rows: number, bytes: { readonly ours: number; readonly floor: number }) {
  const figures = {
    ours: bytes.ours / rows,
    floor: 'plaintext table',
    floorFigure: bytes.floor / rows,
    unit: 'bytes/record',
  } as const
  return compareSizes({ bench: 'bytes on disk', storage, rows, target: TARGET }, figures)
}

/** Everything the vault keeps, whatever its tables are called. */
async function bytesOfSchema(pool: pg.Pool, name: string): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(oid)) as bytes from pg_class where relnamespace = $1::regnamespace and relkind = 'r'`,
    [name],
  )
  return Number(rows[0]?.bytes)
}
