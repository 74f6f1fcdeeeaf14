/** Bench: inserts one by one by 64 callers at once, each waiting until its record is safe on disk. */
import type { StorageName } from '../entries.ts'
import { openPostgresPlaintext } from '../floors/postgres-plaintext.ts'
import { openSqlitePlaintext } from '../floors/sqlite-plaintext.ts'
import { compare, measure } from '../harness.ts'
import type { Batch, Person } from '../people.ts'
import type { Bench, Scope } from '../scope.ts'
import { openPostgresVault, openSqliteVault, type PeopleVault } from '../vaults.ts'
import { CALLERS, callersAtOnce } from './callers.ts'

export const insertConcurrentBench: Bench = {
  names: ['insert-concurrent'],
  async run(scope) {
    const onSqlite = scope.has('sqlite') ? [await onSqliteFile(scope)] : []
    const onPostgres = scope.has('postgres') ? [await onPostgresServer(scope)] : []
    return [...onSqlite, ...onPostgres]
  },
}

async function onSqliteFile(scope: Scope) {
  const vault = await openSqliteVault(scope.places.sqliteFile())
  const plaintext = openSqlitePlaintext(scope.places.sqliteFile())
  const floor = { name: 'the driver, a commit each', insertOne: plaintext.insertOne }
  const entry = await measureCallers(scope, vault, floor, { storage: 'sqlite', target: 2 })
  await vault.close()
  plaintext.close()
  return entry
}

async function onPostgresServer(scope: Scope) {
  const { places } = scope
  const [ourPool, floorPool] = [await places.postgresPool(), await places.postgresPool()]
  const vault = await openPostgresVault(ourPool, places.postgresName())
  const plaintext = await openPostgresPlaintext(floorPool, places.postgresName())
  const floor = { name: 'the driver on an equal pool', insertOne: plaintext.insertOne }
  const entry = await measureCallers(scope, vault, floor, { storage: 'postgres', target: 0.8 })
  await vault.close()
  await plaintext.close()
  return entry
}

interface OneByOne {
  readonly name: string
  insertOne(person: Person): void | Promise<void>
}

interface Goal {
  readonly storage: StorageName
  readonly target: number
}

async function measureCallers(scope: Scope, vault: PeopleVault, floor: OneByOne, { storage, target }: Goal) {
  const { scale, people } = scope
  const hand = (): readonly Batch[] => Array.from({ length: scale.insertsPerCaller }, () => people.next(1))
  const ours = callersAtOnce({ name: 'strongroom', hand, call: vault.insert })
  const theirs = callersAtOnce({
    name: floor.name,
    hand,
    call: ([record]: Batch) => (record === undefined ? undefined : floor.insertOne(record.fields)),
  })
  const [us, them] = await measure([ours, theirs], scale.timing)
  return compare({ bench: `insert one, ${CALLERS} callers`, storage, rows: 0, target }, us, them)
}
