/** FF1 (SP 800-38G revision 1) over numbers below radix^length, many at once: every round of a list is one AES call a block. */
import { at } from '../../core/util/at.ts'
import type { BlockCipher } from './block-cipher.ts'
import { BIG_HALVES, type HalfArithmetic, MAX_SMALL_HALF, SMALL_HALVES } from './ff1-halves.ts'

const ROUNDS = 10
const BLOCK = 16
const BLOCK_WORDS = BLOCK / 4
/** Lanes of one run: bounds the memory of a long list. */
const MAX_BATCH_ITEMS = 1024

/** The radix, the length of the numeral strings and of every tweak; all items of a list share them, each item has a tweak of its own. */
export interface Ff1Shape {
  readonly radix: number
  readonly length: number
  readonly tweakBytes: number
}

/** The permutation of 0 to radix^length - 1 and its inverse. A numeral string is the number it writes, most significant first. */
export interface Ff1 {
  /** `tweaks` holds `tweakBytes` bytes for each value, one after the other. */
  encrypt(values: readonly bigint[], tweaks: Uint8Array): bigint[]
  decrypt(values: readonly bigint[], tweaks: Uint8Array): bigint[]
}

/** What follows from key and shape. Names in quotation marks are those of SP 800-38G, algorithm 7. */
interface Frame {
  readonly cipher: BlockCipher
  readonly shape: Ff1Shape
  /** AES(P): all of the PRF that is the same for every item and round. */
  readonly start: Uint8Array
  /** Blocks of Q, and blocks of S. */
  readonly inputBlocks: number
  readonly streamBlocks: number
  /** Where in Q the number of the round stands. */
  readonly roundAt: number
  /** b: bytes of the longer half, and d: bytes of S that are read as the number y. */
  readonly halfBytes: number
  readonly streamBytes: number
  /** radix^u and radix^v. */
  readonly leftLimit: bigint
  readonly rightLimit: bigint
}

/** FF1 under the key of this cipher. */
export function createFf1(cipher: BlockCipher, shape: Ff1Shape): Ff1 {
  const frame = frameOf(cipher, shape)
  const small = frame.rightLimit <= MAX_SMALL_HALF
  const run = small ? runner(frame, SMALL_HALVES) : runner(frame, BIG_HALVES)
  const chunked = (values: readonly bigint[], tweaks: Uint8Array, direction: Direction): bigint[] => {
    if (values.length <= MAX_BATCH_ITEMS) return run(values, tweaks, direction)
    const out: bigint[] = []
    for (let from = 0; from < values.length; from += MAX_BATCH_ITEMS) {
      const part = values.slice(from, from + MAX_BATCH_ITEMS)
      out.push(...run(part, tweaks.subarray(from * shape.tweakBytes), direction))
    }
    return out
  }
  return {
    encrypt: (values, tweaks) => chunked(values, tweaks, 'forwards'),
    decrypt: (values, tweaks) => chunked(values, tweaks, 'backwards'),
  }
}

type Direction = 'forwards' | 'backwards'

/** Steps 1 to 5. */
function frameOf(cipher: BlockCipher, shape: Ff1Shape): Frame {
  const { radix, length, tweakBytes } = shape
  const leftLength = Math.floor(length / 2)
  const rightLimit = BigInt(radix) ** BigInt(length - leftLength)
  // The bits of its largest number are ceil(v * log2 radix), without a logarithm's rounding.
  const halfBytes = Math.ceil((rightLimit - 1n).toString(2).length / 8)
  const streamBytes = 4 * Math.ceil(halfBytes / 4) + 4
  const inputBlocks = Math.ceil((tweakBytes + 1 + halfBytes) / BLOCK)
  const parameters = Buffer.from([1, 2, 1, radix >>> 16, radix >>> 8, radix, ROUNDS, leftLength, 0, 0, 0, 0, 0, 0, 0, 0])
  parameters.writeUInt32BE(length, 8)
  parameters.writeUInt32BE(tweakBytes, 12)
  return {
    cipher,
    shape,
    start: cipher.update(parameters),
    inputBlocks,
    streamBlocks: Math.ceil(streamBytes / BLOCK),
    roundAt: inputBlocks * BLOCK - halfBytes - 1,
    halfBytes,
    streamBytes,
    leftLimit: BigInt(radix) ** BigInt(leftLength),
    rightLimit,
  }
}

/** The memory of one run: Q without its number and round for every item, Q's number, and the blocks that go through AES. */
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

function itemsOf({ inputBlocks, streamBlocks, start, shape }: Frame, count: number, tweaks: Uint8Array): Items {
  const inputBytes = inputBlocks * BLOCK
  const templates = new Uint8Array(count * inputBytes)
  for (let item = 0; item < count; item++) {
    const offset = item * inputBytes
    templates.set(tweaks.subarray(item * shape.tweakBytes, (item + 1) * shape.tweakBytes), offset)
    for (let i = 0; i < BLOCK; i++) templates[offset + i] = at(templates, offset + i) ^ at(start, i)
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

/** Step 6, ten times, and step 7, by whichever arithmetic holds the halves. Backwards it is algorithm 8. */
function runner<Half extends number | bigint>(
  frame: Frame,
  halves: HalfArithmetic<Half>,
): (values: readonly bigint[], tweaks: Uint8Array, direction: Direction) => bigint[] {
  const advance = rounds(frame, halves)
  return (values, tweaks, direction) => {
    const items = itemsOf(frame, values.length, tweaks)
    const left = values.map((value) => halves.fromRank(value / frame.rightLimit))
    const right = values.map((value) => halves.fromRank(value % frame.rightLimit))
    // Every round keeps one half, changes the other by it, and lets them change parts. After ten each is again where it began.
    for (let turn = 0; turn < ROUNDS; turn++) {
      const round = direction === 'forwards' ? turn : ROUNDS - 1 - turn
      if (round % 2 === 0) advance(items, round, right, left, direction)
      else advance(items, round, left, right, direction)
    }
    for (const memory of [items.numbers, items.blocks, items.stream]) memory.fill(0)
    return left.map((half, item) => halves.toRank(half) * frame.rightLimit + halves.toRank(at(right, item)))
  }
}

/** Steps 6.i to 6.vii of one round: `changed` becomes itself plus, or minus, what the PRF makes of `kept`. */
function rounds<Half extends number | bigint>(
  frame: Frame,
  halves: HalfArithmetic<Half>,
): (items: Items, round: number, kept: readonly Half[], changed: Half[], direction: Direction) => void {
  const { halfBytes, streamBytes } = frame
  const limits = [halves.limit(frame.leftLimit), halves.limit(frame.rightLimit)] as const
  const inputSize = frame.inputBlocks * BLOCK
  const streamSize = frame.streamBlocks * BLOCK
  return (items, round, kept, changed, direction) => {
    // The lists have `items.count` members; the checked accessor `at` would cost a third of the time of these loops.
    for (let item = 0; item < items.count; item++) {
      halves.write(items.numbersView, (item + 1) * inputSize, halfBytes, kept[item] ?? halves.zero)
    }
    makeStream(frame, items, round)
    const limit = limits[round % 2 === 0 ? 0 : 1]
    const step = direction === 'forwards' ? halves.add : halves.subtract
    for (let item = 0; item < items.count; item++) {
      changed[item] = step(changed[item] ?? halves.zero, items.streamView, item * streamSize, streamBytes, limit)
    }
  }
}

/** Steps 6.ii and 6.iii for every item: R = PRF(P || Q), then S = R || AES(R + 1) || AES(R + 2) ... as long as it must be. */
function makeStream(frame: Frame, items: Items, round: number): void {
  const { cipher, inputBlocks, streamBlocks, roundAt } = frame
  const { blocks, stream } = items
  for (let step = 0; step < inputBlocks; step++) {
    addInput(items, inputBlocks, step)
    if (step === Math.floor(roundAt / BLOCK)) addByte(blocks, roundAt % BLOCK, round)
    blocks.set(cipher.update(blocks))
  }
  if (streamBlocks === 1) {
    stream.set(blocks)
    return
  }
  const first = Uint8Array.from(blocks)
  for (let part = 0; part < streamBlocks; part++) {
    // No stream is as long as 2^16 blocks, so the counter needs the last two bytes alone.
    blocks.set(first)
    addByte(blocks, BLOCK - 2, part >>> 8)
    addByte(blocks, BLOCK - 1, part & 0xff)
    const made = part === 0 ? first : cipher.update(blocks)
    for (let item = 0; item < items.count; item++) {
      stream.set(made.subarray(item * BLOCK, (item + 1) * BLOCK), (item * streamBlocks + part) * BLOCK)
    }
  }
}

/** Adds block `step` of each item's Q; the first finds nothing there before it, for AES(P) is in the template. */
function addInput({ count, templates, numbers, blockWords }: Items, inputBlocks: number, step: number): void {
  for (let item = 0; item < count; item++) {
    const from = (item * inputBlocks + step) * BLOCK_WORDS
    const to = item * BLOCK_WORDS
    for (let i = 0; i < BLOCK_WORDS; i++) {
      const before = step === 0 ? 0 : (blockWords[to + i] ?? 0)
      blockWords[to + i] = before ^ (templates[from + i] ?? 0) ^ (numbers[from + i] ?? 0)
    }
  }
}

function addByte(blocks: Uint8Array, first: number, value: number): void {
  for (let i = first; i < blocks.length; i += BLOCK) blocks[i] = (blocks[i] ?? 0) ^ value
}
