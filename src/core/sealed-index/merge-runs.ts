/**
 * Merges runs of indexes into one each. Blocks are written outside of any transaction, and heads exchanged in a small one, which fails where another process
 * merged one of them first. A row of INDEX_RUNS comes before the first block of a run, as a claim, and becomes its head: a block whose run has no row is
 * of no use, now and ever, and is swept.
 */
import { CATALOG_MOVED } from '../barrier/barrier.ts'
import { BLOCK_BYTES, BlockWriter, type WrittenBlock } from '../index-runs/block.ts'
import { sealRun } from '../index-runs/delta.ts'
import { type StoredBlock, writeClaim, writeRunHead, writeSmallRun } from '../index-runs/run-head.ts'
import type { Segment } from '../index-runs/segment.ts'
import type { CurrentCatalog } from '../maintenance/store-current.ts'
import type { Entropy } from '../ports/crypto.ts'
import type { Filter, NewRow, Storage } from '../ports/storage.ts'
import { INDEX_BLOCKS, INDEX_RUNS } from '../schema/system-tables.ts'
import { sealEntries } from '../sealing/envelope.ts'
import { append, at, required } from '../util/lists.ts'
import { slabItem } from '../util/memory.ts'
import { type HeadCache, type IndexRows, readBlocks, type StoredHead } from './index-rows.ts'
import { streamOf, viewOf } from './index-view.ts'

/** The dependencies of merges. */
export interface MergePorts extends IndexRows {
  readonly storage: Storage
  readonly cache: HeadCache
  readonly entropy: Entropy
  readonly catalog: CurrentCatalog
  /** Called between two slices, with the entries of the last one: takes a turn of the event loop, and keeps a pace. What it throws ends the merge. */
  between(entries: number): Promise<void>
  /** Only tests have others. */
  readonly sizes?: MergeSizes
}

/** How large what is merged, and what is made of it, becomes. */
export interface MergeSizes {
  /** Bytes of a block before it is sealed. */
  readonly blockBytes: number
  /** Deltas, or entries in them, with which a merge of deltas is due. */
  readonly dueDeltas: number
  readonly dueEntries: number
  /** Runs of one size that are merged into one, at least. */
  readonly fanIn: number
  /** Entries of runs of the least size, at most. Each next size has `fanIn` times as many. */
  readonly leastEntries: number
}

export const SIZES: MergeSizes = { blockBytes: BLOCK_BYTES, dueDeltas: 64, dueEntries: 16_384, fanIn: 8, leastEntries: 32_768 }

/** An index as merges know it. */
export interface MergedIndex {
  readonly objectId: number
  /** True for indexes of INTEGER and DECIMAL columns. */
  readonly hasSums: boolean
}

/** What is merged. */
export interface Merge {
  readonly heads: readonly StoredHead[]
  /** The indexes that get a run each. What heads have of others is left out. */
  readonly indexes: readonly MergedIndex[]
  /** Rows whose entries are left out. All that the indexes have of them must be in the heads. */
  readonly without?: ReadonlySet<number> | undefined
}

/** Entries and blocks of one slice, at most. A slice takes a few milliseconds. */
const SLICE_ENTRIES = 4096
const SLICE_BLOCKS = 8
/** Block ids that are reserved at once, at least. */
const MIN_IDS = 16
/** Space of claims: no table and no index has this number. */
export const CLAIMED = 0
/** The version of a head is not that of its claim, which has the same id: moves, and increments of backups, know by it that the row is another one. */
const HEAD_VERSION = 2
export const CLAIMS: Filter = { kind: 'compare', column: 'space', operator: '=', value: CLAIMED }

/** A merge that is lost: it leaves everything as it was. */
const LOST = new Error('another process merged a part of the index first')

/**
 * Merges heads into one run an index. Returns false, with nothing changed, if another process merged one of them first. Throws CATALOG_MOVED, with nothing
 * changed, if another process changed the catalog since the merge began: with what is read again, the indexes and the key are other ones.
 */
export async function mergeHeads(ports: MergePorts, { heads, indexes, without }: Merge): Promise<boolean> {
  const { generation } = ports.catalog.keys
  const made: RunDraft[] = []
  const written: NewRow[] = []
  try {
    for (const index of indexes) {
      const draft = await createDraft(ports, index, heads)
      made.push(draft)
      written.push(await writeRun(ports, draft, { heads, without }))
    }
    await exchange(ports, { generation, old: heads.map(({ id }) => id), made, written })
  } catch (error) {
    // Where that fails too, a sweep does it.
    await discard(ports.storage, made).catch(() => {})
    if (error === LOST) return false
    throw error
  }
  await deleteBlocks(
    ports,
    heads.flatMap((head) => (head.kind === 'run' ? [...head.run.ids] : [])),
  )
  return true
}

/** A run that is being written. */
interface RunDraft {
  readonly id: number
  readonly index: MergedIndex
  readonly blocks: StoredBlock[]
  /** Ids for blocks to come, in random order. */
  readonly ids: number[]
  /** How many ids are reserved at once. */
  readonly batch: number
}

async function createDraft(
  { storage, sizes: { blockBytes } = SIZES }: MergePorts,
  index: MergedIndex,
  heads: readonly StoredHead[],
): Promise<RunDraft> {
  const id = at(await storage.reserveIds(INDEX_RUNS.name, 1), 0)
  let blocks = 0
  for (const head of heads) blocks += head.kind === 'run' ? head.run.ids.length : head.bytes / blockBytes
  return { id, index, blocks: [], ids: [], batch: Math.max(MIN_IDS, Math.ceil(blocks)) }
}

/** Writes the blocks of a run. Returns the row of its head, also if nothing is left for it: that there is none would say that all changes took each other back. */
async function writeRun(
  ports: MergePorts,
  draft: RunDraft,
  { heads, without }: Pick<Merge, 'heads' | 'without'>,
): Promise<NewRow> {
  const { objectId, hasSums } = draft.index
  const { blockBytes } = ports.sizes ?? SIZES
  const stream = streamOf(viewOf(objectId, heads), {}, 'up')
  const writer = new BlockWriter(hasSums, blockBytes)
  const fetch = (ids: readonly number[]): Promise<Segment[]> => readBlocks(ports, ids)
  let entries = 0
  for (; ; entries++) {
    if (writer.full >= SLICE_BLOCKS || entries >= SLICE_ENTRIES) {
      await storeBlocks(ports, draft, writer.take())
      await ports.between(entries)
      entries = 0
    }
    if (stream.isHungry) await stream.fetch(fetch, SLICE_BLOCKS)
    if (!stream.next()) {
      if (stream.isHungry) continue
      break
    }
    if (without?.has(stream.row) !== true) writer.add(stream.keys, stream.start, stream.end, stream.row, stream.weight)
  }
  await ports.between(entries)
  writer.finish()
  const rest = writer.take()
  if (draft.blocks.length === 0 && rest.length <= 1)
    return headRow(ports, draft, writeSmallRun(objectId, rest[0]?.content ?? new Uint8Array(blockBytes)))
  await storeBlocks(ports, draft, rest)
  return headRow(ports, draft, writeRunHead(objectId, { blocks: draft.blocks, lastKey: writer.lastKey, hasSums }))
}

function headRow({ keys }: MergePorts, { id, index }: RunDraft, content: Uint8Array): NewRow {
  return { ...sealRun(keys, { id, space: index.objectId, content }), version: HEAD_VERSION }
}

async function storeBlocks(ports: MergePorts, draft: RunDraft, blocks: readonly WrittenBlock[]): Promise<void> {
  if (blocks.length === 0) return
  const { storage, keys } = ports
  if (draft.blocks.length === 0) {
    await storage.insert(INDEX_RUNS.name, [sealRun(keys, { id: draft.id, space: CLAIMED, content: writeClaim() })])
  }
  const ids = await takeIds(ports, draft, blocks.length)
  const { ring, vault } = keys
  const bodies = sealEntries(
    { ring, vault, kind: 'block' },
    ids,
    blocks.map(({ content }) => content),
  )
  const rows = ids.map((id, index) => ({ id, run: draft.id, body: slabItem(bodies, index) }))
  for (const [index, { content, ...block }] of blocks.entries()) {
    content.fill(0)
    draft.blocks.push({ ...block, id: required(ids[index]) })
  }
  await storage.insert(
    INDEX_BLOCKS.name,
    rows.toSorted((one, other) => one.id - other.id),
  )
}

/** Takes ids for blocks. They are in random order over the whole run, so that they say nothing of the order of keys. */
async function takeIds({ storage, entropy }: MergePorts, draft: RunDraft, count: number): Promise<number[]> {
  if (draft.ids.length < count) {
    append(draft.ids, await storage.reserveIds(INDEX_BLOCKS.name, Math.max(count, draft.batch)))
    shuffle(draft.ids, entropy)
  }
  return draft.ids.splice(-count)
}

/** Bytes of a random number, and numbers that are drawn at once. */
const DRAW_BYTES = 4
const DRAWN_AT_ONCE = 1024

/** Puts a list into random order. */
function shuffle(list: number[], entropy: Entropy): void {
  let drawn: DataView = new DataView(new ArrayBuffer(0))
  for (let i = list.length - 1, draw = 0; i > 0; i--, draw++) {
    if (draw % DRAWN_AT_ONCE === 0) {
      const bytes = entropy.bytes(DRAWN_AT_ONCE * DRAW_BYTES)
      drawn = new DataView(bytes.buffer, bytes.byteOffset)
    }
    const other = Math.floor((drawn.getUint32((draw % DRAWN_AT_ONCE) * DRAW_BYTES) / 2 ** 32) * (i + 1))
    const kept = required(list[i])
    list[i] = required(list[other])
    list[other] = kept
  }
}

/** Exchanges heads, and claims, for the new ones. Throws LOST where one is gone. */
function exchange(
  { storage, catalog }: MergePorts,
  {
    generation,
    old,
    made,
    written,
  }: {
    readonly generation: number
    readonly old: readonly number[]
    readonly made: readonly RunDraft[]
    readonly written: readonly NewRow[]
  },
): Promise<void> {
  const ids = [...old, ...made.flatMap(({ id, blocks }) => (blocks.length > 0 ? [id] : []))]
  return storage.transaction(async (inner) => {
    const deleted = await inner.delete(INDEX_RUNS.name, { ids })
    if (deleted.length !== ids.length) throw LOST
    await inner.insert(INDEX_RUNS.name, written)
    // Blocks may be sealed with a key that is about to go, and indexes unknown here would be left out.
    if (!(await catalog.isCurrent(inner, generation))) throw CATALOG_MOVED
  })
}

/** Deletes what a merge wrote, unless it is in use: a claim that is no longer there may have become a head, also where an error says otherwise. */
async function discard(storage: Storage, made: readonly RunDraft[]): Promise<void> {
  for (const { id, blocks } of made) {
    const isRun = { kind: 'compare', column: 'id', operator: '=', value: id } as const
    const filter = { kind: 'and', filters: [isRun, CLAIMS] } as const
    if ((await storage.delete(INDEX_RUNS.name, { filter })).length === 0) continue
    for (let from = 0; from < blocks.length; from += SLICE_BLOCKS)
      await storage.delete(INDEX_BLOCKS.name, { ids: blocks.slice(from, from + SLICE_BLOCKS).map((block) => block.id) })
  }
}

/** Deletes blocks, some in each slice. */
export async function deleteBlocks(
  { storage, between }: Pick<MergePorts, 'storage' | 'between'>,
  ids: readonly number[],
): Promise<void> {
  for (let from = 0; from < ids.length; from += SLICE_BLOCKS) {
    await storage.delete(INDEX_BLOCKS.name, { ids: ids.slice(from, from + SLICE_BLOCKS) })
    await between(0)
  }
}
