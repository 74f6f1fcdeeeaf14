/** CMAC of short messages in parallel, with one AES block per item and step: by the host for many items, here for a few. */
import { encryptBlocks } from './aes'

/** Maximum number of blocks of one message. MAX_ITEM_BLOCKS of the host must not be higher. */
const MOST_BLOCKS: usize = 32

/** Returns the number of blocks of a message; an empty one has one. */
@inline
function blocksOf(length: u32): usize {
  return length == 0 ? 1 : <usize>((length + 15) >> 4)
}

@inline
function startOf(ends: usize, base: u32, item: usize): u32 {
  return item == 0 ? base : load<u32>(ends + 4 * (item - 1))
}

/**
 * Orders items by length, longest first, so that the items still running are always the first ones. Sets `running` to the number of
 * items that run in each step. `ends` are offsets from the start of the slab; the bytes of the messages begin at `base`.
 */
export function orderItems(ends: usize, base: u32, count: usize, order: usize, running: usize): void {
  const cursors = running + 4 * (MOST_BLOCKS + 1)
  memory.fill(running, 0, 4 * (MOST_BLOCKS + 1))
  for (let item: usize = 0; item < count; item++) {
    const blocks = blocksOf(load<u32>(ends + 4 * item) - startOf(ends, base, item))
    for (let step: usize = 0; step < blocks; step++) store<u32>(running + 4 * step, load<u32>(running + 4 * step) + 1)
  }
  memory.copy(cursors, running, 4 * (MOST_BLOCKS + 1))
  for (let item: usize = 0; item < count; item++) {
    const cursor = cursors + 4 * blocksOf(load<u32>(ends + 4 * item) - startOf(ends, base, item))
    store<u32>(order + 4 * load<u32>(cursor), <u32>item)
    store<u32>(cursor, load<u32>(cursor) + 1)
  }
}

/** Returns the first `rest` of eight bytes of a message, and the 1 bit after them if it is within the eight bytes. */
@inline
function padded(word: u64, rest: i32): u64 {
  if (rest >= 8) return word
  if (rest < 0) return 0
  const bit = <u64>rest * 8
  return (word & ((<u64>1 << bit) - 1)) | (<u64>0x80 << bit)
}

/** Adds block `step` of each running item to the item's state in `blocks`. Subkeys: 16 bytes for a whole last block, 16 for a padded. */
export function addStep(
  bytes: usize, ends: usize, base: u32, order: usize, running: i32, step: u32, subkeys: usize, blocks: usize,
): void {
  for (let item = 0; item < running; item++) {
    const item = <usize>load<u32>(order)
    const from = startOf(ends, base, item) - base + 16 * step
    const rest = <i32>(load<u32>(ends + 4 * item) - base - from)
    let first = load<u64>(bytes + from)
    let last = load<u64>(bytes + from, 8)
    if (rest <= 16) {
      const subkey = rest == 16 ? subkeys : subkeys + 16
      first = padded(first, rest) ^ load<u64>(subkey)
      last = padded(last, rest - 8) ^ load<u64>(subkey, 8)
    }
    if (step > 0) {
      first ^= load<u64>(blocks)
      last ^= load<u64>(blocks, 8)
    }
    store<u64>(blocks, first)
    store<u64>(blocks, last, 8)
    order += 4
    blocks += 16
  }
}

/** Writes the state of each item to `out`, in the order of the messages. */
export function writeMacs(blocks: usize, order: usize, count: i32, out: usize): void {
  for (let item = 0; item < count; item++) {
    const at = out + 16 * <usize>load<u32>(order)
    store<u64>(at, load<u64>(blocks))
    store<u64>(at, load<u64>(blocks, 8), 8)
    order += 4
    blocks += 16
  }
}

/** Computes the MACs of a few messages, with the schedule of `expandKey`. Wipes `blocks`. */
export function digestFew(
  schedule: usize, bytes: usize, ends: usize, base: u32, count: i32, order: usize, running: usize, subkeys: usize, blocks: usize,
  out: usize,
): void {
  orderItems(ends, base, count, order, running)
  for (let step: u32 = 0; ; step++) {
    const items = load<u32>(running + 4 * <usize>step)
    if (items == 0) break
    addStep(bytes, ends, base, order, items, step, subkeys, blocks)
    encryptBlocks(schedule, blocks, items)
  }
  writeMacs(blocks, order, count, out)
  memory.fill(blocks, 0, 16 * count)
}
