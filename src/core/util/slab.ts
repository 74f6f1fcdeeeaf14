/** Slabs: many byte strings in one buffer, so that a whole list crosses a port in one call. */
import { required } from './at.ts'
import { toUtf8 } from './bytes.ts'
import { fewBytes, fewNumbers } from './few-bytes.ts'

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
