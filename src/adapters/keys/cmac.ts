/** AES-256-CMAC (SP 800-38B) of many inputs: few blocks in the module, short inputs block by block side by side, long ones one by one. */

import { type Cipheriv, createCipheriv } from 'node:crypto'
import { DIGEST_BYTES } from '../../core/ports/keys.ts'
import { at } from '../../core/util/at.ts'
import { type Slab, slabStart } from '../../core/util/slab.ts'
import { type BlockCipher, createBlockCipher, doubleBlock, expandKey } from './block-cipher.ts'
import { getWasm, REGION } from './wasm.ts'

const BLOCK = 16
/** Blocks of the longest input computed side by side: each block is one more AES call for all. */
const MAX_ITEM_BLOCKS = 16
/** Blocks the module encrypts by itself in the time of one call of the platform's cipher. */
const BLOCKS_OF_A_CALL = 8
/** Lanes of one run: so many of the longest fit the module's memory. */
const MAX_BATCH_ITEMS = 2048
/** Bytes of a chain handed over at once, a multiple of the block: a long input needs no more memory than this. */
const CHAIN_PIECE = 32_768

/** A CMAC key at work. */
export interface Cmac {
  /** DIGEST_BYTES for each input, in order. */
  digest(inputs: Slab): Uint8Array
}

/** The two subkeys, as bytes. */
interface Subkeys {
  readonly whole: Uint8Array
  readonly padded: Uint8Array
}

/** What a key gives to every run of items. */
interface ItemKeys {
  readonly cipher: BlockCipher
  readonly schedule: Uint8Array
  /** The subkey for a whole last block, then the one for a padded one. */
  readonly subkeys: Uint8Array
}

/** CMAC under a 32-byte key. */
export function createCmac(key: Uint8Array): Cmac {
  const cipher = createBlockCipher(key)
  const whole = doubleBlock(cipher.update(Buffer.alloc(BLOCK)))
  const subkeys: Subkeys = { whole, padded: doubleBlock(whole) }
  const keys: ItemKeys = { cipher, schedule: expandKey(key), subkeys: Buffer.concat([whole, subkeys.padded]) }
  const chain = createChain(key, subkeys)
  return {
    digest(inputs) {
      const out = new Uint8Array(inputs.count * DIGEST_BYTES)
      for (let from = 0; from < inputs.count; ) {
        const { to, way } = nextRun(inputs, from)
        if (way === 'chain') chain(inputs.bytes.subarray(slabStart(inputs, from), inputs.ends[from]), out, from * DIGEST_BYTES)
        else runItems(keys, inputs, from, to, way, out)
        from = to
      }
      return out
    },
  }
}

/** Copies the last 1 to 16 bytes (or none) of a message into a block, pads it and adds the subkey. */
function finishBlock(block: Uint8Array, offset: number, length: number, subkeys: Subkeys): void {
  const subkey = length === BLOCK ? subkeys.whole : subkeys.padded
  if (length < BLOCK) {
    block[offset + length] = 0x80
    block.fill(0, offset + length + 1, offset + BLOCK)
  }
  for (let i = 0; i < BLOCK; i++) block[offset + i] = at(block, offset + i) ^ at(subkey, i)
}

/**
 * One message after another through one CBC stream: a new message begins with a zero block as its IV when its first block is
 * added to the last ciphertext block. So a message of any length costs one call, and never a new cipher.
 */
function createChain(key: Uint8Array, subkeys: Subkeys): (input: Uint8Array, out: Uint8Array, at: number) => void {
  const last = Buffer.alloc(BLOCK)
  const piece = Buffer.alloc(CHAIN_PIECE)
  let cipher: Cipheriv | undefined
  return (input, out, offset) => {
    const stream = cipher ?? startCbc(key, last)
    // Forgotten until the message is through: an interrupted stream must not serve another message.
    cipher = undefined
    let rest = input.length
    for (let from = 0; from === 0 || rest > 0; from += CHAIN_PIECE) {
      const length = Math.min(rest, CHAIN_PIECE)
      piece.set(input.subarray(from, from + length))
      rest -= length
      const end = Math.max(BLOCK, Math.ceil(length / BLOCK) * BLOCK)
      if (rest === 0) finishBlock(piece, end - BLOCK, length - (end - BLOCK), subkeys)
      if (from === 0) for (let i = 0; i < BLOCK; i++) piece[i] = at(piece, i) ^ at(last, i)
      const encrypted = stream.update(piece.subarray(0, end))
      last.set(encrypted.subarray(end - BLOCK))
      piece.fill(0, 0, end)
    }
    out.set(last, offset)
    cipher = stream
  }
}

function startCbc(key: Uint8Array, last: Buffer): Cipheriv {
  last.fill(0)
  const cipher = createCipheriv('aes-256-cbc', key, Buffer.alloc(BLOCK))
  cipher.setAutoPadding(false)
  return cipher
}

/** Runs items `from` to `to` side by side; the platform's way is one AES call for each block of the longest. */
function runItems(keys: ItemKeys, inputs: Slab, from: number, to: number, way: 'module' | 'platform', out: Uint8Array): void {
  const { calls, memory, lengths } = getWasm()
  const { lengths: ends, flags: order, running: steps, subkeys, schedule, input, blocks, output } = REGION
  const count = to - from
  const base = slabStart(inputs, from)
  const bytes = slabStart(inputs, to) - base
  memory.set(bytes === inputs.bytes.length ? inputs.bytes : inputs.bytes.subarray(base, base + bytes), input)
  memory.set(keys.subkeys, subkeys)
  lengths.set(inputs.ends.subarray(from, from + count))
  if (way === 'module') {
    memory.set(keys.schedule, schedule)
    calls.digestFew(schedule, input, ends, base, count, order, steps, subkeys, blocks, output)
    calls.wipe(schedule, keys.schedule.length)
  } else {
    calls.orderItems(ends, base, count, order, steps)
    for (let step = 0, running = count; running > 0; ) {
      calls.addStep(input, ends, base, order, running, step, subkeys, blocks)
      memory.set(keys.cipher.update(memory.subarray(blocks, blocks + running * BLOCK)), blocks)
      step++
      running = step < MAX_ITEM_BLOCKS ? memory.readUInt32LE(steps + 4 * step) : 0
    }
    calls.writeMacs(blocks, order, count, output)
    calls.wipe(blocks, count * BLOCK)
  }
  out.set(memory.subarray(output, output + count * DIGEST_BYTES), from * DIGEST_BYTES)
  calls.wipe(input, bytes)
  calls.wipe(subkeys, 2 * BLOCK)
}

/** The next inputs that go one way together, and the fastest way for them. */
interface Run {
  readonly to: number
  readonly way: 'module' | 'platform' | 'chain'
}

/** The run of neighbours that begins at `from`; a chain takes one input at a time. */
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
  // Calls of the platform's cipher: one for each input of a chain, one for each block of the longest when side by side.
  if (items > 0 && total <= BLOCKS_OF_A_CALL * Math.min(items, longest)) return { to, way: 'module' }
  // A chain costs about as much as two steps, whatever the number of items; so does the way into the module.
  return (items - 1) * 2 > longest ? { to, way: 'platform' } : { to: from + 1, way: 'chain' }
}
