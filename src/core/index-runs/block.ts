/**
 * Blocks: sorted entries as bytes, of one length each. Layout, with numbers big-endian: groups 4 | entries 4 | bytes of all keys 4, then each group. A group is the
 * number of first bytes that its key shares with that before 1 | the number of others 1 | those bytes, then its entries. An entry is a number in groups of
 * seven bits, lowest first: four times the distance from the row before, or from 0, and 2 if a weight other than 1 follows, and 1 for the last of the group.
 */
import { readU32 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { MAX_KEY_BYTES } from './order-key.ts'
import type { Segment } from './segment.ts'
import { numberOfKey, WholeSum } from './whole-sum.ts'

/** Bytes of a block before it is sealed. */
export const BLOCK_BYTES = 8192

const HEADER_BYTES = 12
/** Bytes of an entry, and of a group with its first entry, at most. */
const MAX_ENTRY_BYTES = 13
const MAX_GROUP_BYTES = 2 + MAX_KEY_BYTES + MAX_ENTRY_BYTES
const HAS_WEIGHT = 2
const IS_LAST = 1

/** A block that is written: its bytes, its first key, and what its entries come to. */
export interface WrittenBlock {
  readonly content: Uint8Array
  readonly fence: Uint8Array
  readonly entries: number
  /** How often values came, and how often they went. */
  readonly came: number
  readonly went: number
  /** Sum of the values, of an index that has sums. */
  readonly sum: bigint
}

/** Writes entries, which come by key and row, into blocks. */
export class BlockWriter {
  /** The blocks that are full, until they are taken. */
  readonly #full: WrittenBlock[] = []
  readonly #blockBytes: number
  readonly #hasSums: boolean
  /** The last key. */
  readonly #last = new Uint8Array(MAX_KEY_BYTES)
  #lastLength = 0
  #lastValue: number | bigint | undefined
  #lastRow = 0
  /** Where the last entry begins. */
  #entryAt = 0
  #content: Uint8Array
  #at = HEADER_BYTES
  #groups = 0
  #entries = 0
  #keyBytes = 0
  #fence: Uint8Array = new Uint8Array(0)
  #came = 0
  #went = 0
  #sum = new WholeSum()

  constructor(hasSums: boolean, blockBytes = BLOCK_BYTES) {
    this.#hasSums = hasSums
    this.#blockBytes = blockBytes
    this.#content = new Uint8Array(blockBytes)
  }

  /** Number of blocks that are full. */
  get full(): number {
    return this.#full.length
  }

  /** The last key. */
  get lastKey(): Uint8Array {
    return this.#last.slice(0, this.#lastLength)
  }

  /** Adds an entry whose key is `keys[start .. end)`. */
  add(keys: Uint8Array, start: number, end: number, row: number, weight: number): void {
    const length = end - start
    const shared = this.#sharedWith(keys, start, length)
    const isSameKey = shared === length && length === this.#lastLength && this.#groups > 0
    if (this.#at + (isSameKey ? MAX_ENTRY_BYTES : MAX_GROUP_BYTES) > this.#blockBytes) {
      this.#endBlock()
      this.#beginGroup(keys, start, end, 0)
    } else if (!isSameKey) {
      this.#endGroup()
      this.#beginGroup(keys, start, end, this.#groups === 0 ? 0 : shared)
    }
    this.#entry(row, weight)
  }

  /** Returns the blocks that are full, and no longer has them. */
  take(): WrittenBlock[] {
    return this.#full.splice(0)
  }

  /** Ends the last block. */
  finish(): void {
    if (this.#entries > 0) this.#endBlock()
  }

  #sharedWith(keys: Uint8Array, start: number, length: number): number {
    const last = this.#last
    const most = Math.min(this.#lastLength, length)
    let shared = 0
    while (shared < most && last[shared] === keys[start + shared]) shared++
    return shared
  }

  #beginGroup(keys: Uint8Array, start: number, end: number, shared: number): void {
    const length = end - start
    const content = this.#content
    content[this.#at++] = shared
    content[this.#at++] = length - shared
    for (let i = shared; i < length; i++) {
      const byte = keys[start + i] ?? 0 // Exists: the key ends at `end`.
      this.#last[i] = byte
      content[this.#at++] = byte
    }
    this.#lastLength = length
    this.#lastRow = 0
    if (this.#groups === 0) this.#fence = this.lastKey
    if (this.#hasSums) this.#lastValue = numberOfKey(keys, start, end)
    this.#groups++
    this.#keyBytes += length
  }

  #entry(row: number, weight: number): void {
    this.#entryAt = this.#at
    this.#varint((row - this.#lastRow) * 4 + (weight === 1 ? 0 : HAS_WEIGHT))
    if (weight !== 1) this.#varint(weight < 0 ? -2 * weight - 1 : 2 * weight)
    this.#lastRow = row
    this.#entries++
    if (weight > 0) this.#came += weight
    else this.#went -= weight
    if (this.#lastValue !== undefined) this.#sum.add(this.#lastValue, weight)
  }

  #varint(value: number): void {
    let rest = value
    for (; rest > 0x7fff_ffff; rest = Math.floor(rest / 128)) this.#content[this.#at++] = (rest % 128) | 0x80
    for (; rest > 0x7f; rest >>>= 7) this.#content[this.#at++] = (rest & 0x7f) | 0x80
    this.#content[this.#at++] = rest
  }

  #endGroup(): void {
    if (this.#groups > 0) this.#content[this.#entryAt] = required(this.#content[this.#entryAt]) | IS_LAST
  }

  #endBlock(): void {
    this.#endGroup()
    const content = this.#content
    const header = new DataView(content.buffer, content.byteOffset)
    header.setUint32(0, this.#groups)
    header.setUint32(4, this.#entries)
    header.setUint32(8, this.#keyBytes)
    this.#full.push({
      content,
      fence: this.#fence,
      entries: this.#entries,
      came: this.#came,
      went: this.#went,
      sum: this.#sum.total,
    })
    this.#content = new Uint8Array(this.#blockBytes)
    this.#at = HEADER_BYTES
    this.#groups = this.#entries = this.#keyBytes = this.#came = this.#went = 0
    this.#sum = new WholeSum()
  }
}

/** Returns the entries of a block, which begins at an offset of bytes. */
export function readBlock(content: Uint8Array, start = 0): Segment {
  const groups = readU32(content, start)
  const entries = readU32(content, start + 4)
  const keys = new Uint8Array(readU32(content, start + 8))
  const starts = new Uint32Array(groups + 1)
  const firsts = new Uint32Array(groups + 1)
  const rows = new Float64Array(entries)
  const weights = new Int32Array(entries).fill(1)
  let at = start + HEADER_BYTES
  let keyAt = 0
  let entry = 0
  const varint = (): number => {
    let byte = content[at++] ?? 0
    let value = byte & 0x7f
    for (let factor = 128; byte > 0x7f; factor *= 128) {
      byte = content[at++] ?? 0
      value += (byte & 0x7f) * factor
    }
    return value
  }
  for (let group = 0; group < groups; group++) {
    const before = group === 0 ? 0 : (starts[group - 1] ?? 0)
    const shared = content[at++] ?? 0
    const own = content[at++] ?? 0
    starts[group] = keyAt
    firsts[group] = entry
    for (let i = 0; i < shared; i++) keys[keyAt++] = keys[before + i] ?? 0
    for (let i = 0; i < own; i++) keys[keyAt++] = content[at++] ?? 0
    let row = 0
    for (let isLast = false; !isLast && entry < entries; entry++) {
      const value = varint()
      const flags = value % 4
      row += (value - flags) / 4
      rows[entry] = row
      if (flags >= HAS_WEIGHT) weights[entry] = signed(varint())
      isLast = flags % 2 === IS_LAST
    }
  }
  starts[groups] = keyAt
  firsts[groups] = entry
  return { groups, keys, starts, firsts, rows, weights }
}

/** Returns the number that was written as one without a sign. */
function signed(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2
}
