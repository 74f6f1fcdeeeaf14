/** Rows of sealed indexes as readers and merges need them: heads, which are kept in memory, and blocks, opened. */
import { type Barrier, UNKNOWN_KEY, whyUnreadable } from '../barrier/barrier.ts'
import { type Fault, fault, type Sentence, say, words } from '../errors.ts'
import { readBlock } from '../index-runs/block.ts'
import { type Head, readHead } from '../index-runs/run-head.ts'
import type { Segment } from '../index-runs/segment.ts'
import type { Row, Storage } from '../ports/storage.ts'
import { INDEX_BLOCKS, INDEX_RUNS } from '../schema/system-tables.ts'
import { namesUnknownKey, openEntries } from '../sealing/envelope.ts'
import { attempt, type Reason } from '../util/attempt.ts'
import { required } from '../util/lists.ts'
import { slabItem } from '../util/memory.ts'

/** The keys of index rows. */
export type IndexKeys = Pick<Barrier, 'ring' | 'vault' | 'signalsUnknownKeys' | 'destroyed' | 'subjectKeys'>

/** Storage and keys of indexes. */
export interface IndexRows {
  readonly storage: Pick<Storage, 'find' | 'get'>
  /** Its ring is read again for each list of rows. */
  readonly keys: IndexKeys
}

/** A head and its row. */
export type StoredHead = Head & { readonly id: number }

/**
 * Heads that one statement lists, at most. So many are there only where no process merges. Beyond it an index is as good as none: an estimate says so, and the
 * rest fails.
 */
export const MAX_HEADS = 10_000

/** Thrown where another process merged a row away meanwhile. What reads begins again. */
const GONE = new Error('another process merged a part of the index meanwhile')

/** Reads that begin again. Merges are seldom, so that two in one read are hardly ever. */
export const BEGIN_AGAIN: Reason = {
  is: (error) => error === GONE,
  most: 20,
  lastWord: () => fault('aborted')`Other processes kept merging the index. Retry.`,
}

/** Runs work on an index, and again where another process merged a part of it away. */
export function beginningAgain<T>(work: () => Promise<T>): Promise<T> {
  return attempt([BEGIN_AGAIN], work)
}

/** Bytes of heads in memory, by default. */
const CACHE_BYTES = 64 * 1024 * 1024

/**
 * Heads in memory, by space and id. A row with an id never has another content, so that what is here is never wrong. Inside of a transaction that has stored
 * heads, use another one: it can be rolled back, and the ids given again.
 */
export class HeadCache {
  readonly #spaces = new Map<number, Map<number, StoredHead>>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes = CACHE_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** Estimated bytes of memory. */
  get bytes(): number {
    return this.#bytes
  }

  get(space: number, id: number): StoredHead | undefined {
    return this.#spaces.get(space)?.get(id)
  }

  /** Keeps the heads that some spaces have now, and of others as many as there is room for, those last that were read last. */
  keep(heads: ReadonlyMap<number, readonly StoredHead[]>): void {
    for (const [space, list] of heads) {
      this.#drop(space)
      this.#spaces.set(space, new Map(list.map((head) => [head.id, head])))
      this.#bytes += bytesOf(list)
    }
    for (const space of this.#spaces.keys()) {
      if (this.#bytes <= this.#maxBytes || heads.has(space)) return
      this.#drop(space)
    }
  }

  /** Drops all. */
  clear(): void {
    this.#spaces.clear()
    this.#bytes = 0
  }

  #drop(space: number): void {
    this.#bytes -= bytesOf([...(this.#spaces.get(space)?.values() ?? [])])
    this.#spaces.delete(space)
  }
}

function bytesOf(heads: readonly StoredHead[]): number {
  return heads.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Returns the heads of some spaces as one statement sees them, by rising id, and whether these are all: at most `limit`. */
export async function readHeads(
  rows: IndexRows,
  cache: HeadCache,
  { spaces, limit = MAX_HEADS }: { readonly spaces: readonly number[]; readonly limit?: number },
): Promise<{ readonly heads: readonly StoredHead[]; readonly areAll: boolean }> {
  const filter = { kind: 'in', column: 'space', values: spaces } as const
  const listed = await rows.storage.find(INDEX_RUNS.name, filter, { order: 'asc', limit, columns: ['space'] })
  const areAll = listed.length < limit
  const missing = listed.flatMap(({ id, space }) => (cache.get(Number(space), id) === undefined ? [id] : []))
  const loaded = new Map((await loadHeads(rows, missing)).map((head) => [head.id, head]))
  const heads = listed.map(({ id, space }) => required(cache.get(Number(space), id) ?? loaded.get(id), 'The head of a run'))
  if (areAll) cache.keep(new Map(spaces.map((space) => [space, heads.filter((head) => head.space === space)])))
  return { heads, areAll }
}

async function loadHeads(rows: IndexRows, ids: readonly number[]): Promise<StoredHead[]> {
  if (ids.length === 0) return []
  const found = await rows.storage.get(INDEX_RUNS.name, ids)
  return openRows(rows.keys, 'run', ids, found, (content, id, row) => {
    const head = readHead(content)
    // The column is not bound to the row, and finds it: its content decides.
    if (head.space !== Number(row.space)) throw damaged('run', id, say`was put under another index in the database. Restore it.`)
    return { ...head, id }
  })
}

/** Returns the entries of blocks, in order. */
export async function readBlocks(rows: IndexRows, ids: readonly number[]): Promise<Segment[]> {
  if (ids.length === 0) return []
  return openRows(rows.keys, 'block', ids, await rows.storage.get(INDEX_BLOCKS.name, ids), (content) => readBlock(content))
}

/** Opens rows, and reads each. Throws UNKNOWN_KEY as the keys say, and `data_loss` for a row that does not open. */
function openRows<T>(
  keys: IndexKeys,
  kind: 'run' | 'block',
  ids: readonly number[],
  rows: readonly (Row | undefined)[],
  read: (content: Uint8Array, id: number, row: Row) => T,
): T[] {
  const bodies = rows.map((row) => {
    if (row === undefined) throw GONE
    const { body } = row
    if (!(body instanceof Uint8Array)) throw damaged(kind, row.id, say`has no body. Restore it.`)
    if (keys.signalsUnknownKeys === true && namesUnknownKey(keys.ring, body)) throw UNKNOWN_KEY
    return body
  })
  const { plaintexts, opened } = openEntries({ ring: keys.ring, vault: keys.vault, kind }, ids, bodies)
  return ids.map((id, index) => {
    if (opened[index] !== 1) throw damaged(kind, id, whyUnreadable(keys, required(bodies[index])))
    return read(slabItem(plaintexts, index), id, required(rows[index]))
  })
}

function damaged(kind: 'run' | 'block', id: number, why: Sentence): Fault {
  const { name } = kind === 'run' ? INDEX_RUNS : INDEX_BLOCKS
  return fault(
    'data_loss',
  )`Row ${id} of ${words(name)}, a part of a sealed index, ${why} Without it, drop the index and add it again.`
}
