/** Blobs in the database of the vault, as rows: nothing to set up, and one backup for records and files. */
import { isVaultError, VaultError } from '../errors.ts'
import type { BlobStore, ByteRange } from '../ports/blobs.ts'
import type { Row, Storage } from '../ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../schema/system-tables.ts'
import { assertBlobKeys, assertByteRange, causeOf, noBlobError } from '../util/causes.ts'
import { required } from '../util/lists.ts'
import { watchContent } from '../util/memory.ts'
import {
  BLOB_PIECE_BYTES,
  type BlobRow,
  damagedBlobError,
  deleteBlobRows,
  pieceIds,
  toBlobRow,
  writeBlobRows,
} from './blob-rows.ts'

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
