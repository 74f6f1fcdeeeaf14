/** The same people in a vault and in a plaintext table, for the benches that read: both answer by position. */
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import type { StorageName } from '../entries.ts'
import { dropSchema, openPostgresPlaintext } from '../floors/postgres-plaintext.ts'
import { openSqlitePlaintext } from '../floors/sqlite-plaintext.ts'
import type { Batch, Person } from '../people.ts'
import type { Scope } from '../scope.ts'
import { fillAndKeep, openVaultPair, type StoredPerson, type VaultPair } from '../vaults.ts'

/** Plaintext read by row id. */
export interface PlaintextReader {
  readonly name: string
  get(ids: readonly number[]): readonly Person[] | Promise<readonly Person[]>
  getSsn(ids: readonly number[]): readonly string[] | Promise<readonly string[]>
  /** List after list, waiting only where the driver answers later: a driver that answers at once is not charged for waiting. */
  getLists(lists: readonly (readonly number[])[]): void | Promise<void>
  getSsnLists(lists: readonly (readonly number[])[]): void | Promise<void>
  /** One row written and committed: the least that a durable record of a read can cost. */
  insertOne(person: Person): unknown
}

export interface FilledReaders {
  readonly storage: StorageName
  readonly vaults: VaultPair
  /** What the vault answered on insert; the record at position p is row p + 1 of the plaintext table. */
  readonly stored: readonly StoredPerson[]
  readonly plaintext: PlaintextReader
  close(): Promise<void>
}

/** Both stores, for each storage asked for, one after the other. */
export async function* filledReaders(scope: Scope): AsyncGenerator<FilledReaders> {
  if (scope.has('sqlite')) yield await onSqlite(scope)
  if (scope.has('postgres')) yield await onPostgres(scope)
}

async function onSqlite({ places, people, scale }: Scope): Promise<FilledReaders> {
  const vaults = await openVaultPair(sqliteStorage({ filename: places.sqliteFile() }))
  const plaintext = openSqlitePlaintext(places.sqliteFile())
  const stored = await fillBoth(scale.rows, people.next, { vault: vaults.audited, insert: plaintext.insert })
  return {
    storage: 'sqlite',
    vaults,
    stored,
    plaintext: {
      name: 'plaintext point reads',
      ...plaintext,
      getLists(lists) {
        for (const ids of lists) plaintext.get(ids)
      },
      getSsnLists(lists) {
        for (const ids of lists) plaintext.getSsn(ids)
      },
    },
    async close() {
      plaintext.close()
      await vaults.close()
    },
  }
}

async function onPostgres({ places, people, scale }: Scope): Promise<FilledReaders> {
  const pool = await places.postgresPool()
  const schema = places.postgresName()
  const vaults = await openVaultPair(postgresStorage({ pool, schema }))
  const plaintext = await openPostgresPlaintext(pool, places.postgresName())
  const stored = await fillBoth(scale.rows, people.next, { vault: vaults.audited, insert: plaintext.insert })
  return {
    storage: 'postgres',
    vaults,
    stored,
    plaintext: {
      name: 'plaintext bulk get',
      ...plaintext,
      async getLists(lists) {
        for (const ids of lists) await plaintext.get(ids)
      },
      async getSsnLists(lists) {
        for (const ids of lists) await plaintext.getSsn(ids)
      },
    },
    async close() {
      await vaults.close()
      await dropSchema(pool, schema)
      await plaintext.close()
    },
  }
}

interface Both {
  readonly vault: VaultPair['audited']
  insert(batch: Batch): unknown
}

function fillBoth(rows: number, next: (count: number) => Batch, { vault, insert }: Both): Promise<StoredPerson[]> {
  return fillAndKeep(rows, next, async (batch) => {
    await insert(batch)
    return vault.insert(batch)
  })
}

/** Calls in one timed run at most: on Postgres each waits for the network. */
const MOST_CALLS = 2000

/** Lists of random positions, enough of them for one timed run. */
export function drawPositions({ scale, people }: Scope, count: number, length: number): number[][] {
  const lists = Math.min(MOST_CALLS, Math.max(1, Math.ceil(scale.reads / length)))
  return Array.from({ length: lists }, () => Array.from({ length }, () => people.below(count)))
}

/** Throws unless both sides read the same: a benchmark of wrong answers is worth nothing. */
export function assertSame(ours: unknown, floor: unknown): void {
  const [left, right] = [JSON.stringify(ours), JSON.stringify(floor)]
  if (left !== right) throw new Error('ours and the floor read different values; the benchmark would compare nothing')
}
