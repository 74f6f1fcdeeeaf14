/**
 * FF1 (SP 800-38G) for radix 2 and length 122, halves of 61 bits, over many items; and UUID text both ways. AES of one block
 * per item and round is computed by the host for many items, and here for a few. With a tweak of 7 bytes PRF(P || Q) is
 * AES(AES(P) xor Q), and Q is one block: tweak 7 | round 1 | half 8. The host gives AES(P) xor tweak as `fixed`; only the
 * round and the half are added here.
 */
import { encryptBlocks } from './aes'

const ROUNDS: u32 = 10
const MASK61: u64 = 0x1fffffffffffffff
const MASK58: u64 = 0x03ffffffffffffff
const HYPHEN: u8 = 45
const DIGITS: usize = memory.data<u8>([48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 97, 98, 99, 100, 101, 102])
/** The value of each lower-case hexadecimal digit; 255 for any other byte. Filled by `prepareDigits`. */
const VALUES: usize = memory.data(256)

/** Must be called once before `parseUuids`. */
export function prepareDigits(): void {
  memory.fill(VALUES, 255, 256)
  for (let i: usize = 0; i < 16; i++) store<u8>(VALUES + load<u8>(DIGITS + i), <u8>i)
}

/** Splits words (object id 16 | row 48 | token check 58, right-aligned in 64) into the two halves of the numeral string. */
export function splitWords(words: usize, left: usize, right: usize, count: i32): void {
  for (let i = 0; i < count; i++) {
    const position = (<u64>load<u32>(words) << 32) | <u64>load<u32>(words, 4)
    const check = ((<u64>load<u32>(words, 8) << 32) | <u64>load<u32>(words, 12)) & MASK58
    store<u64>(left, position >> 3)
    store<u64>(right, ((position & 7) << 58) | check)
    words += 16
    left += 8
    right += 8
  }
}

/** Joins the halves into words. An item with 0 in `wellFormed` becomes four zero words. */
export function joinWords(words: usize, left: usize, right: usize, wellFormed: usize, count: i32): void {
  for (let i = 0; i < count; i++) {
    const keep: u64 = load<u8>(wellFormed) == 1 ? -1 : 0
    const position = ((load<u64>(left) << 3) | (load<u64>(right) >> 58)) & keep
    const check = load<u64>(right) & MASK58 & keep
    store<u32>(words, <u32>(position >> 32))
    store<u32>(words, <u32>position, 4)
    store<u32>(words, <u32>(check >> 32), 8)
    store<u32>(words, <u32>check, 12)
    words += 16
    left += 8
    right += 8
    wellFormed++
  }
}

/** Writes the block each item needs for round `round`, from the half that goes into it. */
export function writeRound(fixed: usize, round: u32, half: usize, blocks: usize, count: i32): void {
  const first = load<u64>(fixed) ^ (<u64>round << 56)
  const last = load<u64>(fixed, 8)
  for (let i = 0; i < count; i++) {
    store<u64>(blocks, first)
    store<u64>(blocks, last ^ bswap<u64>(load<u64>(half)), 8)
    half += 8
    blocks += 16
  }
}

/** Ends a round forwards, half + y, and writes the blocks of round `next` in the same pass. y is the last 61 of 96 bits. */
export function addRound(fixed: usize, next: u32, half: usize, blocks: usize, count: i32): void {
  const first = load<u64>(fixed) ^ (<u64>next << 56)
  const last = load<u64>(fixed, 8)
  for (let i = 0; i < count; i++) {
    const sum = (load<u64>(half) + bswap<u64>(load<u64>(blocks, 4))) & MASK61
    store<u64>(half, sum)
    store<u64>(blocks, first)
    store<u64>(blocks, last ^ bswap<u64>(sum), 8)
    half += 8
    blocks += 16
  }
}

/** Ends a round backwards, half - y, and writes the blocks of round `next`. */
export function subtractRound(fixed: usize, next: u32, half: usize, blocks: usize, count: i32): void {
  const first = load<u64>(fixed) ^ (<u64>next << 56)
  const last = load<u64>(fixed, 8)
  for (let i = 0; i < count; i++) {
    const rest = (load<u64>(half) - bswap<u64>(load<u64>(blocks, 4))) & MASK61
    store<u64>(half, rest)
    store<u64>(blocks, first)
    store<u64>(blocks, last ^ bswap<u64>(rest), 8)
    half += 8
    blocks += 16
  }
}

@inline
function writeByte(at: usize, value: u64): void {
  store<u8>(at, load<u8>(DIGITS + (<usize>(value >> 4) & 15)))
  store<u8>(at, load<u8>(DIGITS + (<usize>value & 15)), 1)
}

/** Version 4 UUID text, 36 bytes for each item: the 122 bits in order around version and variant. */
export function renderUuids(left: usize, right: usize, text: usize, count: i32): void {
  for (let i = 0; i < count; i++) {
    const a = load<u64>(left)
    const high60 = a >> 1
    const first = ((high60 >> 12) << 16) | 0x4000 | (high60 & 0xfff)
    const last = 0x8000000000000000 | ((a & 1) << 61) | load<u64>(right)
    for (let k: usize = 0; k < 4; k++) writeByte(text + 2 * k, first >> (56 - 8 * k))
    store<u8>(text, HYPHEN, 8)
    writeByte(text + 9, first >> 24)
    writeByte(text + 11, first >> 16)
    store<u8>(text, HYPHEN, 13)
    writeByte(text + 14, first >> 8)
    writeByte(text + 16, first)
    store<u8>(text, HYPHEN, 18)
    writeByte(text + 19, last >> 56)
    writeByte(text + 21, last >> 48)
    store<u8>(text, HYPHEN, 23)
    for (let k: usize = 0; k < 6; k++) writeByte(text + 24 + 2 * k, last >> (40 - 8 * k))
    left += 8
    right += 8
    text += 36
  }
}

/** Returns the value of `bytes` bytes of digits. A byte that is not a digit sets high bits in the second result, `strange`. */
let strange: u32 = 0
@inline
function readBytes(at: usize, bytes: usize): u64 {
  let value: u64 = 0
  for (let k: usize = 0; k < 2 * bytes; k++) {
    const digit = load<u8>(VALUES + load<u8>(at + k))
    strange |= digit
    value = (value << 4) | <u64>(digit & 15)
  }
  return value
}

/** Reads UUID text into halves. Sets `wellFormed` to 1 for each UUID of version 4, variant 10, lower case, else to 0. */
export function parseUuids(text: usize, left: usize, right: usize, wellFormed: usize, count: i32): void {
  for (let i = 0; i < count; i++) {
    strange = 0
    const first = (readBytes(text, 4) << 32) | (readBytes(text + 9, 2) << 16) | readBytes(text + 14, 2)
    const last = (readBytes(text + 19, 2) << 48) | readBytes(text + 24, 6)
    const hyphens = load<u8>(text, 8) == HYPHEN && load<u8>(text, 13) == HYPHEN && load<u8>(text, 18) == HYPHEN && load<u8>(text, 23) == HYPHEN
    const shaped = hyphens && strange < 16 && (first & 0xf000) == 0x4000 && last >> 62 == 2
    store<u8>(wellFormed, shaped ? 1 : 0)
    const high60 = ((first >> 16) << 12) | (first & 0xfff)
    store<u64>(left, (high60 << 1) | ((last >> 61) & 1))
    store<u64>(right, last & MASK61)
    text += 36
    left += 8
    right += 8
    wellFormed++
  }
}

/** Encrypts the words of a few items to UUID text, with the schedule of `expandKey`. Wipes `blocks` and the halves. */
export function encryptPointersFew(
  schedule: usize, fixed: usize, words: usize, left: usize, right: usize, blocks: usize, text: usize, count: i32,
): void {
  splitWords(words, left, right, count)
  writeRound(fixed, 0, right, blocks, count)
  for (let round: u32 = 0; round < ROUNDS; round++) {
    encryptBlocks(schedule, blocks, count)
    addRound(fixed, round + 1, round & 1 ? right : left, blocks, count)
  }
  renderUuids(left, right, text, count)
  wipeLanes(left, right, blocks, count)
}

/** Decrypts UUID text to words, with the flags of `parseUuids`. The words can overwrite the text. */
export function decryptPointersFew(
  schedule: usize, fixed: usize, text: usize, left: usize, right: usize, blocks: usize, words: usize, wellFormed: usize, count: i32,
): void {
  parseUuids(text, left, right, wellFormed, count)
  writeRound(fixed, ROUNDS - 1, left, blocks, count)
  for (let round = ROUNDS; round > 0; round--) {
    encryptBlocks(schedule, blocks, count)
    subtractRound(fixed, round - 2, round & 1 ? left : right, blocks, count)
  }
  joinWords(words, left, right, wellFormed, count)
  wipeLanes(left, right, blocks, count)
}

function wipeLanes(left: usize, right: usize, blocks: usize, count: i32): void {
  memory.fill(left, 0, 8 * count)
  memory.fill(right, 0, 8 * count)
  memory.fill(blocks, 0, 16 * count)
}
