/**
 * AES-256 of single blocks (FIPS 197) in constant time, for lists that are too short to be worth a call of the platform's cipher.
 *
 * Method: Mike Hamburg, "Accelerating AES with Vector Permute Instructions", CHES 2009. The state is in the tower field
 * GF(16)[w], where the inverse in the S-box needs lookups in tables of 16 entries only. Such a table fits into one vector register,
 * and a lookup is a shuffle of bytes by bytes (`relaxed_swizzle`) within registers. No address, no branch and no instruction of variable
 * time depends on key or state; loads, stores and loops depend on counts and round numbers only. All indexes are below 16, or have
 * bit 7 set and give 0: that bit means "infinity", 1/0. The relaxed form leaves open what others
 * would give, and there are none.
 *
 * Round keys are in this memory during a call. They are as secret as the key.
 */

const ROUNDS: usize = 14
/** Bytes of a schedule: 15 round keys. */
const SCHEDULE: usize = 240

/** In the field of AES: a root of x^4 + x + 1, so that its powers 1, G, G^2, G^3 span the subfield GF(16). */
const G: u32 = 0x5c
/** A byte outside of that subfield with W^2 = A (W + 1), where A = G^2. The tower writes every byte as low + high * W. */
const W: u32 = 0x09
const A_NIBBLE: u32 = 4

/** Tables of 16 bytes, filled by `prepareAes` from the definitions above. Nothing here depends on a key. */
const TABLES: usize = memory.data(10 * 16, 16)
const INVERSE: usize = TABLES
const A_OVER: usize = TABLES + 16
const INTO_LOW: usize = TABLES + 32
const INTO_HIGH: usize = TABLES + 48
const ONCE_FIRST: usize = TABLES + 64
const ONCE_SECOND: usize = TABLES + 80
const TWICE_FIRST: usize = TABLES + 96
const TWICE_SECOND: usize = TABLES + 112
const LAST_FIRST: usize = TABLES + 128
const LAST_SECOND: usize = TABLES + 144
/** Constants in memory: a load is cheaper than building one from two halves at every use. */
const LOW_NIBBLES: usize = memory.data<u8>([15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15], 16)
/** ShiftRows; then the same with every column turned up by one, two and three rows, for MixColumns. */
const ROWS: usize = memory.data<u8>([0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11], 16)
const ROWS_1: usize = memory.data<u8>([5, 10, 15, 0, 9, 14, 3, 4, 13, 2, 7, 8, 1, 6, 11, 12], 16)
const ROWS_2: usize = memory.data<u8>([10, 15, 0, 5, 14, 3, 4, 9, 2, 7, 8, 13, 6, 11, 12, 1], 16)
const ROWS_3: usize = memory.data<u8>([15, 0, 5, 10, 3, 4, 9, 14, 7, 8, 13, 2, 11, 12, 1, 6], 16)
/** Converts a byte of the AES field to low | high << 4 of the tower. */
const INTO_TOWER: usize = memory.data(256)

/** Product in the field of AES. For the tables alone. */
function multiply(x: u32, y: u32): u32 {
  let product: u32 = 0
  for (let bit = 0; bit < 8; bit++) {
    if ((y >> bit) & 1) product ^= x
    x = (x << 1) ^ ((x >> 7) * 0x11b)
  }
  return product
}

/** The inverse as a power: x^254. */
function invert(x: u32): u32 {
  let power: u32 = 1
  for (let i = 0; i < 254; i++) power = multiply(power, x)
  return power
}

/** Returns the byte of the AES field for a nibble. */
function spread(nibble: u32): u32 {
  let byte: u32 = 0
  let power: u32 = 1
  for (let bit = 0; bit < 4; bit++) {
    if ((nibble >> bit) & 1) byte ^= power
    power = multiply(power, G)
  }
  return byte
}

/** The linear part of the S-box; its constant 0x63 is added to the round keys instead. */
function mix(x: u32): u32 {
  const twice = x | (x << 8)
  return (x ^ (twice >> 4) ^ (twice >> 5) ^ (twice >> 6) ^ (twice >> 7)) & 255
}

@inline
function intoTower(byte: u32): u32 {
  return load<u8>(INTO_TOWER + byte)
}

/** Entry `n` of the tables that lead out of the inverse: the shares of its two halves, through the linear part of a round. */
function prepareOutputs(n: u32, first: u32, second: u32): void {
  store<u8>(ONCE_FIRST + n, intoTower(mix(first)))
  store<u8>(ONCE_SECOND + n, intoTower(mix(second)))
  store<u8>(TWICE_FIRST + n, intoTower(multiply(2, mix(first))))
  store<u8>(TWICE_SECOND + n, intoTower(multiply(2, mix(second))))
  store<u8>(LAST_FIRST + n, mix(first))
  store<u8>(LAST_SECOND + n, mix(second))
}

/**
 * Must be called once, before the other functions of this file. The inverse of k + iW, whose norm is N = k^2 + Aik + Ai^2, is (k + Ai)/N +
 * (i/N) W. The rounds find 1/u = N/(k + Ai) and 1/v = N/(k + Ai + Ak); of these u is the first coordinate, and since
 * u + v = Ak/N, the second one is i/N = u/A + (u + v)/A^2. The output tables hold the shares of u and of v in that sum.
 */
export function prepareAes(): void {
  for (let n: u32 = 0; n < 256; n++) store<u8>(INTO_TOWER + (spread(n & 15) ^ multiply(spread(n >> 4), W)), n)
  const a = spread(A_NIBBLE)
  const overA = invert(a)
  for (let n: u32 = 0; n < 16; n++) {
    const inverse = invert(spread(n))
    store<u8>(INVERSE + n, n == 0 ? 0x80 : intoTower(inverse))
    store<u8>(A_OVER + n, n == 0 ? 0x80 : intoTower(multiply(a, inverse)))
    store<u8>(INTO_LOW + n, intoTower(n))
    store<u8>(INTO_HIGH + n, intoTower(n << 4))
    const once = multiply(inverse, overA)
    const twice = multiply(once, overA)
    prepareOutputs(n, inverse ^ multiply(once ^ twice, W), multiply(twice, W))
  }
}

@inline
function lowNibbles(bytes: v128): v128 {
  return v128.and(bytes, v128.load(LOW_NIBBLES))
}

@inline
function highNibbles(bytes: v128): v128 {
  return i16x8.shr_u(v128.andnot(bytes, v128.load(LOW_NIBBLES)), 4)
}

/** Sum of two look-ups: a map from two nibbles of each byte to a byte. */
@inline
function look(first: usize, u: v128, second: usize, v: v128): v128 {
  return v128.xor(i8x16.relaxed_swizzle(v128.load(first), u), i8x16.relaxed_swizzle(v128.load(second), v))
}

/** Bytes of the AES field to bytes of the tower. */
@inline
function enter(bytes: v128): v128 {
  return look(INTO_LOW, lowNibbles(bytes), INTO_HIGH, highNibbles(bytes))
}

/** 1/u of `prepareAes`: j + 1/(1/i + A/k), with j = i + k. */
@inline
function firstHalf(low: v128, high: v128): v128 {
  const inverse = v128.load(INVERSE)
  const share = v128.xor(i8x16.relaxed_swizzle(inverse, high), i8x16.relaxed_swizzle(v128.load(A_OVER), low))
  return v128.xor(i8x16.relaxed_swizzle(inverse, share), v128.xor(low, high))
}

/** 1/v of `prepareAes`: i + 1/(1/j + A/k). */
@inline
function secondHalf(low: v128, high: v128): v128 {
  const inverse = v128.load(INVERSE)
  const share = v128.xor(i8x16.relaxed_swizzle(inverse, v128.xor(low, high)), i8x16.relaxed_swizzle(v128.load(A_OVER), low))
  return v128.xor(i8x16.relaxed_swizzle(inverse, share), high)
}

/** SubBytes, ShiftRows, MixColumns and AddRoundKey, within the tower. */
@inline
function round(state: v128, key: usize): v128 {
  const low = lowNibbles(state)
  const high = highNibbles(state)
  const u = firstHalf(low, high)
  const v = secondHalf(low, high)
  const once = look(ONCE_FIRST, u, ONCE_SECOND, v)
  const twice = look(TWICE_FIRST, u, TWICE_SECOND, v)
  // Each column becomes 2 x itself + 3 x the one turned by a row + the two turned further.
  const near = v128.xor(i8x16.relaxed_swizzle(twice, v128.load(ROWS)), v128.load(key))
  const next = i8x16.relaxed_swizzle(v128.xor(once, twice), v128.load(ROWS_1))
  const far = v128.xor(i8x16.relaxed_swizzle(once, v128.load(ROWS_2)), i8x16.relaxed_swizzle(once, v128.load(ROWS_3)))
  return v128.xor(v128.xor(near, next), far)
}

/** SubBytes without its constant, out of the tower. */
@inline
function leave(state: v128): v128 {
  const low = lowNibbles(state)
  const high = highNibbles(state)
  return look(LAST_FIRST, firstHalf(low, high), LAST_SECOND, secondHalf(low, high))
}

/** The last round: SubBytes, ShiftRows, AddRoundKey. */
@inline
function lastRound(state: v128, key: usize): v128 {
  return v128.xor(i8x16.relaxed_swizzle(leave(state), v128.load(ROWS)), v128.load(key))
}

/** Encrypts `count` blocks in place, two at a time: one alone would leave a third of the processor idle. */
export function encryptBlocks(schedule: usize, blocks: usize, count: i32): void {
  const first = v128.load(schedule)
  const last = schedule + 16 * ROUNDS
  for (; count > 1; count -= 2) {
    let one = v128.xor(enter(v128.load(blocks)), first)
    let two = v128.xor(enter(v128.load(blocks, 16)), first)
    for (let key = schedule + 16; key < last; key += 16) {
      one = round(one, key)
      two = round(two, key)
    }
    v128.store(blocks, lastRound(one, last))
    v128.store(blocks, lastRound(two, last), 16)
    blocks += 32
  }
  if (count < 1) return
  let one = v128.xor(enter(v128.load(blocks)), first)
  for (let key = schedule + 16; key < last; key += 16) one = round(one, key)
  v128.store(blocks, lastRound(one, last))
}

/** The S-box on the four bytes of a word. */
@inline
function substituteWord(word: u32): u32 {
  return i32x4.extract_lane(leave(enter(i32x4.splat(word))), 0) ^ 0x63636363
}

/** The key schedule, FIPS 197 section 5.2, from 32 bytes; words have the byte order of memory. */
export function expandKey(key: usize, schedule: usize): void {
  memory.copy(schedule, key, 32)
  let constant: u32 = 1
  for (let at = schedule + 32; at < schedule + SCHEDULE; at += 4) {
    const step = (at - schedule) & 31
    let word = load<u32>(at - 4)
    if (step == 0) {
      word = substituteWord(rotr(word, 8)) ^ constant
      constant <<= 1
    } else if (step == 16) word = substituteWord(word)
    store<u32>(at, word ^ load<u32>(at - 32))
  }
  // Converts to the form that the rounds need: in the tower, with the constant of the S-box added, which MixColumns does not change.
  const last = schedule + 16 * ROUNDS
  v128.store(schedule, enter(v128.load(schedule)))
  for (let at = schedule + 16; at < last; at += 16) v128.store(at, enter(v128.xor(v128.load(at), i8x16.splat(0x63))))
  v128.store(last, v128.xor(v128.load(last), i8x16.splat(0x63)))
}
