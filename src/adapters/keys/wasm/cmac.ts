/** AES-256-CMAC (SP 800-38B) of many inputs: a few blocks in the module, short inputs in parallel, long ones one by one. */
import { DIGEST_BYTES } from '../../../core/ports/crypto.ts'
import { fewBytes, type Slab, slabItem, slabStart } from '../../../core/util/memory.ts'
import { secretBytes, wipe } from '../key-bytes.ts'
import { createBlockCipher } from '../platform/aes.ts'
import { type Cmac, createCmacStream, subkeysOf } from '../platform/cmac.ts'
import type { BlockCipher } from '../xaes-key.ts'
import { expandKey, getWasm, MODULE_BLOCKS, REGION } from './wasm.ts'

const BLOCK = 16
/** Maximum number of blocks of an input computed in parallel: each block is one AES call for all inputs. */
const MAX_ITEM_BLOCKS = 16
/** Maximum number of items of one run: as many of the longest fit into the memory of the module. */
const MAX_BATCH_ITEMS = 2048
/** The key material of every run. */
interface ItemKeys {
  readonly cipher: BlockCipher
  readonly schedule: Uint8Array
  /** The subkey for a whole last block, then the one for a padded one. */
  readonly subkeys: Uint8Array
}

/** Returns CMAC for a key of 32 bytes, which are not kept. */
export function createModuleCmac(key: Uint8Array): Cmac {
  const cipher = createBlockCipher(key)
  const subkeys = subkeysOf(cipher)
  const both = secretBytes(2 * BLOCK)
  both.set(subkeys.whole)
  both.set(subkeys.padded, BLOCK)
  const keys: ItemKeys = { cipher, schedule: expandKey(key), subkeys: both }
  const stream = createCmacStream(key, subkeys)
  return {
    digest(inputs) {
      const out = fewBytes(inputs.count * DIGEST_BYTES)
      for (let from = 0; from < inputs.count; ) {
        const run = nextRun(inputs, from)
        if (run.method === 'stream') stream.digest(slabItem(inputs, from), out, from * DIGEST_BYTES)
        else runItems(keys, inputs, run, out)
        from = run.to
      }
      return out
    },
    close() {
      cipher.close()
      stream.close()
      wipe(keys.schedule, both, subkeys.whole, subkeys.padded)
    },
  }
}

/** Computes the MACs of a run in parallel. With the platform's cipher, each block of the longest input costs one AES call. */
function runItems(keys: ItemKeys, inputs: Slab, { from, to, method }: Run, out: Uint8Array): void {
  const { calls, memory, lengths } = getWasm()
  const { lengths: ends, flags: order, running: steps, subkeys, schedule, input, blocks, output } = REGION
  const count = to - from
  const base = slabStart(inputs, from)
  const bytes = slabStart(inputs, to) - base
  memory.set(bytes === inputs.bytes.length ? inputs.bytes : inputs.bytes.subarray(base, base + bytes), input)
  memory.set(keys.subkeys, subkeys)
  lengths.set(count === inputs.count ? inputs.ends : inputs.ends.subarray(from, to))
  if (method === 'module') {
    memory.set(keys.schedule, schedule)
    calls.digestFew(schedule, input, ends, base, count, order, steps, subkeys, blocks, output)
    calls.wipe(schedule, keys.schedule.length)
  } else {
    calls.orderItems(ends, base, count, order, steps)
    for (let step = 0, running = count; running > 0; ) {
      calls.addStep(input, ends, base, order, running, step, subkeys, blocks)
      const encrypted = keys.cipher.update(memory.subarray(blocks, blocks + running * BLOCK))
      memory.set(encrypted, blocks)
      wipe(encrypted)
      step++
      running = step < MAX_ITEM_BLOCKS ? memory.readUInt32LE(steps + 4 * step) : 0
    }
    calls.writeMacs(blocks, order, count, output)
    calls.wipe(blocks, count * BLOCK)
  }
  out.set(memory.subarray(output, output + count * DIGEST_BYTES), from * DIGEST_BYTES)
  calls.wipe(input, bytes)
  calls.wipe(output, count * DIGEST_BYTES)
  calls.wipe(subkeys, 2 * BLOCK)
}

/** Neighboring inputs, `from` to `to` (exclusive), and the fastest method for them. */
interface Run {
  readonly from: number
  readonly to: number
  readonly method: 'module' | 'platform' | 'stream'
}

/** Returns the run that begins at `from`. A stream takes one input at a time. */
function nextRun(inputs: Slab, from: number): Run {
  let longest = 0
  let total = 0
  let to = from
  for (; to < inputs.count && to - from < MAX_BATCH_ITEMS; to++) {
    const blocks = Math.max(1, Math.ceil((slabStart(inputs, to + 1) - slabStart(inputs, to)) / BLOCK))
    if (blocks > MAX_ITEM_BLOCKS) break
    longest = Math.max(longest, blocks)
    total += blocks
  }
  const items = to - from
  // Calls of the platform's cipher: one for each input as a stream, one for each block of the longest in parallel.
  if (items > 0 && total <= MODULE_BLOCKS * Math.min(items, longest)) return { from, to, method: 'module' }
  // A stream costs about two steps for each input. A parallel run costs one step for each block, and about two to enter the module.
  return (items - 1) * 2 > longest ? { from, to, method: 'platform' } : { from, to: from + 1, method: 'stream' }
}
