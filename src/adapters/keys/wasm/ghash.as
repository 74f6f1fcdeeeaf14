/** GHASH in constant time: the carry-less product by integer multiplication with holes (the ctmul64 method of BearSSL). */

let h0: u64 = 0
let h1: u64 = 0
let h2: u64 = 0
let h0r: u64 = 0
let h1r: u64 = 0
let h2r: u64 = 0
let y0: u64 = 0
let y1: u64 = 0

/** Low 64 bits of a carry-less product: operands are split so that no carry reaches a bit that is kept. */
@inline
function multiply(x: u64, y: u64): u64 {
  const x0 = x & 0x1111111111111111
  const x1 = x & 0x2222222222222222
  const x2 = x & 0x4444444444444444
  const x3 = x & 0x8888888888888888
  const v0 = y & 0x1111111111111111
  const v1 = y & 0x2222222222222222
  const v2 = y & 0x4444444444444444
  const v3 = y & 0x8888888888888888
  const z0 = (x0 * v0) ^ (x1 * v3) ^ (x2 * v2) ^ (x3 * v1)
  const z1 = (x0 * v1) ^ (x1 * v0) ^ (x2 * v3) ^ (x3 * v2)
  const z2 = (x0 * v2) ^ (x1 * v1) ^ (x2 * v0) ^ (x3 * v3)
  const z3 = (x0 * v3) ^ (x1 * v2) ^ (x2 * v1) ^ (x3 * v0)
  return (z0 & 0x1111111111111111) | (z1 & 0x2222222222222222) | (z2 & 0x4444444444444444) | (z3 & 0x8888888888888888)
}

/** Returns the 64 bits in reverse order. */
@inline
function reverse(bits: u64): u64 {
  let x = bits
  x = ((x & 0x5555555555555555) << 1) | ((x >> 1) & 0x5555555555555555)
  x = ((x & 0x3333333333333333) << 2) | ((x >> 2) & 0x3333333333333333)
  x = ((x & 0x0f0f0f0f0f0f0f0f) << 4) | ((x >> 4) & 0x0f0f0f0f0f0f0f0f)
  return bswap<u64>(x)
}

/** Reads the hash key, AES(0), from memory. */
export function useHashKey(at: usize): void {
  h1 = bswap<u64>(load<u64>(at))
  h0 = bswap<u64>(load<u64>(at, 8))
  h0r = reverse(h0)
  h1r = reverse(h1)
  h2 = h0 ^ h1
  h2r = h0r ^ h1r
}

/** Forgets the hash key. */
export function forgetHashKey(): void {
  h0 = h1 = h2 = h0r = h1r = h2r = y0 = y1 = 0
}

/** Begins a new hash. */
@inline
export function resetHash(): void {
  y0 = 0
  y1 = 0
}

/** Adds one block, high half first, to the hash: Karatsuba product by H, then reduction by x^128 + x^7 + x^2 + x + 1. */
export function absorb(high: u64, low: u64): void {
  const a1 = y1 ^ high
  const a0 = y0 ^ low
  const a0r = reverse(a0)
  const a1r = reverse(a1)
  const z0 = multiply(a0, h0)
  const z1 = multiply(a1, h1)
  const z2 = multiply(a0 ^ a1, h2) ^ z0 ^ z1
  let z0h = multiply(a0r, h0r)
  let z1h = multiply(a1r, h1r)
  let z2h = multiply(a0r ^ a1r, h2r) ^ z0h ^ z1h
  z0h = reverse(z0h) >> 1
  z1h = reverse(z1h) >> 1
  z2h = reverse(z2h) >> 1
  let v1 = z0h ^ z2
  let v2 = z1 ^ z2h
  let v3 = z1h
  v3 = (v3 << 1) | (v2 >> 63)
  v2 = (v2 << 1) | (v1 >> 63)
  v1 = (v1 << 1) | (z0 >> 63)
  const v0 = z0 << 1
  v2 ^= v0 ^ (v0 >> 1) ^ (v0 >> 2) ^ (v0 >> 7)
  v1 ^= (v0 << 63) ^ (v0 << 62) ^ (v0 << 57)
  v3 ^= v1 ^ (v1 >> 1) ^ (v1 >> 2) ^ (v1 >> 7)
  v2 ^= (v1 << 63) ^ (v1 << 62) ^ (v1 << 57)
  y0 = v2
  y1 = v3
}

/** Returns the first eight bytes of the hash, in the byte order of memory. */
@inline
export function hashFirst(): u64 {
  return bswap<u64>(y1)
}

/** Returns the last eight bytes of the hash, in the byte order of memory. */
@inline
export function hashLast(): u64 {
  return bswap<u64>(y0)
}
