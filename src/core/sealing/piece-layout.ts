/** Where the pieces of a file are in its sealed content. */
import { PIECE_BYTES } from '../limits.ts'
import type { ByteRange } from '../ports/blobs.ts'
import { SEALED_PIECE_OVERHEAD } from './file-pieces.ts'

/** Length of every sealed piece but the last, in bytes. */
export const SEALED_PIECE_BYTES = PIECE_BYTES + SEALED_PIECE_OVERHEAD

/** Returns the number of pieces of a file of `size` bytes. */
export function pieceCount(size: number): number {
  return Math.ceil(size / PIECE_BYTES)
}

/** Returns the length of the sealed content of a file of `size` bytes. */
export function sealedSize(size: number): number {
  return size + pieceCount(size) * SEALED_PIECE_OVERHEAD
}

/** The pieces that hold a range of a file. */
export interface PieceRange {
  /** Position of the first piece, from 0. */
  readonly first: number
  /** The bytes of the sealed content that these pieces take. */
  readonly sealed: ByteRange
  /** Number of bytes of the first piece before the range. */
  readonly skip: number
}

/** Returns the pieces that hold a range of a file of `size` bytes. The range is not empty and within the file. */
export function piecesOf(size: number, { start, end }: ByteRange): PieceRange {
  const first = Math.floor(start / PIECE_BYTES)
  const last = Math.floor((end - 1) / PIECE_BYTES)
  const sealedEnd = Math.min((last + 1) * SEALED_PIECE_BYTES, sealedSize(size))
  return { first, sealed: { start: first * SEALED_PIECE_BYTES, end: sealedEnd }, skip: start - first * PIECE_BYTES }
}
