/** Contents of files in the database of the vault, as rows: nothing to set up, and one backup for records and files. */
import { isVaultError, VaultError } from '../errors.ts'
import type { BlobStore, ByteRange } from '../ports/blobs.ts'
import { MAX_ROW_ID, type Row, type Storage } from '../ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../schema/system-tables.ts'
import { assertBlobKeys, assertByteRange, causeOf, noBlobError } from '../util/causes.ts'
import { at, required } from '../util/lists.ts'
import { toBlocks, watchContent } from '../util/memory.ts'

/** Pieces that one read of the database returns. */
const PIECES_AT_ONCE = 4
/** Keys that are looked up at once. */
const KEYS_AT_ONCE = 500

/**
 * Stores blobs in two system tables, which the storage must have prepared. It uses transactions of its own, of about 1 MiB, and cannot
 * be called inside a transaction of the storage. `close` leaves the storage open. Source: docs/decisions/0028.
 */
export function databaseBlobs(storage: Storage): BlobStore {
  let isClosed = false

  function assertOpen(): void {
    if (isClosed) throw new VaultError('unavailable', 'This blob store is closed. Open a new one.')
  }

  return {
    async write(key, content) {
      assertOpen()
      assertBlobKeys([key])
      const watched = watchContent(content)
      let id: number | undefined
      try {
        id = required((await storage.reserveIds(BLOBS.name, 1))[0])
        await writeBlobRows(storage, { id, key }, watched)
      } catch (error) {
        if (id !== undefined) await discard(storage, id)
        throw watched.hasThrown(error) ? error : blobError(error)
      }
    },
    async *read(key, range) {
      assertOpen()
      assertBlobKeys([key])
      assertByteRange(range)
      try {
        for await (const chunk of readPieces(storage, await wholeBlob(storage, key), range)) {
          assertOpen()
          yield chunk
        }
      } catch (error) {
        throw blobError(error)
      }
    },
    async delete(keys) {
      assertOpen()
      assertBlobKeys(keys)
      try {
        for (let start = 0; start < keys.length; start += KEYS_AT_ONCE)
          await deleteBlobRows(storage, await idsOf(storage, keys.slice(start, start + KEYS_AT_ONCE)))
      } catch (error) {
        throw blobError(error)
      }
    },
    async close() {
      isClosed = true
    },
  }
}

/** Removes what a failed write left. If that fails too, a deletion of the key removes it. */
async function discard(storage: Storage, id: number): Promise<void> {
  try {
    await deleteBlobRows(storage, [id])
  } catch {
    // The error of the write is the one to report.
  }
}

async function idsOf(storage: Storage, keys: readonly string[]): Promise<readonly number[]> {
  return (await rowsOf(storage, keys, [])).map(({ id }) => id)
}

function rowsOf(storage: Storage, keys: readonly string[], columns: readonly string[]): Promise<readonly Row[]> {
  const distinct = [...new Set(keys)]
  return storage.find(
    BLOBS.name,
    { kind: 'in', column: 'key', values: distinct },
    { order: 'asc', limit: distinct.length, columns },
  )
}

async function wholeBlob(storage: Storage, key: string): Promise<BlobRow & { readonly size: number }> {
  const [row] = await rowsOf(storage, [key], ['pieces', 'size'])
  if (row === undefined) throw noBlobError()
  const { size, ...blob } = toBlobRow(row)
  if (size === undefined) throw noBlobError()
  return { ...blob, size }
}

async function* readPieces(
  storage: Storage,
  { id, size, pieces }: BlobRow & { readonly size: number },
  { start, end }: ByteRange,
): AsyncGenerator<Uint8Array, void, void> {
  if (pieces !== Math.ceil(size / BLOB_PIECE_BYTES)) throw damagedBlobError()
  const upTo = Math.min(end, size)
  const endPiece = Math.ceil(upTo / BLOB_PIECE_BYTES)
  for (let piece = Math.floor(start / BLOB_PIECE_BYTES); start < upTo && piece < endPiece; piece += PIECES_AT_ONCE) {
    const ids = pieceIds(id, piece, Math.min(endPiece, piece + PIECES_AT_ONCE))
    for (const [index, row] of (await storage.get(BLOB_PIECES.name, ids)).entries()) {
      const from = (piece + index) * BLOB_PIECE_BYTES
      const content = await contentOf(storage, id, row)
      if (content.length !== Math.min(BLOB_PIECE_BYTES, size - from)) throw damagedBlobError()
      yield content.subarray(Math.max(0, start - from), upTo - from)
    }
  }
}

/** The bytes of a piece. If its row is missing, the blob was deleted meanwhile, or the row was taken out of the database. */
async function contentOf(storage: Storage, blobId: number, row: Row | undefined): Promise<Uint8Array> {
  if (row?.content instanceof Uint8Array) return row.content
  const [blob] = await storage.get(BLOBS.name, [blobId])
  throw blob === undefined || toBlobRow(blob).size === undefined ? noBlobError() : damagedBlobError()
}

/** Returns an error of the storage as the blob port has it: after a lost transaction the call can be repeated with another key. */
function blobError(error: unknown): unknown {
  if (isVaultError(error, 'conflict'))
    return new VaultError('internal', 'The key of a blob is already in use. This is misuse of the blob port.')
  if (isVaultError(error, 'aborted') || isVaultError(error, 'outcome_unknown')) {
    const message = 'The database lost a transaction of a blob. Delete the blob, then retry.'
    return new VaultError('unavailable', message, {}, { cause: causeOf(error) })
  }
  return error
}

/** Bytes of every piece but the last. Not to be changed: stored blobs are read by it. */
export const BLOB_PIECE_BYTES = 64 * 1024
/** Pieces of one blob at most: 18 of the 48 bits of a row id. A blob has at most 16 GiB. */
const MAX_PIECES = 2 ** 18

/** The row of a blob. */
export interface BlobRow {
  readonly id: number
  readonly version: number
  /** Number of pieces that are stored, all from 0 on. */
  readonly pieces: number
  /** Length in bytes; undefined while the blob is written or deleted. */
  readonly size: number | undefined
}

/** Returns the row of a blob as stored. Throws `data_loss` if its numbers cannot be right. */
function toBlobRow({ id, version, pieces, size }: Row): BlobRow {
  const isWhole = size !== null
  if (!isCount(pieces) || (isWhole && !isCount(size))) throw damagedBlobError()
  return { id, version, pieces, size: isWhole ? size : undefined }
}

function isCount(cell: unknown): cell is number {
  return typeof cell === 'number' && Number.isSafeInteger(cell) && cell >= 0
}

/** Throws `storage_full` if a blob of this row id cannot have so many pieces. */
function assertPiecesFit(blobId: number, pieces: number): void {
  if (pieces > MAX_PIECES)
    throw new VaultError('storage_full', 'A blob in the database can have at most 16 GiB. Use a folder or an object store.')
  if (blobId > Math.floor(MAX_ROW_ID / MAX_PIECES) - 1)
    throw new VaultError('storage_full', 'The database has no ids left for blobs. Use a folder or an object store.')
}

/** Row ids of the pieces from `first` up to but not including `end`. */
function pieceIds(blobId: number, first: number, end: number): readonly number[] {
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => blobId * MAX_PIECES + first + index)
}

/** `data_loss`: rows of a blob were changed or deleted in the database. */
function damagedBlobError(): VaultError {
  return new VaultError('data_loss', 'Rows of a blob were changed in the database. Restore them from a backup.')
}

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
async function writeBlobRows(storage: Storage, blob: NewBlob, content: AsyncIterable<Uint8Array>): Promise<void> {
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
async function deleteBlobRows(storage: Storage, ids: readonly number[]): Promise<void> {
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
