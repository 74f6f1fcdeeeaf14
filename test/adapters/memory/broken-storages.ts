/** Storages broken on purpose, one fault each: which the conformance suite and the storages-agree property test must detect. */

import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { isVaultError, VaultError } from '../../../src/core/errors.ts'
import type { Cell, Filter, NewRow, Row, Scans, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { copyToSlab, slabItem } from '../../../src/core/util/memory.ts'
import { scansOf, scanWith } from '../../support/storages/whole-column.ts'

/** Returns the faulty methods over a correct storage. */
type Fault = (storage: Storage) => Partial<Storage>

const mapRow = (row: Row | undefined, change: (cell: Cell) => Cell): Row | undefined =>
  row === undefined
    ? undefined
    : Object.assign({ ...row }, Object.fromEntries(Object.entries(row).map(([k, v]) => [k, change(v)])))

const bytesOf = (rows: readonly NewRow[]): Uint8Array<ArrayBuffer>[] =>
  rows.flatMap((row) => Object.values(row)).filter((cell) => cell instanceof Uint8Array) as Uint8Array<ArrayBuffer>[]

/** A fault in the scans. */
function rescanned(change: (scans: Scans) => Partial<Scans>): Fault {
  return (storage) => {
    const scans = scansOf(storage)
    return scanWith({ ...scans, ...change(scans) })
  }
}

const SAID = { what: 'memory', text: 'Memory.' }

/** Faults that adapters are known to have. */
export const FAULTS = {
  'get loses the order asked': (storage) => ({
    get: async (table, ids) => {
      const rows = await storage.get(table, ids)
      return rows.toSorted((left, right) => (left?.id ?? 0) - (right?.id ?? 0))
    },
  }),
  'an insert that fails keeps its first rows': (storage) => ({
    insert: async (table, rows) => {
      for (const row of rows) await storage.insert(table, [row])
    },
  }),
  'bytes come out as Buffer': (storage) => ({
    get: async (table, ids) =>
      (await storage.get(table, ids)).map((row) =>
        mapRow(row, (cell) => (cell instanceof Uint8Array ? Buffer.from(cell) : cell)),
      ),
  }),
  'the memory of bytes that are inserted is transferred': (storage) => ({
    insert: async (table, rows) => {
      await storage.insert(table, rows)
      for (const bytes of bytesOf(rows)) if (bytes.length > 0) bytes.buffer.transfer()
    },
  }),
  'bytes that are inserted are wiped afterwards': (storage) => ({
    insert: async (table, rows) => {
      await storage.insert(table, rows)
      for (const bytes of bytesOf(rows)) bytes.fill(0)
    },
  }),
  'patches forget to compare the version': (storage) => ({
    update: (table, patches) =>
      storage.transaction(async (inner) => {
        const rows = await inner.get(
          table,
          patches.map((patch) => patch.id),
        )
        return inner.update(
          table,
          patches.map((patch, at) => ({ ...patch, version: rows[at]?.version ?? patch.version })),
        )
      }),
  }),
  'patches forget to compare the expected cells': (storage) => ({
    update: (table, patches) =>
      storage.update(
        table,
        patches.map(({ id, version, set }) => ({ id, version, set })),
      ),
  }),
  'a commit keeps what it inserted before a patch missed': (storage) => ({
    async commit({ inserts, updates }) {
      for (const { table, rows } of inserts) await storage.insert(table, rows)
      return storage.commit({ inserts: [], updates })
    },
  }),
  'NUL is dropped from text': (storage) => ({
    insert: (table, rows) =>
      storage.insert(
        table,
        rows.map((row) =>
          Object.assign(
            { ...row },
            Object.fromEntries(Object.entries(row).map(([k, v]) => [k, typeof v === 'string' ? v.replaceAll('\0', '') : v])),
          ),
        ),
      ),
  }),
  'a conflict does not name its columns': (storage) => ({
    insert: (table, rows) =>
      storage.insert(table, rows).catch((error: unknown) => {
        throw isVaultError(error, 'conflict') ? new VaultError('conflict', 'duplicate') : error
      }),
  }),
  'a transaction rolls nothing back': (storage) => ({ transaction: (work) => work(storage) }),
  'an error is wrapped on its way out of a transaction': (storage) => ({
    transaction: (work) =>
      storage.transaction(work).catch((error: unknown) => {
        throw new VaultError('internal', `rolled back: ${String(error)}`)
      }),
  }),
  'big integers pass through floating point': (storage) => ({
    find: async (table, filter, page) =>
      (await storage.find(table, filter, page)).flatMap(
        (row) => mapRow(row, (cell) => (typeof cell === 'bigint' ? Number(cell) : cell)) ?? [],
      ),
    get: async (table, ids) =>
      (await storage.get(table, ids)).map((row) => mapRow(row, (cell) => (typeof cell === 'bigint' ? Number(cell) : cell))),
  }),
  'not forgets the unknown': (storage) => ({
    find: (table, filter, page) => storage.find(table, twoValued(filter), page),
  }),
  'a descending page ignores its start': (storage) => ({
    find: (table, filter, { after, ...page }) =>
      storage.find(table, filter, page.order === 'asc' && after !== undefined ? { ...page, after } : page),
  }),
  'a column ends with its first part': rescanned(({ column }) => ({
    column: async (table, filter, page) => ({ ...(await column(table, filter, page)), next: undefined }),
  })),
  'a column leaves out its nulls': rescanned(({ column }) => ({
    async column(table, filter, page) {
      const { cells, next } = await column(table, filter, page)
      return { cells: cells.filter((cell) => cell !== null), next }
    },
  })),
  'a column of bytes ends with its first part': rescanned(({ bytes }) => ({
    bytes: async (table, filter, page) => ({ ...(await bytes(table, filter, page)), next: undefined }),
  })),
  'a column of bytes leaves out its nulls': rescanned(({ bytes }) => ({
    async bytes(table, filter, page) {
      const part = await bytes(table, filter, page)
      const kept = part.ids.flatMap((id, index) => (slabItem(part.cells, index).length > 0 ? [{ id, index }] : []))
      return { ...part, ids: kept.map(({ id }) => id), cells: copyToSlab(kept.map(({ index }) => slabItem(part.cells, index))) }
    },
  })),
  'a column of bytes has those of the row before': rescanned(({ bytes }) => ({
    async bytes(table, filter, page) {
      const part = await bytes(table, filter, page)
      const cells = part.ids.map((_, index) => slabItem(part.cells, Math.max(0, index - 1)))
      return { ...part, cells: copyToSlab(cells) }
    },
  })),
  'a read with changes stores them without its row': (storage) => ({
    async commit(changes, { read } = {}) {
      const stored = await storage.commit(changes)
      return read === undefined || stored === false ? stored : (await storage.get(read.table, [read.id]))[0]
    },
  }),
  'sums are cut to 64 bits': (storage) => ({
    aggregate: async (table, filter, aggregates) =>
      (await storage.aggregate(table, filter, aggregates)).map((cell) =>
        typeof cell === 'bigint' ? BigInt.asIntN(64, cell) : cell,
      ),
  }),
  'a lock is refused': () => ({ lock: async () => false }),
  'it does not say how its transactions run': () => ({ transactions: undefined as never }),
  'a page has columns that were not asked for': (storage) => ({
    find: (table, filter, { columns: _, ...page }) => storage.find(table, filter, page),
  }),
  'nothing is dropped': () => ({ drop: async () => {} }),
  'a dropped column takes its whole table with it': (storage) => ({
    drop: (targets) =>
      storage.drop(targets.map((each) => (each.kind === 'columns' ? { kind: 'tables', tables: [each.table] } : each))),
  }),
  'a drop ends at what is missing': (storage) => ({
    drop: async (targets) => {
      for (const target of targets) if (target.kind !== 'tables') await storage.get(target.table, [])
      await storage.drop(targets)
    },
  }),
  'an index that is built beside writers is not unique': (storage) => ({
    prepare: (tables, options) =>
      storage.prepare(
        options?.besideWriters === true
          ? tables.map((table) => ({ ...table, indexes: table.indexes.map((index) => ({ ...index, unique: false })) }))
          : tables,
      ),
  }),
} as const satisfies Record<string, Fault>

/** Faults of the methods that a handle alone has. */
const HANDLE_FAULTS = {
  'a snapshot reads the newest state': (handle) => ({
    snapshot: (work) =>
      handle.snapshot(({ tables }) => work({ tables, get: handle.get, find: handle.find, aggregate: handle.aggregate })),
  }),
  'a snapshot lists no columns': (handle) => ({
    snapshot: (work) =>
      handle.snapshot((all) => work({ ...all, tables: all.tables.map((table) => ({ ...table, columns: [] })) })),
  }),
  'times of a snapshot are doubles': (handle) => ({
    snapshot: (work) =>
      handle.snapshot((all) =>
        work({
          ...all,
          find: async (...page) =>
            (await all.find(...page)).flatMap(
              (row) => mapRow(row, (cell) => (typeof cell === 'bigint' ? Number(cell) : cell)) ?? [],
            ),
        }),
      ),
  }),
  'a counter is the highest id of the rows': (handle) => ({
    snapshot: (work) =>
      handle.snapshot(async (all) => {
        const tables = all.tables.map(async (table) => {
          const [last] = await all.find(table.name, { kind: 'all' }, { order: 'desc', limit: 1, columns: [] })
          return { ...table, nextId: (last?.id ?? 0) + 1 }
        })
        return work({ ...all, tables: await Promise.all(tables) })
      }),
  }),
  'a purge goes on inside a transaction': () => ({ purgeDisk: async () => ({ done: [], remains: [SAID] }) }),
  'a purge deletes rows': (handle) => ({
    purgeDisk: async () => {
      await handle.delete('things', { ids: [45] })
      return { done: [], remains: [SAID] }
    },
  }),
  'a step of a purge cannot end it': () => ({
    purgeDisk: async ({ onStep }) => {
      await onStep({ done: 1, total: 1 }).catch(() => {})
      return { done: [], remains: [SAID] }
    },
  }),
  'no counter is raised': () => ({ raiseIds: async () => {} }),
  'an error of a snapshot is wrapped': (handle) => ({
    snapshot: (work) =>
      handle.snapshot(work).catch((error: unknown) => {
        throw new Error('failed', { cause: error })
      }),
  }),
} as const satisfies Record<string, (handle: StorageHandle) => Partial<StorageHandle>>

export type FaultName = keyof typeof FAULTS | keyof typeof HANDLE_FAULTS

/** Turns `not (a = 1)` into `a <> 1 or a is null`. */
function twoValued(filter: Filter): Filter {
  if (filter.kind === 'and' || filter.kind === 'or') return { ...filter, filters: filter.filters.map(twoValued) }
  if (filter.kind !== 'not') return filter
  const inner = filter.filter
  if (inner.kind !== 'compare' && inner.kind !== 'in') return filter
  return { kind: 'or', filters: [filter, { kind: 'isNull', column: inner.column }] }
}

/** An empty memory storage with one fault, inside its transactions too. */
export function brokenStorage(name: FaultName): StorageHandle {
  const handle = memoryStorage()
  if (isOfHandle(name)) return { ...handle, ...HANDLE_FAULTS[name](handle) }
  return { ...handle, ...broken(handle, FAULTS[name]) }
}

function isOfHandle(name: FaultName): name is keyof typeof HANDLE_FAULTS {
  return name in HANDLE_FAULTS
}

function broken(storage: Storage, fault: Fault): Storage {
  const nested: Storage = {
    ...storage,
    transaction: (work) => storage.transaction((inner) => work(broken(inner, fault))),
  }
  return { ...nested, ...fault(storage) }
}
