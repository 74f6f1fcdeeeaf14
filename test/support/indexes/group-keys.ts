/** Keys of segments, as tests compare them. */
import type { Segment } from '../../../src/core/index-runs/segment.ts'

/** Returns the bytes of a key in memory of their own. */
export function keyOfGroup({ keys, starts }: Segment, group: number): Uint8Array {
  return keys.slice(starts[group], starts[group + 1])
}
