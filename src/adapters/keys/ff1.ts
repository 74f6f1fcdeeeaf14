/** FF1 (SP 800-38G revision 1) over lists of numbers below radix^length. Each round costs one call of AES per block, for the whole list. */
import { append, at, required } from '../../core/util/lists.ts'
import { secretBytes, wipe } from './key-bytes.ts'
import type { InPlaceCipher } from './platform/aes.ts'

const ROUNDS = 10
const BLOCK = 16
const BLOCK_WORDS = BLOCK / 4
/** Maximum number of items of one run. It bounds the memory for a long list. */
const MAX_BATCH_ITEMS = 1024

/** The radix, the length of the numeral strings in digits, and the length of the tweaks in bytes. All items of a list share them. */
interface Ff1Shape {
  readonly radix: number
  readonly length: number
  readonly tweakBytes: number
}

/** A permutation of the numbers from 0 to radix^length - 1, and its inverse. A number is a numeral string with the most significant digit first. */
export interface Ff1 {
  /** Returns one number for each value, in order. `tweaks` has `tweakBytes` bytes for each value. */
  encrypt(values: readonly bigint[], tweaks: Uint8Array): bigint[]
  decrypt(values: readonly bigint[], tweaks: Uint8Array): bigint[]
  /** Wipes what was computed from the key. */
  close(): void
}

/** The block cipher of FF1. Its owner closes it. */
type Cipher = Pick<InPlaceCipher, 'encrypt'>

/** Values computed once from key and shape. P, Q, S, b, d, u, v and y are the names of SP 800-38G, algorithm 7. */
interface Setup {
  readonly cipher: Cipher
  readonly shape: Ff1Shape
  /** AES(P): the part of the PRF that is the same for all items and rounds. */
  readonly start: Uint8Array
  /** Number of blocks of Q, and of S. */
  readonly inputBlocks: number
  readonly streamBlocks: number
  /** Offset of the round number in Q. */
  readonly roundAt: number
  /** b, the bytes of the longer half; and d, the bytes of S that are read as the number y. */
  readonly halfBytes: number
  readonly streamBytes: number
  /** radix^u and radix^v. */
  readonly leftLimit: bigint
  readonly rightLimit: bigint
}

/** Returns FF1 with the key of this cipher. */
export function createFf1(cipher: Cipher, shape: Ff1Shape): Ff1 {
  const setup = setupOf(cipher, shape)
  const small = setup.rightLimit <= MAX_SMALL_HALF
  const run = small ? runner(setup, SMALL_HALVES) : runner(setup, BIG_HALVES)
  const chunked = (values: readonly bigint[], tweaks: Uint8Array, direction: Direction): bigint[] => {
    if (values.length <= MAX_BATCH_ITEMS) return run(values, tweaks, direction)
    const out: bigint[] = []
    for (let from = 0; from < values.length; from += MAX_BATCH_ITEMS) {
      const part = values.slice(from, from + MAX_BATCH_ITEMS)
      append(out, run(part, tweaks.subarray(from * shape.tweakBytes), direction))
    }
    return out
  }
  return {
    encrypt: (values, tweaks) => chunked(values, tweaks, 'forwards'),
    decrypt: (values, tweaks) => chunked(values, tweaks, 'backwards'),
    close: () => wipe(setup.start),
  }
}

type Direction = 'forwards' | 'backwards'

/** Steps 1 to 5. */
function setupOf(cipher: Cipher, shape: Ff1Shape): Setup {
  const { radix, length, tweakBytes } = shape
  const leftLength = Math.floor(length / 2)
  const rightLimit = BigInt(radix) ** BigInt(length - leftLength)
  // The largest number has ceil(v * log2 radix) bits. Counting them avoids the rounding of a logarithm.
  const halfBytes = Math.ceil((rightLimit - 1n).toString(2).length / 8)
  const streamBytes = 4 * Math.ceil(halfBytes / 4) + 4
  const inputBlocks = Math.ceil((tweakBytes + 1 + halfBytes) / BLOCK)
  const parameters = Buffer.from([1, 2, 1, radix >>> 16, radix >>> 8, radix, ROUNDS, leftLength, 0, 0, 0, 0, 0, 0, 0, 0])
  parameters.writeUInt32BE(length, 8)
  parameters.writeUInt32BE(tweakBytes, 12)
  const start = secretBytes(BLOCK)
  start.set(parameters)
  cipher.encrypt(start)
  return {
    cipher,
    shape,
    start,
    inputBlocks,
    streamBlocks: Math.ceil(streamBytes / BLOCK),
    roundAt: inputBlocks * BLOCK - halfBytes - 1,
    halfBytes,
    streamBytes,
    leftLimit: BigInt(radix) ** BigInt(leftLength),
    rightLimit,
  }
}

/** The memory of one run: for each item Q without number and round, the number of Q, and the block to encrypt. */
interface Items {
  readonly count: number
  readonly templates: Uint32Array
  readonly numbers: Uint32Array
  readonly numbersView: DataView
  readonly blocks: Uint8Array
  readonly blockWords: Uint32Array
  /** S of every item. */
  readonly stream: Uint8Array
  readonly streamView: DataView
}

/** Names a byte in the error of a defect. */
const TEMPLATE_BYTE = 'A byte of a template'

function itemsOf({ inputBlocks, streamBlocks, start, shape }: Setup, count: number, tweaks: Uint8Array): Items {
  const { tweakBytes } = shape
  const inputBytes = inputBlocks * BLOCK
  const templates = new Uint8Array(count * inputBytes)
  for (let item = 0; item < count; item++) {
    const offset = item * inputBytes
    for (let i = 0; i < tweakBytes; i++) templates[offset + i] = required(tweaks[item * tweakBytes + i], TEMPLATE_BYTE)
    for (let i = 0; i < BLOCK; i++)
      templates[offset + i] = required(templates[offset + i], TEMPLATE_BYTE) ^ required(start[i], TEMPLATE_BYTE)
  }
  const numbers = new ArrayBuffer(count * inputBytes)
  const blocks = new ArrayBuffer(count * BLOCK)
  const stream = new ArrayBuffer(count * streamBlocks * BLOCK)
  return {
    count,
    templates: new Uint32Array(templates.buffer),
    numbers: new Uint32Array(numbers),
    numbersView: new DataView(numbers),
    blocks: new Uint8Array(blocks),
    blockWords: new Uint32Array(blocks),
    stream: new Uint8Array(stream),
    streamView: new DataView(stream),
  }
}

/** Returns steps 6 and 7 of the algorithm for one arithmetic. Backwards it is algorithm 8. */
function runner<Half extends number | bigint>(
  setup: Setup,
  halves: HalfArithmetic<Half>,
): (values: readonly bigint[], tweaks: Uint8Array, direction: Direction) => bigint[] {
  const advance = rounds(setup, halves)
  return (values, tweaks, direction) => {
    const items = itemsOf(setup, values.length, tweaks)
    const quotients = values.map((value) => value / setup.rightLimit)
    const left = quotients.map(halves.fromRank)
    const right = values.map((value, item) => halves.fromRank(value - required(quotients[item], HALF) * setup.rightLimit))
    // Each round keeps one half and changes the other. The halves swap roles ten times, so both end where they began.
    for (let step = 0; step < ROUNDS; step++) {
      const round = direction === 'forwards' ? step : ROUNDS - 1 - step
      if (round % 2 === 0) advance(items, round, right, left, direction)
      else advance(items, round, left, right, direction)
    }
    for (const memory of [items.templates, items.numbers, items.blocks, items.stream]) memory.fill(0)
    return left.map((half, item) => halves.toRank(half) * setup.rightLimit + halves.toRank(at(right, item)))
  }
}

/** Names a half in the error of a defect. */
const HALF = 'A half of a number'

/** Returns steps 6.i to 6.vii: adds to `changed`, or subtracts from it, the PRF of `kept`. */
function rounds<Half extends number | bigint>(
  setup: Setup,
  halves: HalfArithmetic<Half>,
): (items: Items, round: number, kept: readonly Half[], changed: Half[], direction: Direction) => void {
  const { halfBytes, streamBytes } = setup
  const limits = [halves.limit(setup.leftLimit), halves.limit(setup.rightLimit)] as const
  const inputSize = setup.inputBlocks * BLOCK
  const streamSize = setup.streamBlocks * BLOCK
  return (items, round, kept, changed, direction) => {
    for (let item = 0; item < items.count; item++) {
      halves.write(items.numbersView, (item + 1) * inputSize, halfBytes, required(kept[item], HALF))
    }
    makeStream(setup, items, round)
    const limit = limits[round % 2 === 0 ? 0 : 1]
    const step = direction === 'forwards' ? halves.add : halves.subtract
    for (let item = 0; item < items.count; item++) {
      changed[item] = step(required(changed[item], HALF), items.streamView, item * streamSize, streamBytes, limit)
    }
  }
}

/** Steps 6.ii and 6.iii for all items: R = PRF(P || Q), then S = R || AES(R + 1) || AES(R + 2) ... up to `streamBlocks` blocks. */
function makeStream(setup: Setup, items: Items, round: number): void {
  const { cipher, inputBlocks, streamBlocks, roundAt } = setup
  const { blocks, stream } = items
  for (let step = 0; step < inputBlocks; step++) {
    addInput(items, inputBlocks, step)
    if (step === Math.floor(roundAt / BLOCK)) addByte(blocks, roundAt % BLOCK, round)
    cipher.encrypt(blocks)
  }
  if (streamBlocks === 1) {
    stream.set(blocks)
    return
  }
  const first = Uint8Array.from(blocks)
  for (let part = 0; part < streamBlocks; part++) {
    // A stream is shorter than 2^16 blocks, so the counter fits into the last two bytes.
    blocks.set(first)
    addByte(blocks, BLOCK - 2, part >>> 8)
    addByte(blocks, BLOCK - 1, part & 0xff)
    if (part > 0) cipher.encrypt(blocks)
    for (let item = 0; item < items.count; item++) {
      stream.set(blocks.subarray(item * BLOCK, (item + 1) * BLOCK), (item * streamBlocks + part) * BLOCK)
    }
  }
  wipe(first)
}

/** Names a word in the error of a defect. */
const BLOCK_WORD = 'A word of a block'

/** Adds block `step` of Q to the block of each item. For step 0 it replaces the block, because the template contains AES(P). */
function addInput({ count, templates, numbers, blockWords }: Items, inputBlocks: number, step: number): void {
  for (let item = 0; item < count; item++) {
    const from = (item * inputBlocks + step) * BLOCK_WORDS
    const to = item * BLOCK_WORDS
    for (let i = 0; i < BLOCK_WORDS; i++) {
      const before = step === 0 ? 0 : required(blockWords[to + i], BLOCK_WORD)
      blockWords[to + i] = before ^ required(templates[from + i], BLOCK_WORD) ^ required(numbers[from + i], BLOCK_WORD)
    }
  }
}

/** Adds a byte to the byte `first` of every block. */
function addByte(blocks: Uint8Array, first: number, value: number): void {
  for (let i = first; i < blocks.length; i += BLOCK) blocks[i] = required(blocks[i], 'A byte of a block') ^ value
}

/** Arithmetic on one half of a numeral string. `limit` is radix^length of the half. */
interface HalfArithmetic<Half extends number | bigint> {
  limit(value: bigint): Half
  fromRank(value: bigint): Half
  toRank(half: Half): bigint
  /** Writes the number as `bytes` bytes before `end`, big-endian, padded with zeros to whole words. */
  write(view: DataView, end: number, bytes: number, half: Half): void
  /** Adds to the half the big-endian number of `bytes` bytes at `offset`, modulo `limit`. `subtract` is the inverse. */
  add(half: Half, view: DataView, offset: number, bytes: number, limit: Half): Half
  subtract(half: Half, view: DataView, offset: number, bytes: number, limit: Half): Half
}

/** Highest limit of a half for `SMALL_HALVES`: its stream is eight bytes long. */
const MAX_SMALL_HALF = 2n ** 32n

/** Halves of at most four bytes. */
const SMALL_HALVES: HalfArithmetic<number> = {
  limit: Number,
  fromRank: Number,
  toRank: BigInt,
  write: (view, end, _bytes, half) => view.setUint32(end - 4, half),
  add: (half, view, offset, _bytes, limit) => remainder(half + smallRest(view, offset, limit), limit),
  subtract: (half, view, offset, _bytes, limit) => remainder(half + limit - smallRest(view, offset, limit), limit),
}

/** Returns the 64-bit number at `offset`, modulo a limit of at most 2^32. Works on 16 bits at a time, so that every step stays below 2^53. */
function smallRest(view: DataView, offset: number, limit: number): number {
  const low = view.getUint32(offset + 4)
  const high = remainder(view.getUint32(offset), limit)
  const middle = remainder(high * 0x1_0000 + (low >>> 16), limit)
  return remainder(middle * 0x1_0000 + (low & 0xffff), limit)
}

/** Returns the remainder of a number below 2^53. Several times faster than `%`, which divides large numbers bit by bit. */
function remainder(number: number, limit: number): number {
  // The quotient is rounded, so it can be too large by one, but never too small.
  const rest = number - Math.floor(number / limit) * limit
  return rest < 0 ? rest + limit : rest
}

/** Halves of any length. */
const BIG_HALVES: HalfArithmetic<bigint> = {
  limit: (value) => value,
  fromRank: (value) => value,
  toRank: (half) => half,
  write(view, end, bytes, half) {
    let rest = half
    for (let offset = end - 8; offset > end - 8 - bytes; offset -= 8) {
      view.setBigUint64(offset, BigInt.asUintN(64, rest))
      rest >>= 64n
    }
  },
  add: (half, view, offset, bytes, limit) => (half + bigNumber(view, offset, bytes)) % limit,
  subtract: (half, view, offset, bytes, limit) => {
    const rest = (half - bigNumber(view, offset, bytes)) % limit
    return rest < 0n ? rest + limit : rest
  },
}

function bigNumber(view: DataView, offset: number, bytes: number): bigint {
  let value = 0n
  for (let i = 0; i + 8 <= bytes; i += 8) value = (value << 64n) | view.getBigUint64(offset + i)
  return bytes % 8 === 0 ? value : (value << 32n) | BigInt(view.getUint32(offset + bytes - 4))
}
