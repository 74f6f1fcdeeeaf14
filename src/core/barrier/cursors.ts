/** Encodes the last row of a page as a cursor, and decodes it: an encrypted pointer that is neither a record id nor a token. */
import { type KeyRing, POINTER_WORDS } from '../ports/crypto.ts'
import type { Cell, Page } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { type Pointer, readPointer, writePointer } from '../sealing/pointer.ts'
import { ByteWriter, readU32, toHex } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { toSlab } from '../util/memory.ts'
import { fromBase64Url, fromHex, toBase64Url } from '../util/text.ts'
import { digestItems } from './digest-values.ts'
import { keyOfCell } from './lookup.ts'
import { encodeRecordIds, writeRecordPointers } from './record-ids.ts'

/** A read page by page. Its cursors are of no other read. */
export interface PagedRead {
  readonly table: Pick<Table, 'objectId'>
  readonly order: Page['order']
  /** The column that is looked up, and the cells to find; undefined for every record. */
  readonly lookup: { readonly column: Pick<Column, 'objectId'>; readonly cells: readonly Cell[] } | undefined
}

/** Scope of the digests of reads. Those of columns contain a slash. */
const SCOPE = 'cursor'
/** The first byte of the check in a pointer that is a cursor. It makes the check of none zero, as that of a record id is. */
const KIND = 1
/** Bits of the check after the kind, of 26 in its high word. */
const HIGH_BITS = 18
const UUID_BYTES = 16

/** The rows of a page, and the one that its cursor comes after; undefined for none. Row 0, which never exists, is the start of a rising read. */
export interface PageRows {
  readonly rows: readonly number[]
  readonly last: number | undefined
}

/** Returns the public ids of a page, and its cursor: 22 characters of base64url. One call of the key ring encrypts them all. */
export function encodePage(
  ring: KeyRing,
  read: PagedRead,
  { rows, last }: PageRows,
): { readonly ids: readonly string[]; readonly next: string | undefined } {
  if (last === undefined) return { ids: encodeRecordIds(ring, read.table, rows), next: undefined }
  const words = new Uint32Array((rows.length + 1) * POINTER_WORDS)
  writeRecordPointers(words, read.table, rows)
  writePointer(words, rows.length, { objectId: read.table.objectId, row: last, ...checkOf(ring, read) })
  const ids = ring.encryptPointers(ring.lookupVersion, words)
  const uuid = required(ids.pop(), 'The cursor of a page')
  return { ids, next: toBase64Url(fromHex(uuid.replaceAll('-', ''))) }
}

/** Returns the row of a cursor, which may not exist any more; undefined for a text that is no cursor of this read. */
export function decodeCursor(ring: KeyRing, read: PagedRead, text: string): number | undefined {
  const bytes = text.length > 2 * UUID_BYTES ? undefined : fromBase64Url(text)
  if (bytes?.length !== UUID_BYTES) return undefined
  const { words, wellFormed } = ring.decryptPointers(ring.lookupVersion, [toUuid(bytes)])
  const { objectId, row, checkHigh, checkLow } = readPointer(words, 0)
  const check = checkOf(ring, read)
  const isOurs = objectId === read.table.objectId && checkHigh === check.checkHigh && checkLow === check.checkLow
  return wellFormed[0] === 1 && isOurs ? row : undefined
}

function toUuid(bytes: Uint8Array): string {
  const hex = toHex(bytes)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** The two words of a pointer that say what the read finds, and in which order. */
type Check = Pick<Pointer, 'checkHigh' | 'checkLow'>

/** The checks of reads of every record by order: the same for all tables of a key ring. */
const checksOfAll = new WeakMap<KeyRing, Map<Page['order'], Check>>()

function checkOf(ring: KeyRing, read: PagedRead): Check {
  if (read.lookup !== undefined) return computeCheck(ring, read)
  const checks = checksOfAll.get(ring) ?? new Map<Page['order'], Check>()
  const check = checks.get(read.order) ?? computeCheck(ring, read)
  checksOfAll.set(ring, checks.set(read.order, check))
  return check
}

/** Returns the kind, and 50 bits of a digest of what the read finds, and in which order. */
function computeCheck(ring: KeyRing, { order, lookup }: PagedRead): Check {
  const out = new ByteWriter(64)
  out.u8(order === 'asc' ? 0 : 1)
  if (lookup !== undefined) {
    out.u32(lookup.column.objectId)
    // The order of the values, and how often one is listed, do not matter to what is found.
    for (const key of [...new Set(lookup.cells.map(keyOfCell))].sort()) {
      out.u32(key.length)
      out.utf8(key)
    }
  }
  const digest = digestItems(ring, SCOPE, toSlab([out.written()]))
  return { checkHigh: KIND * 2 ** HIGH_BITS + (readU32(digest, 0) >>> (32 - HIGH_BITS)), checkLow: readU32(digest, 4) }
}
