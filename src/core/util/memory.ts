/** Memory for bytes: few of them in pieces that many share, whole lists in slabs, streams in blocks, and long ones freed at once. */

import { VaultError } from '../errors.ts'
import { type FewBytes, toUtf8 } from './bytes.ts'
import { required } from './lists.ts'

/** Bytes of one piece of memory, which is freed with the last of its users. More would be kept for one of them. */
const SHARED_BYTES = 8192
/** Longer bytes have memory of their own. */
const MAX_FEW = 1024

/** Returns a view of `length` elements of memory from `start`, in bytes. */
type View<Elements> = (memory: ArrayBuffer, start: number, length: number) => Elements

/** Returns a function whose elements share memory with each other, and with nothing else. Each has `elementBytes`. */
function createFew<Elements>(elementBytes: number, view: View<Elements>): (length: number) => Elements {
  let shared = new ArrayBuffer(0)
  let used = 0
  return (length) => {
    const bytes = length * elementBytes
    if (bytes > MAX_FEW) return view(new ArrayBuffer(bytes), 0, length)
    // A piece is not filled to its end: one that was transferred has no bytes, and so no room for zero bytes either.
    if (used + bytes >= shared.byteLength) {
      shared = new ArrayBuffer(SHARED_BYTES)
      used = 0
    }
    const start = used
    used += bytes
    return view(shared, start, length)
  }
}

/**
 * Returns a function whose bytes share memory with each other, and with nothing else: what has some of them can reach all by `buffer`, and a
 * `postMessage` of some sends all.
 */
export function createFewBytes(): FewBytes {
  return createFew(1, (memory, start, length) => new Uint8Array(memory, start, length))
}

/**
 * Returns zeros that no other call gets. V8 keeps up to 64 bytes inside its heap, and moves them out for the first view or native call, which
 * costs more than all else here. Longer ones have memory of their own, which costs as much. Not for secrets, nor for what the application is given.
 */
export const fewBytes = createFewBytes()

/** As `fewBytes`, for plaintexts that are sealed, or read and then dropped: their memory has nothing that is handed to a storage. */
export const plaintextBytes = createFewBytes()

/** As `fewBytes`, for lists of numbers. */
export const fewNumbers = createFew(
  Uint32Array.BYTES_PER_ELEMENT,
  (memory, start, length) => new Uint32Array(memory, start, length),
)

/** Returns a copy of bytes, as `fewBytes`. */
export function copyFew(bytes: Uint8Array): Uint8Array {
  const copy = fewBytes(bytes.length)
  copy.set(bytes)
  return copy
}

/** Returns bytes that share their memory with nothing, for an application, which can transfer it: the same ones, or a copy. */
export function withOwnMemory(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : bytes.slice()
}

/** Shorter ones cost less to collect than to free: the engine keeps the shortest inside its heap. */
const MIN_BYTES = 4096

/**
 * Frees the memory of bytes that nothing else uses or will use. They are empty afterwards. Does nothing for short ones, and for those that are
 * only a part of their memory.
 */
export function freeBytes(bytes: Uint8Array): void {
  if (bytes.length < MIN_BYTES) return
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length) buffer.transfer(0)
}

/** A list of `count` byte strings. Item i is `bytes[start(i) .. ends[i])`, where start(0) is 0 and start(i) is ends[i - 1]. */
export interface Slab {
  readonly bytes: Uint8Array
  readonly ends: Uint32Array
  readonly count: number
}

/** Returns the offset at which an item starts; for `index` = `count`, the end of the last item. Throws `internal` beyond that. */
export function slabStart(slab: Slab, index: number): number {
  return index === 0 ? 0 : required(slab.ends[index - 1])
}

/** Returns an item as a view, not a copy. Throws `internal` if there is no such item. */
export function slabItem(slab: Slab, index: number): Uint8Array {
  return slab.bytes.subarray(slabStart(slab, index), required(slab.ends[index]))
}

/** Returns a list of byte strings as one slab: a view of them if they lie side by side in one buffer, as some storages return them, else a copy. */
export function toSlab(items: readonly Uint8Array[]): Slab {
  const { ends, size } = endsOf(items)
  return { bytes: sideBySide(items, size) ?? copyInto(new Uint8Array(size), items), ends, count: items.length }
}

/** Returns a list of texts as UTF-8. They are joined first, because one long text is encoded several times faster than many short ones. */
export function textsToSlab(texts: readonly string[]): Slab {
  const ends = fewNumbers(texts.length)
  let units = 0
  for (let i = 0; i < texts.length; i++) {
    units += required(texts[i]).length
    ends[i] = units
  }
  const bytes = toUtf8(texts.join(''))
  // Text that is not ASCII has more bytes than units. Each text is then encoded alone: two of them could join halves of one character.
  return bytes.length === units ? { bytes, ends, count: texts.length } : toSlab(texts.map(toUtf8))
}

/** Returns a copy of a list of byte strings as one slab. A short one shares its memory with others. */
export function copyToSlab(items: readonly Uint8Array[]): Slab {
  const { ends, size } = endsOf(items)
  return { bytes: copyInto(fewBytes(size), items), ends, count: items.length }
}

/** Returns the items of a slab from index `from` to `to` (exclusive), as views of the same bytes. */
export function sliceSlab(slab: Slab, from: number, to: number): Slab {
  const start = slabStart(slab, from)
  const end = slabStart(slab, to)
  const ends = slab.ends.slice(from, to)
  if (start > 0) for (let i = 0; i < ends.length; i++) ends[i] = required(ends[i]) - start
  return { bytes: slab.bytes.subarray(start, end), ends, count: to - from }
}

function endsOf(items: readonly Uint8Array[]): { readonly ends: Uint32Array; readonly size: number } {
  const ends = fewNumbers(items.length)
  let size = 0
  for (let i = 0; i < items.length; i++) {
    size += required(items[i]).length
    ends[i] = size
  }
  return { ends, size }
}

/** Returns all items as one view; undefined if they do not lie side by side. */
function sideBySide(items: readonly Uint8Array[], size: number): Uint8Array | undefined {
  const [first] = items
  if (first === undefined || items.length === 1) return first
  let end = first.byteOffset
  for (const { byteOffset, length } of items) {
    if (byteOffset !== end) return undefined
    end += length
  }
  // Read last: the engine makes a buffer for a short array when it is first asked for.
  const { buffer } = first
  return items.every((item) => item.buffer === buffer) ? new Uint8Array(buffer, first.byteOffset, size) : undefined
}

function copyInto(bytes: Uint8Array, items: readonly Uint8Array[]): Uint8Array {
  let start = 0
  for (const item of items) {
    bytes.set(item, start)
    start += item.length
  }
  return bytes
}

/** The size of the blocks, and how many are in memory. */
export interface BlockOptions {
  readonly size: number
  /** A block stays unchanged until this many later ones are asked for. Default 1. */
  readonly buffers?: number
}

/** Bytes of the first buffer at first, because most contents are short, and how often as many it gets when they do not fit. */
const FIRST_CAPACITY = 64 * 1024
const GROWTH = 16

/**
 * Yields the bytes in blocks of exactly `size`. The last one is shorter, and empty if the bytes fill the others. Each is a view of a
 * buffer that is used again. Reads no byte ahead of the block that was asked for, except for the rest of a chunk.
 */
export async function* toBlocks(
  content: AsyncIterable<Uint8Array>,
  { size, buffers = 1 }: BlockOptions,
): AsyncGenerator<Uint8Array, void, void> {
  const pool: Uint8Array[] = [new Uint8Array(Math.min(size, FIRST_CAPACITY))]
  let turn = 0
  let length = 0
  for await (const chunk of content) {
    for (let from = 0; from < chunk.length; ) {
      const taken = Math.min(chunk.length - from, size - length)
      const buffer = withCapacity(pool[turn] ?? new Uint8Array(size), { length, needed: length + taken, size })
      pool[turn] = buffer
      buffer.set(chunk.subarray(from, from + taken), length)
      from += taken
      length += taken
      if (length < size) continue
      yield buffer
      turn = (turn + 1) % buffers
      length = 0
    }
  }
  yield (pool[turn] ?? new Uint8Array()).subarray(0, length)
}

/** The buffer, or a longer one that begins with the same bytes. */
function withCapacity(
  buffer: Uint8Array,
  { length, needed, size }: { readonly length: number; readonly needed: number; readonly size: number },
): Uint8Array {
  if (needed <= buffer.length) return buffer
  const longer = new Uint8Array(Math.min(size, Math.max(needed, buffer.length * GROWTH)))
  longer.set(buffer.subarray(0, length))
  return longer
}

/** Content whose own errors can be distinguished from those of a store. */
export interface WatchedContent extends AsyncIterable<Uint8Array> {
  /** True if the content threw this. */
  hasThrown(error: unknown): boolean
}

/** Returns the content, and remembers what it throws. A chunk that is no byte string counts as such an error. */
export function watchContent(content: AsyncIterable<Uint8Array>): WatchedContent {
  const thrown = new Set<unknown>()
  return {
    hasThrown: (error) => thrown.has(error),
    async *[Symbol.asyncIterator]() {
      const chunks = content[Symbol.asyncIterator]()
      let isEnded = false
      try {
        for (;;) {
          const next = await chunks.next()
          if (next.done === true) break
          if (!(next.value instanceof Uint8Array)) throw new VaultError('internal', 'A chunk of the content is no Uint8Array.')
          yield next.value
        }
        isEnded = true
      } catch (error) {
        isEnded = true
        thrown.add(error)
        throw error
      } finally {
        if (!isEnded) await chunks.return?.()
      }
    },
  }
}
