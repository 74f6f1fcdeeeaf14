/** Writes a blob into the database, in transactions of about 1 MiB. */
import { VaultError } from '../errors.ts'
import type { Storage } from '../ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../schema/system-tables.ts'
import { at } from '../util/lists.ts'
import { toBlocks } from '../util/memory.ts'
import { assertPiecesFit, BLOB_PIECE_BYTES, pieceIds } from './blob-rows.ts'

/** Bytes of one transaction: a short turn of the one writer of SQLite, and little memory. */
const BLOCK_BYTES = 16 * BLOB_PIECE_BYTES

/** A blob of which some pieces are stored. */
interface Progress {
  readonly id: number
  readonly key: string
  /** The version of its row; 0 before there is one. */
  readonly version: number
  readonly pieces: number
  readonly size: number
}

/** The row id and the key of a new blob. */
export type NewBlob = Pick<Progress, 'id' | 'key'>

/** Stores the chunks as a new blob. Its row has a size from the last transaction on, and the blob is whole then. */
export async function writeBlobRows(storage: Storage, blob: NewBlob, content: AsyncIterable<Uint8Array>): Promise<void> {
  let progress: Progress = { ...blob, version: 0, pieces: 0, size: 0 }
  for await (const block of toBlocks(content, { size: BLOCK_BYTES })) progress = await storeBlock(storage, progress, block)
}

/** Stores the pieces of the next block in one transaction. A block shorter than the others is the last one. */
async function storeBlock(storage: Storage, progress: Progress, block: Uint8Array): Promise<Progress> {
  const { id, key, version } = progress
  const pieces = progress.pieces + Math.ceil(block.length / BLOB_PIECE_BYTES)
  assertPiecesFit(id, pieces)
  const size = progress.size + block.length
  const counted = { pieces, size: block.length < BLOCK_BYTES ? size : null }
  const rows = pieceIds(id, progress.pieces, pieces).map((pieceId, index) => ({
    id: pieceId,
    content: block.subarray(index * BLOB_PIECE_BYTES, (index + 1) * BLOB_PIECE_BYTES),
  }))
  await storage.transaction(async (storage) => {
    if (version === 0) await storage.insert(BLOBS.name, [{ id, key, ...counted }])
    else if (!at(await storage.update(BLOBS.name, [{ id, version, set: counted }]), 0)) throw deletedError()
    await storage.insert(BLOB_PIECES.name, rows)
  })
  return { id, key, version: version + 1, pieces, size }
}

function deletedError(): VaultError {
  return new VaultError('not_found', 'The blob was deleted while it was written.')
}
