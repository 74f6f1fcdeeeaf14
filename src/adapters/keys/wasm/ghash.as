/**
 * GHASH (SP 800-38D, section 6.4) in constant time, by tables of the hash key H that fit into vector registers.
 *
 * Method: the product of a block and H is the sum of the products of its bytes. Byte k of the product of one byte and H, reduced,
 * depends on two nibbles only: a table of 16 bytes for each. One shuffle of bytes by bytes (`relaxed_swizzle`) looks it up for all bytes of a
 * block at once. So 32 tables are enough. Two blocks are multiplied at once, the first one by the square of H, which has as many
 * tables of its own: what brings the bytes to their places, and the reduction, are then needed once for both. No address, no branch and no
 * instruction of variable time depends on H or on data: tables are always read in the same order, and all indexes are below 16.
 *
 * Bits have the order of GCM: the most significant bit of the first byte is the coefficient of x^0, so byte i has weight x^(8i).
 */

/**
 * Tables of one byte of a product: for the first and the second nibble of the factor of the square of H, and for those of the factor of H.
 * All of them, HASH_TABLE_BYTES of the host, are as secret as the hash key.
 */
const SET: usize = 64
/** Where the tables of H begin in a set. */
const SECOND: usize = 32
const PRODUCT_BYTES: usize = 16
/** A factor, multiplied by 1, x, x^2 and so on to x^7. Wiped after use. */
const POWERS: usize = memory.data(8 * 16, 16)
/** Bytes of a nibble's product by 1 + x + x^2 + x^7, to which x^128 is reduced. The last three bits of the nibble reach the next byte. */
const SAME_FIRST: usize = memory.data<u8>([0, 28, 56, 36, 112, 108, 72, 84, 225, 253, 217, 197, 145, 141, 169, 181], 16)
const SAME_SECOND: usize = memory.data<u8>([0, 1, 3, 2, 7, 6, 4, 5, 14, 15, 13, 12, 9, 8, 10, 11], 16)
const NEXT_FIRST: usize = memory.data<u8>([0, 32, 64, 96, 128, 160, 192, 224, 0, 32, 64, 96, 128, 160, 192, 224], 16)
const NEXT_SECOND: usize = memory.data<u8>([0, 194, 132, 70, 8, 202, 140, 78, 16, 210, 148, 86, 24, 218, 156, 94], 16)
/** A constant in memory: a load is cheaper than building one at every use. */
const LOW_NIBBLES: usize = memory.data<u8>([15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15], 16)

/** Returns a table from the bytes that H has when it is multiplied by 1, x, x^2 and x^3: an entry is the sum for the bits of its index. */
@inline
function tableOf(at: usize): v128 {
  return v128.xor(
    v128.xor(
      v128.and(v128.load_splat<u8>(at), i8x16(0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1)),
      v128.and(v128.load_splat<u8>(at, 16), i8x16(0, 0, 0, 0, -1, -1, -1, -1, 0, 0, 0, 0, -1, -1, -1, -1)),
    ),
    v128.xor(
      v128.and(v128.load_splat<u8>(at, 32), i8x16(0, 0, -1, -1, 0, 0, -1, -1, 0, 0, -1, -1, 0, 0, -1, -1)),
      v128.and(v128.load_splat<u8>(at, 48), i8x16(0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1)),
    ),
  )
}

/** Fills one half of the tables: those of products with this factor. */
function fillTables(factor: v128, tables: usize): void {
  let first = bswap<u64>(i64x2.extract_lane(factor, 0))
  let last = bswap<u64>(i64x2.extract_lane(factor, 1))
  for (let power = POWERS; power < POWERS + 16 * 8; power += 16) {
    store<u64>(power, bswap<u64>(first))
    store<u64>(power, bswap<u64>(last), 8)
    // x^128 is reduced to 1 + x + x^2 + x^7: 0xe1 in the first byte.
    const over = (0 - (last & 1)) & 0xe100000000000000
    last = (last >> 1) | (first << 63)
    first = (first >> 1) ^ over
  }
  for (let k: usize = 0; k < PRODUCT_BYTES; k++) {
    v128.store(tables + SET * k, tableOf(POWERS + k))
    v128.store(tables + SET * k, tableOf(POWERS + 64 + k), 16)
  }
  memory.fill(POWERS, 0, 8 * 16)
}

/** Fills the tables of a hash key, AES(0). */
export function fillHashTables(key: usize, tables: usize): void {
  memory.fill(tables, 0, SET * PRODUCT_BYTES)
  const factor = v128.load(key)
  fillTables(factor, tables + SECOND)
  fillTables(absorb(tables, i64x2.splat(0), factor), tables)
}

@inline
function firstNibbles(bytes: v128): v128 {
  return i16x8.shr_u(v128.andnot(bytes, v128.load(LOW_NIBBLES)), 4)
}

@inline
function secondNibbles(bytes: v128): v128 {
  return v128.and(bytes, v128.load(LOW_NIBBLES))
}

/** Sum of two look-ups: a map from two nibbles of each byte to a byte. */
@inline
function look(first: usize, firsts: v128, second: usize, seconds: v128): v128 {
  return v128.xor(i8x16.relaxed_swizzle(v128.load(first), firsts), i8x16.relaxed_swizzle(v128.load(second), seconds))
}

/** Returns one byte of the product of each byte of two factors, from the nibbles of both. */
@inline
function lookSet(set: usize, first: v128, second: v128, otherFirst: v128, otherSecond: v128): v128 {
  return v128.xor(look(set, first, set + 16, second), look(set + SECOND, otherFirst, set + SECOND + 16, otherSecond))
}

/** A product has two blocks, `low` and `high`. Returns the low one after it was moved on by one byte. */
@inline
function lowByOne(low: v128): v128 {
  return v128.shuffle<i8>(i64x2.splat(0), low, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
}

/** Returns the high block of a product after it was moved on by one byte. */
@inline
function highByOne(low: v128, high: v128): v128 {
  return v128.shuffle<i8>(low, high, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
}

@inline
function lowByFour(low: v128): v128 {
  return v128.shuffle<i8>(i64x2.splat(0), low, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27)
}

@inline
function highByFour(low: v128, high: v128): v128 {
  return v128.shuffle<i8>(low, high, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27)
}

/**
 * Returns the sum of two products, that of `one` and the square of H and that of `two` and H, modulo x^128 + x^7 + x^2 + x + 1. Byte k
 * of a product belongs k bytes further than its factor. Four sums, of every fourth k each, do not wait for each other.
 */
export function multiply(tables: usize, one: v128, two: v128): v128 {
  const a = firstNibbles(one)
  const b = secondNibbles(one)
  const c = firstNibbles(two)
  const d = secondNibbles(two)
  let low0 = lookSet(tables + 12 * SET, a, b, c, d)
  let low1 = lookSet(tables + 13 * SET, a, b, c, d)
  let low2 = lookSet(tables + 14 * SET, a, b, c, d)
  let low3 = lookSet(tables + 15 * SET, a, b, c, d)
  let high0 = i64x2.splat(0)
  let high1 = i64x2.splat(0)
  let high2 = i64x2.splat(0)
  let high3 = i64x2.splat(0)
  for (let set = tables + 8 * SET; set >= tables; set -= 4 * SET) {
    high0 = highByFour(low0, high0)
    low0 = v128.xor(lowByFour(low0), lookSet(set, a, b, c, d))
    high1 = highByFour(low1, high1)
    low1 = v128.xor(lowByFour(low1), lookSet(set + SET, a, b, c, d))
    high2 = highByFour(low2, high2)
    low2 = v128.xor(lowByFour(low2), lookSet(set + 2 * SET, a, b, c, d))
    high3 = highByFour(low3, high3)
    low3 = v128.xor(lowByFour(low3), lookSet(set + 3 * SET, a, b, c, d))
  }
  high2 = v128.xor(highByOne(low3, high3), high2)
  low2 = v128.xor(lowByOne(low3), low2)
  high1 = v128.xor(highByOne(low2, high2), high1)
  low1 = v128.xor(lowByOne(low2), low1)
  const high = v128.xor(highByOne(low1, high1), high0)
  const low = v128.xor(lowByOne(low1), low0)
  const highFirst = firstNibbles(high)
  const highSecond = secondNibbles(high)
  const same = look(SAME_FIRST, highFirst, SAME_SECOND, highSecond)
  const next = look(NEXT_FIRST, highFirst, NEXT_SECOND, highSecond)
  return v128.xor(v128.xor(low, same), lowByOne(next))
}

/** Returns the hash after one more block. */
@inline
export function absorb(tables: usize, hash: v128, block: v128): v128 {
  return multiply(tables, i64x2.splat(0), v128.xor(hash, block))
}

/** Returns the hash after two more blocks. It takes as long as `absorb`. */
@inline
export function absorbTwo(tables: usize, hash: v128, one: v128, two: v128): v128 {
  return multiply(tables, v128.xor(hash, one), two)
}
