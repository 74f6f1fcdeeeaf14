/** Bench: the same inserts with one unique column, against plaintext as users have it: UUID keys and a unique text column. */
import { openPostgresUuidUnique } from '../floors/postgres-uuid-unique.ts'
import { openSqliteUuidUnique } from '../floors/sqlite-uuid-unique.ts'
import type { Bench, Scope } from '../scope.ts'
import { fill, openPostgresVault, openSqliteVault } from '../vaults.ts'
import { type FilledPair, measureInserts } from './insert-batches.ts'

export const insertUniqueBench: Bench = {
  names: ['insert-unique'],
  async run(scope) {
    const plan = { bench: 'insert 1,000, one unique', next: scope.people.nextUnique }
    const onSqlite = scope.has('sqlite')
      ? await measureInserts(
          scope,
          { ...plan, storage: 'sqlite', target: 1.5, fillPair: (rows) => fillSqlite(scope, rows) },
          scope.scale.sizes.sqlite,
        )
      : []
    const onPostgres = scope.has('postgres')
      ? await measureInserts(
          scope,
          { ...plan, storage: 'postgres', target: 1.1, fillPair: (rows) => fillPostgres(scope, rows) },
          scope.scale.sizes.postgres,
        )
      : []
    return [...onSqlite, ...onPostgres]
  },
}

const FLOOR = 'plaintext, uuid key, unique'

async function fillSqlite({ places, people }: Scope, rows: number): Promise<FilledPair> {
  const [ourFile, floorFile] = [places.sqliteFile(), places.sqliteFile()]
  const vault = await openSqliteVault(ourFile, { unique: true })
  await fill(rows, people.nextUnique, vault.insert)
  const filling = openSqliteUuidUnique(floorFile, 'filling')
  await fill(rows, people.nextUnique, filling.insert)
  filling.close()
  return { rows, ours: { name: 'strongroom', ...vault }, floor: { name: FLOOR, ...openSqliteUuidUnique(floorFile) } }
}

async function fillPostgres({ places, people }: Scope, rows: number): Promise<FilledPair> {
  const pool = await places.postgresPool()
  const vault = await openPostgresVault(pool, places.postgresName(), { unique: true })
  const plaintext = await openPostgresUuidUnique(pool, places.postgresName())
  await fill(rows, people.nextUnique, vault.insert)
  await fill(rows, people.nextUnique, plaintext.insert)
  return { rows, ours: { name: 'strongroom', ...vault }, floor: { name: FLOOR, ...plaintext } }
}
