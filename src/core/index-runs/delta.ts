/** Deltas: what one commit changed in the indexes of a table, as one sealed row. */
import type { KeyRing } from '../ports/crypto.ts'
import type { NewRow } from '../ports/storage.ts'
import type { IndexKind } from '../schema/column.ts'
import { sealEntry } from '../sealing/envelope.ts'
import { ByteWriter, readU16, readU32 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { EntryList, type Segment } from './segment.ts'
import { TRIGRAM_BYTES } from './trigrams.ts'

/** The first byte of the content of a row of INDEX_RUNS: what it is. A claim holds the row of a run while its blocks are written. */
export const CONTENTS = { delta: 1, small: 2, run: 3, claim: 4, erased: 5 } as const
/** Bytes of the kind, and of the space, in front of each content: the column `space` is not bound to the row. */
export const PREFIX_BYTES = 5

/** Bytes of an index and a length in front of the entries of a part. */
const PART_BYTES = 8
/** Bytes of a row id. */
export const ROW_BYTES = 6
/** The bit in the length of a key that says that the value went. */
const WENT = 0x80
/** In place of the length of a key: two bytes of how many keys of TRIGRAM_BYTES follow, all of one row. */
const TRIGRAMS = 0x7f
/** Bytes of the changes of a delta, but for its last record. Readers and merges open a delta in one piece, which takes some 10 ms of CPU for as many trigrams. */
export const DELTA_BYTES = 65_536
/** Bytes of the first buffer of a part. Most are of one row. */
const FIRST_BYTES = 96

/** Steps of the lengths of deltas: the small one up to one large one. A delta of one row has one length, whatever its values are. */
const SMALL_STEP = 512
const LARGE_STEP = 4096

/** What is changed in the indexes of a table, by one delta. */
export class IndexChanges {
  readonly #parts = new Map<number, { readonly entries: ByteWriter; count: number }>()
  #hasTrigrams = false

  /** Notes that a row has a value with these keys from now on, as `indexKeys` returns them. */
  add(index: number, keys: Uint8Array, row: number, kind: IndexKind = 'order'): void {
    this.#put(index, keys, { row, kind, sign: 0 })
  }

  /** Notes that a row no longer has its value with these keys. */
  remove(index: number, keys: Uint8Array, row: number, kind: IndexKind = 'order'): void {
    this.#put(index, keys, { row, kind, sign: WENT })
  }

  /** True if some keys are of trigrams, whose number is about the length of the text. */
  get hasTrigrams(): boolean {
    return this.#hasTrigrams
  }

  /** Bytes of the changes. */
  get bytes(): number {
    let bytes = 0
    for (const { entries } of this.#parts.values()) bytes += entries.length
    return bytes
  }

  /** Number of changes. */
  get length(): number {
    let length = 0
    for (const { count } of this.#parts.values()) length += count
    return length
  }

  /** Writes each index with its changes, in the order in which they came: their length depends on nothing but the lengths of keys. */
  writeTo(out: ByteWriter): void {
    for (const [index, { entries }] of this.#parts) {
      out.u32(index)
      out.u32(entries.length)
      out.raw(entries.bytes.subarray(0, entries.length))
    }
  }

  #put(
    index: number,
    keys: Uint8Array,
    { row, kind, sign }: { readonly row: number; readonly kind: IndexKind; readonly sign: number },
  ): void {
    let part = this.#parts.get(index)
    if (part === undefined) {
      part = { entries: new ByteWriter(FIRST_BYTES), count: 0 }
      this.#parts.set(index, part)
    }
    const { entries } = part
    const count = kind === 'order' ? 1 : keys.length / TRIGRAM_BYTES
    if (kind === 'order') entries.u8(keys.length | sign)
    else {
      this.#hasTrigrams = true
      entries.u8(TRIGRAMS | sign)
      entries.u8(count >>> 8)
      entries.u8(count & 0xff)
    }
    entries.raw(keys)
    writeRow(entries, row)
    part.count += count
  }
}

/** Returns the last of some changes, which become a delta each, or new ones where that is full. */
export function notFull(deltas: IndexChanges[]): IndexChanges {
  const last = deltas.at(-1)
  if (last !== undefined && last.bytes < DELTA_BYTES) return last
  const next = new IndexChanges()
  deltas.push(next)
  return next
}

/** Writes a row id in ROW_BYTES. */
export function writeRow(out: ByteWriter, row: number): void {
  const high = Math.floor(row / 0x1_0000_0000)
  out.u8(high >>> 8)
  out.u8(high & 0xff)
  out.u32(row >>> 0)
}

/** Returns the row id that `writeRow` wrote. */
export function readRow(bytes: Uint8Array, at: number): number {
  return readU16(bytes, at) * 0x1_0000_0000 + readU32(bytes, at + 2)
}

/** Writes zeros up to the next step of the lengths of deltas. */
export function padToStep(out: ByteWriter, smallStep = SMALL_STEP): void {
  const step = out.length <= LARGE_STEP ? smallStep : LARGE_STEP
  const padded = Math.ceil(out.length / step) * step
  out.reserve(padded - out.length)
  out.bytes.fill(0, out.length, padded)
  out.length = padded
}

/** The keys that seal rows of indexes. `vault` is the 16-byte digest of the vault id. */
export interface SealingKeys {
  readonly ring: KeyRing
  readonly vault: Uint8Array
}

/** Seals the changes of several writes of one table and one commit as one row of INDEX_RUNS. */
export function sealDelta(
  keys: SealingKeys,
  id: number,
  table: { readonly objectId: number },
  changes: readonly IndexChanges[],
): NewRow {
  const out = new ByteWriter(SMALL_STEP)
  out.u8(CONTENTS.delta)
  out.u32(table.objectId)
  for (const one of changes) one.writeTo(out)
  padToStep(out, changes.some(({ hasTrigrams }) => hasTrigrams) ? LARGE_STEP : SMALL_STEP)
  const content = out.bytes.subarray(0, out.length)
  const row = sealRun(keys, { id, space: table.objectId, content })
  content.fill(0)
  return row
}

/** Returns a row of INDEX_RUNS with this content. */
export function sealRun(
  { ring, vault }: SealingKeys,
  { id, space, content }: { readonly id: number; readonly space: number; readonly content: Uint8Array },
): NewRow {
  const body = sealEntry({ ring, vault, kind: 'run', id }, content)
  // The last bytes of the tag are as random as a nonce, and of this body alone.
  return { id, space, mark: readRow(body, body.length - ROW_BYTES), body }
}

/** Returns what a delta has of each index, by its object id. */
export function readDelta(content: Uint8Array): ReadonlyMap<number, Segment> {
  const lists = new Map<number, EntryList>()
  for (let at = PREFIX_BYTES; at + PART_BYTES <= content.length; ) {
    const index = readU32(content, at)
    // No index has the number 0: from here on there are zeros.
    if (index === 0) break
    const list = lists.get(index) ?? new EntryList(content)
    lists.set(index, list)
    const end = at + PART_BYTES + readU32(content, at + 4)
    readEntries(content, at + PART_BYTES, end, list)
    at = end
  }
  return new Map([...lists].map(([index, list]) => [index, list.sorted()]))
}

function readEntries(content: Uint8Array, start: number, end: number, list: EntryList): void {
  for (let at = start; at < end; ) {
    const head = required(content[at++])
    const weight = (head & WENT) === 0 ? 1 : -1
    const length = head & ~WENT
    if (length === TRIGRAMS) {
      const first = at + 2
      const keysEnd = first + readU16(content, at) * TRIGRAM_BYTES
      const row = readRow(content, keysEnd)
      for (let key = first; key < keysEnd; key += TRIGRAM_BYTES) list.add(key, key + TRIGRAM_BYTES, row, weight)
      at = keysEnd + ROW_BYTES
    } else {
      const keyEnd = at + length
      list.add(at, keyEnd, readRow(content, keyEnd), weight)
      at = keyEnd + ROW_BYTES
    }
  }
}
