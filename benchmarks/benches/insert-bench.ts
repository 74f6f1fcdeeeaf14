/** Bench: inserts of 1,000 a batch, five of six columns tokenized, none unique, and how the rate holds as the table grows. */
import { openPostgresPlaintext } from '../floors/postgres-plaintext.ts'
import { openSqlitePlaintext } from '../floors/sqlite-plaintext.ts'
import type { Bench, Scope } from '../scope.ts'
import { fill, openPostgresVault, openSqliteVault } from '../vaults.ts'
import { type FilledPair, measureInserts } from './insert-batches.ts'

export const insertBench: Bench = {
  names: ['insert', 'growth'],
  async run(scope) {
    const plan = { bench: 'insert 1,000', growthTarget: 0.8, next: scope.people.next }
    const onSqlite = scope.has('sqlite')
      ? await measureInserts(
          scope,
          { ...plan, storage: 'sqlite', target: 0.35, fillPair: (rows) => fillSqlite(scope, rows) },
          scope.scale.sizes.sqlite,
        )
      : []
    const onPostgres = scope.has('postgres')
      ? await measureInserts(
          scope,
          { ...plan, storage: 'postgres', target: 0.5, fillPair: (rows) => fillPostgres(scope, rows) },
          scope.scale.sizes.postgres,
        )
      : []
    return [...onSqlite, ...onPostgres]
  },
}

async function fillSqlite({ places, people }: Scope, rows: number): Promise<FilledPair> {
  const [ourFile, floorFile] = [places.sqliteFile(), places.sqliteFile()]
  const vault = await openSqliteVault(ourFile)
  await fill(rows, people.next, vault.insert)
  const filling = openSqlitePlaintext(floorFile, 'filling')
  await fill(rows, people.next, filling.insert)
  filling.close()
  const plaintext = openSqlitePlaintext(floorFile)
  return { rows, ours: { name: 'strongroom', ...vault }, floor: { name: 'plaintext, rowid, prepared', ...plaintext } }
}

async function fillPostgres({ places, people }: Scope, rows: number): Promise<FilledPair> {
  const pool = await places.postgresPool()
  const vault = await openPostgresVault(pool, places.postgresName())
  const plaintext = await openPostgresPlaintext(pool, places.postgresName())
  await fill(rows, people.next, vault.insert)
  await fill(rows, people.next, plaintext.insert)
  return { rows, ours: { name: 'strongroom', ...vault }, floor: { name: 'plaintext, VALUES, prepared', ...plaintext } }
}
