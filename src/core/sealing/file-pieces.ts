/** Seals and opens the pieces of a file, and says where they are in its sealed content. Each is bound to its file, its content, its position, and whether it is the last. */

import { PIECE_BYTES } from '../limits.ts'
import type { ByteRange } from '../ports/blobs.ts'
import { AAD_BYTES, type ContentKey, type Opened } from '../ports/crypto.ts'
import { type Slab, slabStart } from '../util/memory.ts'
import { fromHex } from '../util/text.ts'

/*
 * A file is cut into pieces of PIECE_BYTES; the last one can be shorter. Its sealed content is the sealed pieces, one after the other. This is
 * the STREAM construction with a nonce in each piece: a piece that is changed, moved within its file or to another file, or a file that is cut
 * or extended, does not open.
 */

/** Header of a sealed piece: the format, without a version, because its key is that of its file. Other formats: envelope.ts. */
const HEADER = Uint8Array.of(4)
/** Number of bytes that sealing adds to a piece: the header, the nonce and the tag. */
const SEALED_PIECE_OVERHEAD = HEADER.length + 24 + 16

/** The key, the file and the content of some neighboring pieces. */
export interface PiecesAddress {
  /** The key of the file. */
  readonly contentKey: ContentKey
  /** Key of the content in the blob store, 32 hex digits: an upload that failed and one that is tried again with the same file differ in it. */
  readonly key: string
  /** Row id of the file. */
  readonly file: number
  /** Position of the first of these pieces, from 0. */
  readonly first: number
  /** Number of pieces of the whole file, if the last one is among these; else undefined. */
  readonly count: number | undefined
}

/** Returns each piece sealed, in order. */
export function sealPieces(address: PiecesAddress, pieces: Slab): Slab {
  return address.contentKey.seal(HEADER, pieces, associatedDataOf(address, pieces.count))
}

/** Returns each piece opened, in order. A piece that was changed or is not the one of this position does not open. */
export function openPieces(address: PiecesAddress, sealed: Slab): Opened {
  const associatedData = associatedDataOf(address, sealed.count)
  // The header as it is stored: another one does not open.
  for (let i = 0; i < sealed.count; i++)
    associatedData.set(sealed.bytes.subarray(slabStart(sealed, i), slabStart(sealed, i) + HEADER.length), i * AAD_BYTES)
  return address.contentKey.open(HEADER.length, sealed, associatedData)
}

/** Layout of the associated data of a piece in bytes, big-endian: header 1 | zero 2 | is last 1 | position 4 | file 8 | key 16. */
function associatedDataOf({ key, file, first, count }: PiecesAddress, pieces: number): Uint8Array {
  const associatedData = new Uint8Array(pieces * AAD_BYTES)
  const view = new DataView(associatedData.buffer)
  const content = fromHex(key)
  for (let i = 0; i < pieces; i++) {
    const start = i * AAD_BYTES
    associatedData.set(HEADER, start)
    view.setUint8(start + 3, first + i + 1 === count ? 1 : 0)
    view.setUint32(start + 4, first + i)
    view.setUint32(start + 8, Math.floor(file / 0x1_0000_0000))
    view.setUint32(start + 12, file >>> 0)
    associatedData.set(content, start + AAD_BYTES - content.length)
  }
  return associatedData
}

/** Length of every sealed piece but the last, in bytes. */
export const SEALED_PIECE_BYTES = PIECE_BYTES + SEALED_PIECE_OVERHEAD

/** Returns the number of pieces of a file of `size` bytes. */
export function pieceCount(size: number): number {
  return Math.ceil(size / PIECE_BYTES)
}

/** Returns the length of the sealed content of a file of `size` bytes. */
function sealedSize(size: number): number {
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
