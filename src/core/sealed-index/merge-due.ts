/** Which runs of indexes are merged, and when: deltas of a table into one run an index, and runs of one size, so that there are few of each size. */
import { fault } from '../errors.ts'
import { INDEX_BLOCKS, INDEX_RUNS } from '../schema/system-tables.ts'
import { BEGIN_AGAIN, beginningAgain, readHeads, type StoredHead } from './index-rows.ts'
import { CLAIMS, deleteBlocks, type MergedIndex, type MergePorts, type MergeSizes, mergeHeads, SIZES } from './merge-runs.ts'

/** A table and its indexes that writers maintain, in the schema that is stored now. */
export interface IndexedTable {
  readonly objectId: number
  readonly indexes: readonly MergedIndex[]
}

/** The dependencies of deleting. */
export type SweepPorts = Pick<MergePorts, 'storage' | 'between'>

/** Deltas that are merged at once, at most. */
const MAX_DELTAS = 1024
/** Bytes of heads that are opened in one slice. */
const SLICE_BYTES = 128 * 1024
/** Attempts of a compaction, if other processes keep merging the same index. */
const MAX_ATTEMPTS = 20
/** Blocks that are looked up at once, to be deleted. */
const PAGE_BLOCKS = 1024

/** Merges what is due, and returns the number of merges. It ends early where another process merges the same index. */
export async function mergeDue(ports: MergePorts, table: IndexedTable): Promise<number> {
  let merges = 0
  const { dueDeltas, dueEntries } = ports.sizes ?? SIZES
  const { heads } = await listHeads(ports, table.objectId)
  if (heads.length >= dueDeltas || heads.reduce((sum, head) => sum + entriesOf(head), 0) >= dueEntries) {
    if (!(await mergeDeltas(ports, table, heads))) return merges
    merges++
  }
  for (const index of table.indexes) {
    for (let due = await findDue(ports, index); due !== undefined; due = await findDue(ports, index)) {
      if (!(await mergeOrLose(ports, { heads: due, indexes: [index] }))) return merges
      merges++
    }
  }
  return merges
}

/** Merges all deltas of a table into one run an index, also if few are there. Returns false if other processes kept merging them. */
export async function flushDeltas(ports: MergePorts, table: IndexedTable): Promise<boolean> {
  for (let lost = 0; lost < MAX_ATTEMPTS; ) {
    const { heads, areAll } = await listHeads(ports, table.objectId)
    if (heads.length === 0) return true
    if (!(await mergeDeltas(ports, table, heads))) lost++
    else if (areAll) return true
  }
  return false
}

/**
 * Merges all that a table has into one run an index. `without` are rows that were deleted before, whose entries are left out: their keys are then
 * nowhere in the index. Throws `aborted` if other processes kept merging it.
 */
export async function compactIndexes(
  ports: MergePorts,
  table: IndexedTable,
  { without }: { readonly without?: ReadonlySet<number> } = {},
): Promise<void> {
  const left = new Set(table.indexes)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    // What the rows had in deltas is in runs then.
    if (!(await flushDeltas(ports, table))) break
    for (const index of left) {
      const { heads, areAll } = await listHeads(ports, index.objectId)
      const isDone = areAll && heads.length <= (without === undefined ? 1 : 0)
      // Of a part of the runs, entries of a row could be left out without those that take them back.
      const merge = { heads, indexes: [index], without: areAll ? without : undefined }
      if (isDone || ((await mergeOrLose(ports, merge)) && areAll)) left.delete(index)
    }
    if (left.size === 0) return
  }
  throw fault('aborted')`Other processes kept merging the sealed indexes. Retry.`
}

/** Deletes all that some indexes, or a table, have. No process may write or read them any more. */
export async function dropIndexes(ports: SweepPorts, spaces: readonly number[]): Promise<void> {
  await ports.storage.delete(INDEX_RUNS.name, { filter: { kind: 'in', column: 'space', values: spaces } })
  await sweepBlocks(ports)
}

/**
 * Deletes what merges left that never ended: claims, and blocks whose run has no row. Run it in the one process that merges, before it does. A merge of
 * another process that goes on all the same loses, because its claim is gone.
 */
export async function sweepParts(ports: MergePorts): Promise<void> {
  await ports.storage.delete(INDEX_RUNS.name, { filter: CLAIMS })
  await sweepBlocks(ports)
}

/** Deletes the blocks whose run has no row. A claim comes before the first block, and ids of rows that were deleted are never given again: it is safe at any time. */
async function sweepBlocks(ports: SweepPorts): Promise<void> {
  const { storage } = ports
  for (let run = 0; ; ) {
    const later = { kind: 'compare', column: 'run', operator: '>', value: run } as const
    const [next] = await storage.aggregate(INDEX_BLOCKS.name, later, [{ kind: 'min', column: 'run' }])
    if (next === null || next === undefined) return
    run = Number(next)
    const [head] = await storage.get(INDEX_RUNS.name, [run])
    if (head !== undefined) continue
    const filter = { kind: 'compare', column: 'run', operator: '=', value: run } as const
    for (;;) {
      const rows = await storage.find(INDEX_BLOCKS.name, filter, { order: 'asc', limit: PAGE_BLOCKS, columns: [] })
      if (rows.length === 0) break
      await deleteBlocks(
        ports,
        rows.map(({ id }) => id),
      )
    }
  }
}

function mergeDeltas(ports: MergePorts, { indexes }: IndexedTable, heads: readonly StoredHead[]): Promise<boolean> {
  return mergeOrLose(ports, { heads, indexes })
}

/** Merges; false also where another process merged a block away that was to be read. */
async function mergeOrLose(ports: MergePorts, merge: Parameters<typeof mergeHeads>[1]): Promise<boolean> {
  try {
    return await mergeHeads(ports, merge)
  } catch (error) {
    if (BEGIN_AGAIN.is(error)) return false
    throw error
  }
}

/** Returns the runs of one size that are due to be merged; undefined if none are. */
async function findDue(ports: MergePorts, { objectId }: MergedIndex): Promise<readonly StoredHead[] | undefined> {
  const sizes = ports.sizes ?? SIZES
  const bySize = new Map<number, StoredHead[]>()
  for (const head of (await listHeads(ports, objectId)).heads) {
    const size = sizeOf(entriesOf(head), sizes)
    bySize.set(size, [...(bySize.get(size) ?? []), head])
  }
  return [...bySize.values()].find((heads) => heads.length >= sizes.fanIn)
}

function sizeOf(entries: number, { leastEntries, fanIn }: MergeSizes): number {
  let size = 0
  for (let bound = leastEntries; entries > bound; bound *= fanIn) size++
  return size
}

function entriesOf(head: StoredHead): number {
  if (head.kind === 'run') return head.run.entries
  if (head.kind === 'small') return head.segment.rows.length
  if (head.kind !== 'delta') return 0
  return [...head.segments.values()].reduce((sum, { rows }) => sum + rows.length, 0)
}

/** Returns the heads of a space, at most MAX_DELTAS. Reads again where one was merged away meanwhile. */
function listHeads(ports: MergePorts, space: number): ReturnType<typeof readHeads> {
  let done = 0
  const pace = {
    async worked(bytes = 0): Promise<void> {
      done += bytes
      if (done < SLICE_BYTES) return
      done = 0
      await ports.between(0)
    },
  }
  return beginningAgain(() => readHeads(ports, ports.cache, { spaces: [space], limit: MAX_DELTAS, pace }))
}
