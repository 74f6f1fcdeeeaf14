/** A storage whose rows can be opened: it looks up the keys of subjects with the rows that need them, leaves out rows of forgotten people, and keeps the keys in a storage of their own if there is one. */
import type { Barrier } from '../barrier/barrier.ts'
import { fault, isVaultError } from '../errors.ts'
import type {
  BytesPart,
  Changes,
  CommitOptions,
  DeleteTarget,
  NewRow,
  Row,
  ScanPage,
  ScanParts,
  ScanShape,
  Storage,
  StorageHandle,
  StorageReads,
} from '../ports/storage.ts'
import { BODY } from '../schema/layout.ts'
import { SUBJECT_KEYS, SUBJECT_KEYS_APART } from '../schema/system-tables.ts'
import { subjectKeyOf, subjectKeysOf, VAULT_KEY } from '../sealing/subject-bodies.ts'
import type { SubjectKeyring } from '../sealing/subject-keyring.ts'
import { append, required } from '../util/lists.ts'
import { slabItem, toSlab } from '../util/memory.ts'
import { lookUpKeys } from './key-rows.ts'

/** Where keys come from, and whether the vault has any. */
export interface KeySource {
  readonly barrier: Barrier
  /** False while no subject has keys: rows are then read as they are. */
  hasKeys(): boolean
  reload(storage: StorageReads): Promise<void>
  /** Milliseconds since 1970. */
  nowMs(): number
}

/** The views of a storage. Each writes the same. */
export interface KeyedStorage {
  /** Rows can be opened. Those whose key is destroyed are left out. */
  readonly storage: StorageHandle
  /** Rows can be opened. Those whose key is destroyed are there, and do not open. */
  readonly whole: StorageHandle
  /** Rows as they are stored: none that is sealed with the key of a subject can be opened. */
  readonly sealed: StorageHandle
  /** Called with the keys of an opened catalog. Until then rows are read as they are stored. */
  begin(source: KeySource): void
}

/** What a view does with rows of subjects. */
type Mode = 'shown' | 'whole' | 'sealed'

/** What all views of a storage share. */
interface Shared {
  readonly mode: Mode
  /** The storage of the keys, if they have one. */
  readonly home: StorageHandle | undefined
  source(): KeySource | undefined
}

/** Returns views of a storage. With `home`, the keys of subjects are there. Throws `invalid_request` if both are one. */
export function createKeyedStorage(storage: StorageHandle, home: StorageHandle | undefined): KeyedStorage {
  if (storage === home)
    throw fault('invalid_request')`Cannot open the vault: option subjectKeys must be another storage than option storage.`
  let source: KeySource | undefined
  const handleOf = (mode: Mode): StorageHandle => {
    const shared: Shared = { mode, home, source: () => source }
    return {
      ...viewOf(storage, shared, undefined),
      joinTransaction: (host) => viewOf(storage.joinTransaction(host), shared, 'host'),
      async close(withinMs) {
        await storage.close(withinMs)
        await home?.close(withinMs)
      },
    }
  }
  return {
    storage: handleOf('shown'),
    whole: handleOf('whole'),
    sealed: handleOf('sealed'),
    begin(given) {
      source = given
    },
  }
}

/** Keys that a transaction deletes: they are destroyed when it is committed. `host`: of the application, which does not say when. */
type Ending = number[] | 'host' | undefined

function viewOf<Inner extends Storage>(inner: Inner, shared: Shared, ending: Ending): Inner {
  const { mode, home } = shared
  const source = (): KeySource => required(shared.source(), 'The keys of a vault')
  const keyring = (): SubjectKeyring => required(source().barrier.subjectKeys, 'The keys of subjects')
  const isPlain = (): boolean => mode === 'sealed' || shared.source()?.hasKeys() !== true
  const storageOf = (table: string): Storage => (home !== undefined && table === SUBJECT_KEYS.name ? home : inner)
  const keysAt = storageOf(SUBJECT_KEYS.name)

  /** Looks up keys, and returns what says whether one is destroyed; undefined if none is. */
  async function lookUp(keys: Set<number>): Promise<((body: unknown) => boolean) | undefined> {
    await lookUpKeys(keysAt, source(), keys)
    const held = keyring()
    if (mode === 'whole' || ![...keys].some((key) => held.isDestroyed(key))) return undefined
    return (body) => body instanceof Uint8Array && held.isDestroyed(subjectKeyOf(body))
  }

  /** Returns the rows, with undefined in place of those of forgotten people. */
  async function openable<R extends Row | undefined>(rows: readonly R[]): Promise<readonly (R | undefined)[]> {
    const keys = new Set<number>()
    for (const row of rows) {
      const body = row?.[BODY]
      const key = body instanceof Uint8Array ? subjectKeyOf(body) : VAULT_KEY
      if (key !== VAULT_KEY) keys.add(key)
    }
    const isForgotten = keys.size === 0 ? undefined : await lookUp(keys)
    return isForgotten === undefined ? rows : rows.map((row) => (isForgotten(row?.[BODY]) ? undefined : row))
  }

  const find: Storage['find'] = async (table, filter, page) => {
    const found: Row[] = []
    for (let next = page; ; ) {
      const rows = await inner.find(table, filter, next)
      const kept = (await openable(rows)).filter((row) => row !== undefined)
      if (found.length === 0 && kept.length === rows.length) return rows
      append(found, kept)
      const last = rows.at(-1)
      // Others take the place of rows that were left out: a page that is not full is the last one.
      if (last === undefined || rows.length < next.limit || found.length === page.limit) return found
      const { offset: _, ...onwards } = next
      next = { ...onwards, after: last.id, limit: page.limit - found.length }
    }
  }

  async function openablePart(part: BytesPart): Promise<BytesPart> {
    const keys = subjectKeysOf(part.cells)
    const isForgotten = keys && (await lookUp(new Set(keys.filter((key) => key !== VAULT_KEY))))
    if (isForgotten === undefined) return part
    const kept = part.ids.flatMap((_, index) => (isForgotten(slabItem(part.cells, index)) ? [] : [index]))
    return {
      ...part,
      ids: kept.map((index) => required(part.ids[index])),
      cells: toSlab(kept.map((index) => slabItem(part.cells, index))),
    }
  }

  async function deleteKeys(target: DeleteTarget): Promise<readonly number[]> {
    const table = SUBJECT_KEYS.name
    const filter = 'ids' in target ? ({ kind: 'in', column: 'id', values: target.ids } as const) : target.filter
    const rows = await keysAt.find(table, filter, { order: 'asc', limit: Number.MAX_SAFE_INTEGER, columns: [] })
    const ids = rows.map(({ id }) => id)
    if (home === undefined || ending === undefined) await keysAt.delete(table, { ids })
    // Not before the records are gone: a transaction can be rolled back. If this process ends before, the sweep compares.
    else await markKeys(keysAt, rows, source().nowMs())
    if (Array.isArray(ending)) append(ending, ids)
    else if (ending === undefined) for (const id of ids) keyring().destroy(id)
    else for (const id of ids) keyring().drop(id)
    return ids
  }

  async function insertKeys(rows: readonly NewRow[]): Promise<void> {
    if (home === undefined) return inner.insert(SUBJECT_KEYS.name, rows)
    const now = source().nowMs()
    await insertOnce(
      home,
      rows.map((row) => ({ ...row, check_at: now })),
    )
  }

  async function commit(changes: Changes, options?: CommitOptions): Promise<Row | boolean | undefined> {
    const inserts: Changes['inserts'][number][] = []
    for (const batch of changes.inserts) {
      if (home !== undefined && batch.table === SUBJECT_KEYS.name) await insertKeys(batch.rows)
      else inserts.push(batch)
    }
    const { read } = options ?? {}
    // A row that cannot be opened is as one that does not exist: nothing is changed then.
    if (read !== undefined && !isPlain() && (await view.get(read.table, [read.id]))[0] === undefined) return undefined
    return inner.commit({ ...changes, inserts }, options)
  }

  const view: Storage = {
    ...inner,
    prepare: async (tables, options) => {
      if (home === undefined) return inner.prepare(tables, options)
      if (tables.some(({ name }) => name === SUBJECT_KEYS.name)) await home.prepare([SUBJECT_KEYS_APART], options)
      await inner.prepare(
        tables.filter(({ name }) => name !== SUBJECT_KEYS.name),
        options,
      )
    },
    reserveIds: (table, count) => storageOf(table).reserveIds(table, count),
    insert: (table, rows) => (table === SUBJECT_KEYS.name ? insertKeys(rows) : inner.insert(table, rows)),
    get: (table, ids) => (isPlain() ? storageOf(table).get(table, ids) : storageOf(table).get(table, ids).then(openable)),
    find: (table, filter, page) =>
      isPlain() || table === SUBJECT_KEYS.name ? storageOf(table).find(table, filter, page) : find(table, filter, page),
    async scan<Shape extends ScanShape>(table: string, filter: Parameters<Storage['scan']>[1], page: ScanPage<Shape>) {
      const part: ScanParts[ScanShape] = await storageOf(table).scan(table, filter, page)
      // The part is of the shape that was asked for, and so is what replaces it.
      return (isPlain() || !('ids' in part) ? part : await openablePart(part)) as ScanParts[Shape]
    },
    update: (table, patches) => storageOf(table).update(table, patches),
    commit: (changes, options) => (home === undefined && isPlain() ? inner.commit(changes, options) : commit(changes, options)),
    delete: (table, target) => (table === SUBJECT_KEYS.name ? deleteKeys(target) : inner.delete(table, target)),
    aggregate: (table, filter, aggregates) => storageOf(table).aggregate(table, filter, aggregates),
    lock(target) {
      if (home === undefined || target.kind !== 'tables') return inner.lock(target)
      return inner.lock({ ...target, tables: target.tables.filter((table) => table !== SUBJECT_KEYS.name) })
    },
    async transaction(work, options) {
      if (home === undefined && isPlain()) return inner.transaction(work, options)
      const own: number[] = []
      const result = await inner.transaction((within) => {
        // It can run again.
        own.length = 0
        return work(viewOf(within, shared, ending === 'host' ? 'host' : own))
      }, options)
      if (Array.isArray(ending)) append(ending, own)
      else if (own.length > 0) {
        await home?.delete(SUBJECT_KEYS.name, { ids: own })
        for (const id of own) keyring().destroy(id)
      }
      return result
    },
  }
  return { ...inner, ...view }
}

/** Notes that it is to be compared whether the records of these keys exist. */
async function markKeys(storage: Storage, rows: readonly Row[], now: number): Promise<void> {
  await storage.update(
    SUBJECT_KEYS.name,
    rows.map(({ id, version }) => ({ id, version, set: { check_at: now } })),
  )
}

/** Inserts rows, of which an attempt before this one may have stored some: their records were not stored then. */
async function insertOnce(storage: Storage, rows: readonly NewRow[]): Promise<void> {
  try {
    await storage.insert(SUBJECT_KEYS.name, rows)
  } catch (error) {
    if (!isVaultError(error, 'conflict')) throw error
    const stored = await storage.get(
      SUBJECT_KEYS.name,
      rows.map(({ id }) => id),
    )
    if (stored.every((row) => row === undefined)) throw error
    await storage.insert(
      SUBJECT_KEYS.name,
      rows.filter((_, index) => stored[index] === undefined),
    )
  }
}
