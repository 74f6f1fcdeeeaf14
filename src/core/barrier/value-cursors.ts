/** Cursors of pages in the order of a column: the last value of a page and its row, sealed, and of no other read. */
import { DIGEST_BYTES } from '../ports/crypto.ts'
import type { Column } from '../schema/column-layout.ts'
import { openEntry, sealEntry } from '../sealing/envelope.ts'
import { ByteWriter, readI64, readU32, readUtf8, sameBytes, toUtf8 } from '../util/bytes.ts'
import { plaintextBytes } from '../util/memory.ts'
import { fromBase64Url, toBase64Url } from '../util/text.ts'
import type { Barrier } from './barrier.ts'
import { digestRead, type PagedRead } from './record-ids.ts'

/** A read page by page in the order of a column. */
export interface OrderedRead extends PagedRead {
  readonly by: Column
}

/** The last row of a page, and its value in the column of the order; null without one. */
export interface ValuePlace {
  readonly row: number
  readonly value: unknown
}

/** Layout of the plaintext in bytes, big-endian: digest of the read 16 | row id 8 | length of the text + 1, or 0 for null, 4 | text | zeros. */
const TEXT_START = DIGEST_BYTES + 12
/** Plaintexts are whole pieces, so that the length of a cursor says little of that of its value. */
const PIECE_BYTES = 64

/** Returns the cursor of the page that begins after a place: base64url, which grows with the value. */
export function encodeValueCursor(
  { ring, vault }: Pick<Barrier, 'ring' | 'vault'>,
  read: OrderedRead,
  place: ValuePlace,
): string {
  const out = new ByteWriter(2 * PIECE_BYTES, plaintextBytes)
  out.raw(digestRead(ring, read, ring.lookupVersion))
  out.i64(place.row)
  const text = place.value === null ? undefined : toUtf8(read.by.type.toText(place.value))
  out.u32(text === undefined ? 0 : text.length + 1)
  if (text !== undefined) out.raw(text)
  while (out.length % PIECE_BYTES > 0) out.u8(0)
  return toBase64Url(sealEntry({ ring, vault, kind: 'cursor', id: 0 }, out.written()))
}

/** Returns the place of a cursor, whose row may not exist any more; undefined for a text that is no cursor of this read. */
export function decodeValueCursor(
  { ring, vault }: Pick<Barrier, 'ring' | 'vault'>,
  read: OrderedRead,
  text: string,
): ValuePlace | undefined {
  const sealed = fromBase64Url(text)
  const bytes = sealed && openEntry({ ring, vault, kind: 'cursor', id: 0 }, sealed)
  if (bytes === undefined) return undefined
  const digest = bytes.subarray(0, DIGEST_BYTES)
  if (!ring.lookupVersions.some((version) => sameBytes(digest, digestRead(ring, read, version)))) return undefined
  const length = readU32(bytes, TEXT_START - 4)
  const value = length === 0 ? null : read.by.type.fromText(readUtf8(bytes, TEXT_START, TEXT_START + length - 1))
  return { row: Number(readI64(bytes, DIGEST_BYTES)), value }
}
