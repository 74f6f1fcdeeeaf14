/** The versions of the records that a transaction has read: a change of one that others changed since is refused, so no update is lost. */
import { type Fault, fault } from '../errors.ts'
import type { ColumnPage, Filter, Page, Patch, Row, Scans, Storage } from '../ports/storage.ts'
import type { Layout } from '../schema/layout.ts'
import { required } from '../util/lists.ts'
import { toSlab } from '../util/memory.ts'

/** One operation inside a transaction, as storage sees it. */
export interface OperationReads {
  /** Reads and writes as the storage of the transaction does. Throws `aborted` for a change of a record that moved since an earlier operation read it. */
  readonly storage: Storage
  /** Called when the operation has succeeded: later operations of the transaction build on what it read. */
  keep(): void
}

/** Returns the reads of one more operation of a transaction. */
export type BeginReads = () => OperationReads

/** Returns what begins the operations of a transaction on this storage. */
export type TrackReads = (storage: Storage) => BeginReads

/** Versions of rows by physical table and id: 30 to 45 bytes a row. */
type Versions = Map<string, Map<number, number>>

/** Rows that are read at once to learn their versions. */
const PAGE_SIZE = 4096

/** The bytes of a null. */
const EMPTY = new Uint8Array(0)

/**
 * Returns what tracks the reads of transactions. Undefined for an engine with one writer at a time: no other writer commits while a transaction
 * of it is open. Outside transactions nothing is tracked. Source: docs/transactions.md.
 */
export function trackReads(
  { transactions }: Pick<Storage, 'transactions'>,
  { tables }: Pick<Layout, 'tables'>,
): TrackReads | undefined {
  if (transactions === 'serial') return undefined
  const names = new Map([...tables.values()].map(({ name, physical }) => [physical.name, name]))
  return (storage) => {
    const transaction = new Level()
    return () => {
      const level = new Level(transaction)
      return { storage: trackedStorage(storage, names, level), keep: () => level.keep() }
    }
  }
}

/**
 * What a transaction has read and written, or one operation of it, or a savepoint of that. What an operation or a savepoint did counts for what
 * is around it when it succeeds.
 */
class Level {
  /** What is around it; undefined for the transaction. */
  readonly #parent: Level | undefined
  readonly #transaction: Level
  /** The version of each row that was read, as it was read first: of a join or of a batch, the caller can have either. */
  readonly #read: Versions = new Map()
  /** The rows that were written. The transaction has their locks, so no other writer moves them. */
  readonly #written = new Map<string, Set<number>>()

  constructor(parent?: Level) {
    this.#parent = parent
    this.#transaction = parent === undefined ? this : parent.#transaction
  }

  noteRead(table: string, rows: readonly (Row | undefined)[]): void {
    const versions = entryOf(this.#read, table, () => new Map<number, number>())
    for (const row of rows) if (row !== undefined) this.#noteVersion(table, versions, row)
  }

  noteWritten(table: string, ids: Iterable<number>): void {
    const written = entryOf(this.#written, table, () => new Set<number>())
    const versions = this.#read.get(table)
    for (const id of ids) {
      written.add(id)
      versions?.delete(id)
    }
  }

  /** The version that an earlier operation has read; undefined for a row that none has read, or that the transaction has written. */
  expected(table: string, id: number): number | undefined {
    const version = this.#transaction.#read.get(table)?.get(id)
    return version === undefined || this.wrote(table, id) ? undefined : version
  }

  /** True if the row was written here, or by what is around it. */
  wrote(table: string, id: number): boolean {
    return this.#written.get(table)?.has(id) === true || this.#parent?.wrote(table, id) === true
  }

  /** Called when an operation or a savepoint has succeeded: what is around it has read and written the same. */
  keep(): void {
    const parent = required(this.#parent, 'What is around an operation')
    for (const [table, ids] of this.#written) parent.noteWritten(table, ids)
    for (const [table, versions] of this.#read) {
      const kept = entryOf(parent.#read, table, () => new Map<number, number>())
      // Operations side by side: another one can have written the row since this one has read it.
      for (const [id, version] of versions) parent.#noteVersion(table, kept, { id, version })
    }
  }

  #noteVersion(table: string, versions: Map<number, number>, { id, version }: Pick<Row, 'id' | 'version'>): void {
    if (!versions.has(id) && !this.wrote(table, id)) versions.set(id, version)
  }
}

function entryOf<T>(map: Map<string, T>, name: string, make: () => T): T {
  const found = map.get(name)
  if (found !== undefined) return found
  const made = make()
  map.set(name, made)
  return made
}

/** The names of the tables of records, by their physical names. */
type RecordTables = ReadonlyMap<string, string>

/** Returns the storage with the reads and writes of records noted. */
function trackedStorage(storage: Storage, names: RecordTables, level: Level): Storage {
  /** Reads rows, and notes those of records. */
  async function noted<R extends Row | undefined>(table: string, reading: Promise<readonly R[]>): Promise<readonly R[]> {
    const rows = await reading
    if (names.has(table)) level.noteRead(table, rows)
    return rows
  }
  const find: Storage['find'] = (table, filter, page) => noted(table, storage.find(table, filter, page))
  return {
    ...trackedReads(storage, names, find),
    transactions: storage.transactions,
    get: (table, ids) => noted(table, storage.get(table, ids)),
    find,
    prepare: (tables, options) => storage.prepare(tables, options),
    drop: (targets, options) => storage.drop(targets, options),
    insert: (table, rows) => storage.insert(table, rows),
    async update(table, patches) {
      const isMoved = ({ id, version }: Patch): boolean => (level.expected(table, id) ?? version) !== version
      if (patches.some(isMoved)) throw moved(names, table)
      const applied = await storage.update(table, patches)
      const written = patches.flatMap(({ id }, index) => (applied[index] === true ? [id] : []))
      if (names.has(table)) level.noteWritten(table, written)
      return applied
    },
    async delete(table, target) {
      // A whole table is deleted by ids first: what a filter finds afterwards was inserted meanwhile.
      if ('ids' in target) await lockUnmoved(storage, names, { level, table, ids: target.ids })
      const deleted = await storage.delete(table, target)
      if (names.has(table)) level.noteWritten(table, deleted)
      return deleted
    },
    commit: (changes, options) => storage.commit(changes, options),
    lock: (target) => storage.lock(target),
    async transaction(work, options) {
      const child = new Level(level)
      const result = await storage.transaction((inner) => work(trackedStorage(inner, names, child)), options)
      child.keep()
      return result
    },
  }
}

/** Returns the reads that give no versions by themselves. Those of records read them too. */
function trackedReads(
  storage: Storage,
  names: RecordTables,
  find: Storage['find'],
): Pick<Storage, 'reserveIds' | 'scan' | 'aggregate'> {
  /** Returns a part of a column, with its rows. */
  async function read(table: string, filter: Filter, { column, limit, after }: ColumnPage): Promise<readonly Row[]> {
    return find(table, filter, { order: 'asc', limit, columns: [column], ...(after === undefined ? {} : { after }) })
  }
  const scans: Scans = {
    async column(table, filter, page) {
      const rows = await read(table, filter, page)
      return { cells: rows.map((row) => row[page.column] ?? null), next: nextOf(rows, page) }
    },
    async bytes(table, filter, page) {
      const rows = await read(table, filter, page)
      const cells = toSlab(rows.map(({ [page.column]: cell }) => (cell instanceof Uint8Array ? cell : EMPTY)))
      return { ids: rows.map(({ id }) => id), cells, next: nextOf(rows, page) }
    },
  }
  return {
    reserveIds: (table, count) => storage.reserveIds(table, count),
    scan: (table, filter, page) =>
      names.has(table) ? scans[page.shape](table, filter, page) : storage.scan(table, filter, page),
    async aggregate(table, filter, aggregates) {
      // A count returns no value of a row.
      const readsValues = names.has(table) && aggregates.some(({ kind }) => kind !== 'count')
      for (let after: number | undefined = 0; readsValues && after !== undefined; ) {
        const page: Page = { order: 'asc', after, limit: PAGE_SIZE, columns: [] }
        after = nextOf(await find(table, filter, page), page)
      }
      return storage.aggregate(table, filter, aggregates)
    },
  }
}

/** The id after which the next page begins; undefined after the last. */
function nextOf(rows: readonly Row[], { limit }: Pick<Page, 'limit'>): number | undefined {
  return rows.length < limit ? undefined : rows.at(-1)?.id
}

/** Locks those of the rows that an earlier operation has read: an empty patch raises their versions. Throws `aborted` if one has moved. One that is gone is passed over. */
async function lockUnmoved(
  storage: Storage,
  names: RecordTables,
  { level, table, ids }: { readonly level: Level; readonly table: string; readonly ids: readonly number[] },
): Promise<void> {
  const patches = ids.flatMap((id) => {
    const version = level.expected(table, id)
    return version === undefined ? [] : [{ id, version, set: {} }]
  })
  if (patches.length === 0) return
  const applied = await storage.update(table, patches)
  const others = patches.flatMap(({ id }, index) => (applied[index] === true ? [] : [id]))
  if (others.length > 0 && (await storage.get(table, others)).some((row) => row !== undefined)) throw moved(names, table)
}

function moved(names: RecordTables, table: string): Fault {
  const name = names.get(table) ?? table
  return fault('aborted', {
    table: name,
  })`A record of table ${name} was changed by others after this transaction had read it. Run the transaction again.`
}
