/** AES-256-CMAC (SP 800-38B) of many inputs: a few blocks in the module, short inputs in parallel, long ones one by one. */
import { type Cipheriv, createCipheriv } from 'node:crypto'
import { DIGEST_BYTES } from '../../../core/ports/crypto.ts'
import { at } from '../../../core/util/lists.ts'
import { fewBytes, type Slab, slabItem, slabStart } from '../../../core/util/memory.ts'
import { copySecret, secretBytes, wipe } from '../key-bytes.ts'
import { type BlockCipher, createBlockCipher, doubleBlock, expandKey, getWasm, MODULE_BLOCKS, REGION } from './wasm.ts'

const BLOCK = 16
/** Maximum number of blocks of an input computed in parallel: each block is one AES call for all inputs. */
const MAX_ITEM_BLOCKS = 16
/** Maximum number of items of one run: as many of the longest fit into the memory of the module. */
const MAX_BATCH_ITEMS = 2048
/** Number of bytes passed to the CBC stream at once, a multiple of the block. It bounds the memory for a long input. */
const STREAM_PIECE = 32_768

/** CMAC with one key. */
export interface Cmac {
  /** Returns DIGEST_BYTES for each input, in order. */
  digest(inputs: Slab): Uint8Array
  /** Wipes the key. Later calls throw. */
  close(): void
}

/** The two subkeys: for a whole last block, and for a padded one. */
interface Subkeys {
  readonly whole: Uint8Array
  readonly padded: Uint8Array
}

/** The key material of every run. */
interface ItemKeys {
  readonly cipher: BlockCipher
  readonly schedule: Uint8Array
  /** The subkey for a whole last block, then the one for a padded one. */
  readonly subkeys: Uint8Array
}

/** Returns CMAC for a key of 32 bytes, which are not kept. */
export function createCmac(key: Uint8Array): Cmac {
  const cipher = createBlockCipher(key)
  const zeros = cipher.update(new Uint8Array(BLOCK))
  const whole = doubleBlock(zeros)
  const subkeys: Subkeys = { whole, padded: doubleBlock(whole) }
  const both = secretBytes(2 * BLOCK)
  both.set(whole)
  both.set(subkeys.padded, BLOCK)
  wipe(zeros)
  const keys: ItemKeys = { cipher, schedule: expandKey(key), subkeys: both }
  const stream = createStream(key, subkeys)
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
      wipe(keys.schedule, both, whole, subkeys.padded)
    },
  }
}

/** Pads the last block of a message, which has `length` bytes from 0 to 16, and adds the subkey. */
function finishBlock(block: Uint8Array, offset: number, length: number, subkeys: Subkeys): void {
  const subkey = length === BLOCK ? subkeys.whole : subkeys.padded
  if (length < BLOCK) {
    block[offset + length] = 0x80
    block.fill(0, offset + length + 1, offset + BLOCK)
  }
  for (let i = 0; i < BLOCK; i++) block[offset + i] = at(block, offset + i) ^ at(subkey, i)
}

/** The MACs of long messages, one by one. */
interface CmacStream {
  digest(input: Uint8Array, out: Uint8Array, offset: number): void
  close(): void
}

/**
 * Returns a stream that writes the MAC of one message to `out`. All messages use one CBC stream. Adding the last ciphertext block
 * to the first block of a message gives it an IV of zeros, so that no message needs a new cipher.
 */
function createStream(key: Uint8Array, subkeys: Subkeys): CmacStream {
  const secret = copySecret(key)
  const last = secretBytes(BLOCK)
  const piece = secretBytes(STREAM_PIECE)
  let cipher: Cipheriv | undefined
  return {
    digest(input, out, offset) {
      const stream = cipher ?? startCbc(secret, last)
      // Dropped until the message is complete: an interrupted stream must not be used for another message.
      cipher = undefined
      let rest = input.length
      for (let from = 0; from === 0 || rest > 0; from += STREAM_PIECE) {
        const length = Math.min(rest, STREAM_PIECE)
        piece.set(input.subarray(from, from + length))
        rest -= length
        const end = Math.max(BLOCK, Math.ceil(length / BLOCK) * BLOCK)
        if (rest === 0) finishBlock(piece, end - BLOCK, length - (end - BLOCK), subkeys)
        if (from === 0) for (let i = 0; i < BLOCK; i++) piece[i] = at(piece, i) ^ at(last, i)
        const encrypted = stream.update(piece.subarray(0, end))
        last.set(encrypted.subarray(end - BLOCK))
        piece.fill(0, 0, end)
        encrypted.fill(0)
      }
      out.set(last, offset)
      cipher = stream
    },
    close() {
      cipher?.final()
      cipher = undefined
      wipe(secret, last)
    },
  }
}

function startCbc(key: Uint8Array, last: Uint8Array): Cipheriv {
  last.fill(0)
  const cipher = createCipheriv('aes-256-cbc', key, new Uint8Array(BLOCK))
  cipher.setAutoPadding(false)
  return cipher
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
