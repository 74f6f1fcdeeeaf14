/** Many byte strings side by side in one buffer, so that a whole list crosses a port in one call. */

/** Item i is `bytes[start(i) .. ends[i])`, where start(0) is 0 and start(i) is ends[i - 1]. */
export interface Slab {
  readonly bytes: Uint8Array
  readonly ends: Uint32Array
  readonly count: number
}

/** Offset at which item i begins. */
export function slabStart(slab: Slab, index: number): number {
  return index === 0 ? 0 : (slab.ends[index - 1] ?? 0)
}

/** Item i as a view, not a copy. */
export function slabItem(slab: Slab, index: number): Uint8Array {
  return slab.bytes.subarray(slabStart(slab, index), slab.ends[index] ?? 0)
}

/** A list of byte strings as one slab: copied, but for a single one. */
export function toSlab(items: readonly Uint8Array[]): Slab {
  const [only] = items
  if (only !== undefined && items.length === 1) return { bytes: only, ends: Uint32Array.of(only.length), count: 1 }
  const ends = new Uint32Array(items.length)
  let size = 0
  for (let i = 0; i < items.length; i++) {
    size += items[i]?.length ?? 0
    ends[i] = size
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const item of items) {
    bytes.set(item, at)
    at += item.length
  }
  return { bytes, ends, count: items.length }
}
