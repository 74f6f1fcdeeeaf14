/** Slabs: many byte strings in one buffer, so that a whole list crosses a port in one call. */
import { required } from './at.ts'

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

/** Returns a list of byte strings as one slab. Copies them; a single one becomes a view. */
export function toSlab(items: readonly Uint8Array[]): Slab {
  const ends = new Uint32Array(items.length)
  let size = 0
  for (let i = 0; i < items.length; i++) {
    size += required(items[i]).length
    ends[i] = size
  }
  const [only] = items
  if (only !== undefined && items.length === 1) return { bytes: only, ends, count: 1 }
  const bytes = new Uint8Array(size)
  let start = 0
  for (const item of items) {
    bytes.set(item, start)
    start += item.length
  }
  return { bytes, ends, count: items.length }
}
