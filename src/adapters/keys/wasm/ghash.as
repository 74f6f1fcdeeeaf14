/**
 * GHASH (SP 800-38D, section 6.4) in constant time, by tables of the hash key H that fit into vector registers.
 *
 * Method: the product of a block and H is the sum of the products of its bytes. Byte k of the product of one byte and H, reduced,
 * depends on two nibbles only: a table of 16 bytes for each. One shuffle of bytes by bytes (`swizzle`) looks it up for all bytes of a
 * block at once. So 32 tables in 16 pairs are enough. No address, no branch and no instruction of variable time depends on H or on
 * data: tables are always read in the same order, and all indexes are below 16.
 *
 * Bits have the order of GCM: the most significant bit of the first byte is the coefficient of x^0, so byte i has weight x^(8i).
 */

/** A pair of tables for each byte of a product: for the first nibble of the factor, and for the second. As secret as the hash key. */
const TABLES: usize = memory.data(16 * 32, 16)
const PAIR: usize = 32
/** The hash key, multiplied by 1, x, x^2 and so on to x^7. */
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

/** Reads the hash key, AES(0), from memory, and fills the tables. */
export function useHashKey(at: usize): void {
  let first = bswap<u64>(load<u64>(at))
  let last = bswap<u64>(load<u64>(at, 8))
  for (let power = POWERS; power < POWERS + 16 * 8; power += 16) {
    store<u64>(power, bswap<u64>(first))
    store<u64>(power, bswap<u64>(last), 8)
    // x^128 is reduced to 1 + x + x^2 + x^7: 0xe1 in the first byte.
    const over = (0 - (last & 1)) & 0xe100000000000000
    last = (last >> 1) | (first << 63)
    first = (first >> 1) ^ over
  }
  for (let k: usize = 0; k < 16; k++) {
    v128.store(TABLES + PAIR * k, tableOf(POWERS + k))
    v128.store(TABLES + PAIR * k, tableOf(POWERS + 64 + k), 16)
  }
}

/** Forgets the hash key. */
export function forgetHashKey(): void {
  memory.fill(TABLES, 0, 16 * PAIR)
  memory.fill(POWERS, 0, 8 * 16)
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
  return v128.xor(v128.swizzle(v128.load(first), firsts), v128.swizzle(v128.load(second), seconds))
}

/** Returns the hash after one more block: the product of their sum and H, modulo x^128 + x^7 + x^2 + x + 1. */
export function absorb(hash: v128, block: v128): v128 {
  const factor = v128.xor(hash, block)
  const first = firstNibbles(factor)
  const second = secondNibbles(factor)
  const zero = i64x2.splat(0)
  let v = look(TABLES, first, TABLES + 16, second)
  let low = v
  let high = zero
  v = look(TABLES + PAIR * 1, first, TABLES + PAIR * 1 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30))
  v = look(TABLES + PAIR * 2, first, TABLES + PAIR * 2 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29))
  v = look(TABLES + PAIR * 3, first, TABLES + PAIR * 3 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28))
  v = look(TABLES + PAIR * 4, first, TABLES + PAIR * 4 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27))
  v = look(TABLES + PAIR * 5, first, TABLES + PAIR * 5 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26))
  v = look(TABLES + PAIR * 6, first, TABLES + PAIR * 6 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25))
  v = look(TABLES + PAIR * 7, first, TABLES + PAIR * 7 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24))
  v = look(TABLES + PAIR * 8, first, TABLES + PAIR * 8 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23))
  v = look(TABLES + PAIR * 9, first, TABLES + PAIR * 9 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22))
  v = look(TABLES + PAIR * 10, first, TABLES + PAIR * 10 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21))
  v = look(TABLES + PAIR * 11, first, TABLES + PAIR * 11 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20))
  v = look(TABLES + PAIR * 12, first, TABLES + PAIR * 12 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19))
  v = look(TABLES + PAIR * 13, first, TABLES + PAIR * 13 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18))
  v = look(TABLES + PAIR * 14, first, TABLES + PAIR * 14 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17))
  v = look(TABLES + PAIR * 15, first, TABLES + PAIR * 15 + 16, second)
  low = v128.xor(low, v128.shuffle<i8>(zero, v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
  high = v128.xor(high, v128.shuffle<i8>(v, zero, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
  const highFirst = firstNibbles(high)
  const highSecond = secondNibbles(high)
  const same = look(SAME_FIRST, highFirst, SAME_SECOND, highSecond)
  const next = look(NEXT_FIRST, highFirst, NEXT_SECOND, highSecond)
  return v128.xor(v128.xor(low, same), v128.shuffle<i8>(zero, next, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30))
}
