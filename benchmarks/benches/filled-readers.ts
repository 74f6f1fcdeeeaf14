/** The same people in a vault and in a plaintext table, for the benches that read: both answer by position. */
import type pg from 'pg'
import type { StorageName } from '../entries.ts'
import { openPostgresPlaintext } from '../floors/postgres-plaintext.ts'
import { openSqlitePlaintext } from '../floors/sqlite-plaintext.ts'
import type { Variant } from '../harness.ts'
import type { Batch, Person } from '../people.ts'
import type { Scope } from '../scope.ts'
import { fillAndKeep, openPostgresVault, openSqliteVault, type PeopleVault, type StoredPerson } from '../vaults.ts'

/** Plaintext read by row id. */
export interface PlaintextReader {
  readonly name: string
  get(ids: readonly number[]): readonly Person[] | Promise<readonly Person[]>
  getSsn(ids: readonly number[]): readonly string[] | Promise<readonly string[]>
  /** List after list, waiting only where the driver answers later: a driver that answers at once is not charged for waiting. */
  getLists(lists: readonly (readonly number[])[]): void | Promise<void>
  getSsnLists(lists: readonly (readonly number[])[]): void | Promise<void>
}

export interface FilledReaders {
  readonly storage: StorageName
  readonly vault: PeopleVault
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
  const vault = await openSqliteVault(places.sqliteFile())
  const plaintext = openSqlitePlaintext(places.sqliteFile())
  const stored = await fillBoth(scale.rows, people.next, { vault, insert: plaintext.insert })
  return {
    storage: 'sqlite',
    vault,
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
      await vault.close()
    },
  }
}

async function onPostgres({ places, people, scale }: Scope): Promise<FilledReaders> {
  const pool: pg.Pool = await places.postgresPool()
  const vault = await openPostgresVault(pool, places.postgresName())
  const plaintext = await openPostgresPlaintext(pool, places.postgresName())
  const stored = await fillBoth(scale.rows, people.next, { vault, insert: plaintext.insert })
  return {
    storage: 'postgres',
    vault,
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
      await vault.close()
      await plaintext.close()
    },
  }
}

interface Both {
  readonly vault: PeopleVault
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

/** Reads of the plaintext table, as many and as long as the vault's. */
export function plainReads(
  scope: Scope,
  { plaintext, stored }: FilledReaders,
  { length, read }: { readonly length: number; readonly read: (lists: readonly (readonly number[])[]) => void | Promise<void> },
): Variant {
  let lists: number[][] = []
  return {
    name: plaintext.name,
    prepare() {
      lists = drawPositions(scope, stored.length, length).map((list) => list.map((position) => position + 1))
    },
    run() {
      const answer = read(lists)
      const done = lists.length * length
      return answer === undefined ? done : answer.then(() => done)
    },
  }
}

/** Throws unless both sides read the same: a benchmark of wrong answers is worth nothing. */
export function assertSame(ours: unknown, floor: unknown): void {
  const [left, right] = [JSON.stringify(ours), JSON.stringify(floor)]
  if (left !== right) throw new Error('ours and the floor read different values; the benchmark would compare nothing')
}
