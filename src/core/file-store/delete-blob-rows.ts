/** Deletes blobs from the database, in transactions of a few pieces, and never against a write that goes on. */
import type { Storage } from '../ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../schema/system-tables.ts'
import { required } from '../util/lists.ts'
import { type BlobRow, pieceIds, toBlobRow } from './blob-rows.ts'

/** Pieces and blobs of one transaction. */
const MAX_PIECES_AT_ONCE = 32
const MAX_BLOBS_AT_ONCE = 32

/** A step of a deletion: the pieces of a blob from `first` on. */
interface Step {
  readonly blob: BlobRow
  readonly first: number
}

/**
 * Deletes the blobs of these row ids, from the last piece to the first, so that the row of a blob always says what is left. Each step
 * counts as a change of that row: a write that goes on fails at its next piece, and a step that lost to it is repeated.
 */
export async function deleteBlobRows(storage: Storage, ids: readonly number[]): Promise<void> {
  for (let start = 0; start < ids.length; start += MAX_BLOBS_AT_ONCE) {
    const some = ids.slice(start, start + MAX_BLOBS_AT_ONCE)
    for (let steps = await nextSteps(storage, some); steps.length > 0; steps = await nextSteps(storage, some))
      await deletePieces(storage, steps)
  }
}

async function nextSteps(storage: Storage, ids: readonly number[]): Promise<readonly Step[]> {
  const steps: Step[] = []
  let pieces = 0
  for (const row of await storage.get(BLOBS.name, ids)) {
    if (row === undefined || pieces >= MAX_PIECES_AT_ONCE) continue
    const blob = toBlobRow(row)
    const first = Math.max(0, blob.pieces - (MAX_PIECES_AT_ONCE - pieces))
    pieces += blob.pieces - first
    steps.push({ blob, first })
  }
  return steps
}

async function deletePieces(storage: Storage, steps: readonly Step[]): Promise<void> {
  await storage.transaction(async (storage) => {
    const patches = steps.map(({ blob: { id, version }, first }) => ({ id, version, set: { pieces: first, size: null } }))
    const applied = await storage.update(BLOBS.name, patches)
    const own = steps.filter((_, index) => required(applied[index]))
    const pieces = own.flatMap(({ blob, first }) => pieceIds(blob.id, first, blob.pieces))
    await storage.delete(BLOB_PIECES.name, { ids: pieces })
    await storage.delete(BLOBS.name, { ids: own.filter(({ first }) => first === 0).map(({ blob }) => blob.id) })
  })
}
