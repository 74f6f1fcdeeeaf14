/** How a blob is laid out in rows: one row that counts its pieces, and one row for each piece. */
import { VaultError } from '../errors.ts'
import { MAX_ROW_ID, type Row } from '../ports/storage.ts'

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
export function toBlobRow({ id, version, pieces, size }: Row): BlobRow {
  const isWhole = size !== null
  if (!isCount(pieces) || (isWhole && !isCount(size))) throw damagedBlobError()
  return { id, version, pieces, size: isWhole ? size : undefined }
}

function isCount(cell: unknown): cell is number {
  return typeof cell === 'number' && Number.isSafeInteger(cell) && cell >= 0
}

/** Throws `storage_full` if a blob of this row id cannot have so many pieces. */
export function assertPiecesFit(blobId: number, pieces: number): void {
  if (pieces > MAX_PIECES)
    throw new VaultError('storage_full', 'A blob in the database can have at most 16 GiB. Use a folder or an object store.')
  if (blobId > Math.floor(MAX_ROW_ID / MAX_PIECES) - 1)
    throw new VaultError('storage_full', 'The database has no ids left for blobs. Use a folder or an object store.')
}

/** Row ids of the pieces from `first` up to but not including `end`. */
export function pieceIds(blobId: number, first: number, end: number): readonly number[] {
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => blobId * MAX_PIECES + first + index)
}

/** `data_loss`: rows of a blob were changed or deleted in the database. */
export function damagedBlobError(): VaultError {
  return new VaultError('data_loss', 'Rows of a blob were changed in the database. Restore them from a backup.')
}
