/** Rows of sealed indexes as readers and merges need them: heads, which are kept in memory, and blocks, opened. */
import { type Barrier, UNKNOWN_KEY, whyUnreadable } from '../barrier/barrier.ts'
import { type Fault, fault, type Sentence, say, words } from '../errors.ts'
import { readBlock } from '../index-runs/block.ts'
import { type Head, readHead } from '../index-runs/run-head.ts'
import { bytesOfSegment, type Segment } from '../index-runs/segment.ts'
import type { Pace } from '../pace/pace.ts'
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

/**
 * Heads that one statement lists, at most. So many are there only where no process merges. Beyond it an index is as good as none: an estimate says so, and the
 * rest fails.
 */
export const MAX_HEADS = 10_000

/** Heads that are loaded at once, at most. */
const HEADS_AT_ONCE = 64

/** Heads of an index whose merges keep up, and of the deltas of its table, at most. */
const FEW_HEADS = 1024

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

/** A head and its row. */
export type StoredHead = Head & { readonly id: number; readonly mark: number }

/** Bytes of heads, and of blocks, in memory by default. */
const HEAD_BYTES = 64 * 1024 * 1024
const BLOCK_BYTES = 16 * 1024 * 1024

/**
 * Heads in memory by space and id, and opened blocks of them. Neither a row of INDEX_RUNS with one id and mark nor one of INDEX_BLOCKS with one id ever has
 * another content, so that what is here is never wrong.
 */
export class HeadCache {
  readonly #spaces = new Map<number, Map<number, StoredHead>>()
  readonly #blocks = new Map<number, Segment>()
  readonly #maxHeadBytes: number
  readonly #maxBlockBytes: number
  #headBytes = 0
  #blockBytes = 0

  constructor({
    headBytes = HEAD_BYTES,
    blockBytes = BLOCK_BYTES,
  }: { readonly headBytes?: number; readonly blockBytes?: number } = {}) {
    this.#maxHeadBytes = headBytes
    this.#maxBlockBytes = blockBytes
  }

  /** Estimated bytes of memory. */
  get bytes(): number {
    return this.#headBytes + this.#blockBytes
  }

  /** Returns the head of a row; undefined if it is not here. */
  head({ id, space, mark }: Row): StoredHead | undefined {
    const head = this.#spaces.get(Number(space))?.get(id)
    return head?.mark === Number(mark) ? head : undefined
  }

  /** Adds a head, in place of one with its id. */
  add(head: StoredHead): void {
    const heads = this.#spaces.get(head.space) ?? new Map<number, StoredHead>()
    this.#headBytes += head.bytes - (heads.get(head.id)?.bytes ?? 0)
    this.#spaces.set(head.space, heads.set(head.id, head))
  }

  /** Keeps the heads that some spaces have now, and of others as many as there is room for: those that were read last. Blocks of runs that are gone are dropped. */
  keep(heads: ReadonlyMap<number, readonly StoredHead[]>): void {
    for (const [space, list] of heads) {
      const before = this.#spaces.get(space)
      const now = new Map(list.map((head) => [head.id, head]))
      for (const [id, head] of before ?? []) if (now.get(id) !== head) this.#drop(head)
      for (const [id, head] of now) if (before?.get(id) !== head) this.#headBytes += head.bytes
      this.#spaces.delete(space)
      this.#spaces.set(space, now)
    }
    for (const [space, list] of this.#spaces) {
      if (this.#headBytes <= this.#maxHeadBytes || heads.has(space)) return
      for (const head of list.values()) this.#drop(head)
      this.#spaces.delete(space)
    }
  }

  /** Returns a block; undefined if it is not here. */
  block(id: number): Segment | undefined {
    const block = this.#blocks.get(id)
    if (block === undefined) return undefined
    // The first of a map is the one that was used least recently.
    this.#blocks.delete(id)
    this.#blocks.set(id, block)
    return block
  }

  /** Keeps blocks, in place of those that were used least recently. */
  keepBlocks(blocks: ReadonlyMap<number, Segment>): void {
    for (const [id, block] of blocks) {
      this.#dropBlock(id)
      this.#blocks.set(id, block)
      this.#blockBytes += bytesOfSegment(block)
    }
    for (const id of this.#blocks.keys()) {
      if (this.#blockBytes <= this.#maxBlockBytes) return
      this.#dropBlock(id)
    }
  }

  /** Drops all. */
  clear(): void {
    this.#spaces.clear()
    this.#blocks.clear()
    this.#headBytes = 0
    this.#blockBytes = 0
  }

  #drop(head: StoredHead): void {
    this.#headBytes -= head.bytes
    if (head.kind === 'run') for (const id of head.run.ids) this.#dropBlock(id)
  }

  #dropBlock(id: number): void {
    const block = this.#blocks.get(id)
    if (block === undefined) return
    this.#blockBytes -= bytesOfSegment(block)
    this.#blocks.delete(id)
  }
}

/** Which heads are read. */
interface HeadsAsked {
  readonly spaces: readonly number[]
  /** Called after each head with its bytes. */
  readonly pace: Pick<Pace, 'worked'>
  /** Default: MAX_HEADS. */
  readonly limit?: number
}

/** Returns the heads of some spaces as one statement sees them, by rising id, and whether these are all: at most `limit`. */
export async function readHeads(
  rows: IndexRows,
  cache: HeadCache,
  { spaces, pace, limit = MAX_HEADS }: HeadsAsked,
): Promise<{ readonly heads: readonly StoredHead[]; readonly areAll: boolean }> {
  const filter = { kind: 'in', column: 'space', values: spaces } as const
  const list = (most: number) =>
    rows.storage.find(INDEX_RUNS.name, filter, { order: 'asc', limit: most, columns: ['space', 'mark'] })
  // A short page costs an engine less than a part of a long one.
  const few = await list(Math.min(limit, FEW_HEADS))
  const listed = few.length < FEW_HEADS || limit <= FEW_HEADS ? few : await list(limit)
  const areAll = listed.length < limit
  // What is found here is held here: another read can drop it from the cache meanwhile.
  const found = new Map(listed.map((row) => [row.id, cache.head(row)]))
  const missing = listed.flatMap(({ id }) => (found.get(id) === undefined ? [id] : []))
  for (let from = 0; from < missing.length; from += HEADS_AT_ONCE) {
    for (const { id, row, content } of await openHeads(rows, missing.slice(from, from + HEADS_AT_ONCE))) {
      const head = { ...readHead(content), id, mark: Number(row.mark) }
      // The column is not bound to the row, and finds it: its content decides.
      if (head.space !== Number(row.space))
        throw damaged('run', id, say`was put under another index in the database. Restore it.`)
      found.set(id, head)
      // What begins again does so with those that it has.
      cache.add(head)
      await pace.worked(content.length)
    }
  }
  const heads = listed.map(({ id }) => required(found.get(id), 'The head of a run'))
  // Where only some were read, which others are still there is unknown, and all count as others.
  cache.keep(new Map(areAll ? spaces.map((space) => [space, heads.filter((head) => head.space === space)]) : []))
  return { heads, areAll }
}

async function openHeads({ storage, keys }: IndexRows, ids: readonly number[]): Promise<OpenedRow[]> {
  return openRows(keys, 'run', ids, await storage.get(INDEX_RUNS.name, ids))
}

/** Blocks that are read at once, at most. */
export const BLOCKS_AT_ONCE = 16

/** Returns the entries of blocks, in order. Without a cache none are kept in memory. */
export async function readBlocks({ storage, keys }: IndexRows, ids: readonly number[], cache?: HeadCache): Promise<Segment[]> {
  const found = new Map(ids.map((id) => [id, cache?.block(id)]))
  const missing = ids.filter((id) => found.get(id) === undefined)
  if (missing.length > 0) {
    const rowsOf = await storage.get(INDEX_BLOCKS.name, missing)
    const loaded = openRows(keys, 'block', missing, rowsOf).map(({ id, content }) => [id, readBlock(content)] as const)
    for (const [id, block] of loaded) found.set(id, block)
    cache?.keepBlocks(new Map(loaded))
  }
  return ids.map((id) => required(found.get(id), 'A block'))
}

/** A row, opened. */
interface OpenedRow {
  readonly id: number
  readonly row: Row
  readonly content: Uint8Array
}

/** Opens rows. Throws UNKNOWN_KEY as the keys say, and `data_loss` for a row that does not open. */
function openRows(
  keys: IndexKeys,
  kind: 'run' | 'block',
  ids: readonly number[],
  rows: readonly (Row | undefined)[],
): OpenedRow[] {
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
    return { id, row: required(rows[index]), content: slabItem(plaintexts, index) }
  })
}

function damaged(kind: 'run' | 'block', id: number, why: Sentence): Fault {
  const { name } = kind === 'run' ? INDEX_RUNS : INDEX_BLOCKS
  return fault(
    'data_loss',
  )`Row ${id} of ${words(name)}, a part of a sealed index, ${why} Without it, drop the index and add it again.`
}
