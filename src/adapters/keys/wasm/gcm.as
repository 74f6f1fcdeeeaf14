/** AES-GCM of many short messages, except AES itself, whose blocks the host computes. IVs have 96 bits. */
import { absorb, absorbTwo } from './ghash'

/**
 * Writes the counter blocks of `count` messages, the one for the tag first. The next IV is `stride` bytes further, plus the
 * length of the message if `inBodies` is 1. Returns the number of bytes written.
 */
export function writeCounters(ivs: usize, stride: usize, inBodies: usize, lengths: usize, count: i32, out: usize): usize {
  let at = out
  for (let i = 0; i < count; i++) {
    const length = load<u32>(lengths)
    const last: u32 = 1 + ((length + 15) >> 4)
    const first = load<u64>(ivs)
    const second = load<u32>(ivs, 8)
    for (let counter: u32 = 1; counter <= last; counter++) {
      store<u64>(at, first)
      store<u32>(at, second, 8)
      store<u32>(at, bswap<u32>(counter), 12)
      at += 16
    }
    lengths += 4
    ivs += stride + inBodies * length
  }
  return at - out
}

/** Keeps the first `rest` of eight bytes; `rest` from 0 to 8. */
@inline
function keepHalf(word: u64, rest: i32): u64 {
  return rest >= 8 ? word : word & ((<u64>1 << (<u64>rest * 8)) - 1)
}

/** Returns the length of a text padded to whole blocks, in bytes. */
@inline
function wholeBlocks(length: u32): usize {
  return <usize>((length + 15) & ~15)
}

/** Returns the hash of the associated data of one message, which is padded to whole blocks. */
@inline
function hashContext(tables: usize, context: usize, contextBytes: u32): v128 {
  let hash = i64x2.splat(0)
  let rest = <i32>wholeBlocks(contextBytes)
  for (; rest > 16; rest -= 32) {
    hash = absorbTwo(tables, hash, v128.load(context), v128.load(context, 16))
    context += 32
  }
  return rest > 0 ? absorb(tables, hash, v128.load(context)) : hash
}

@inline
function toBlock(first: u64, last: u64): v128 {
  return i64x2.replace_lane(i64x2.splat(first), 1, last)
}

/** Returns the first `rest` of 16 bytes, padded with zeros. */
@inline
function keepBytes(block: v128, rest: i32): v128 {
  return toBlock(keepHalf(i64x2.extract_lane(block, 0), rest), keepHalf(i64x2.extract_lane(block, 1), max(rest - 8, 0)))
}

/**
 * Adds the key stream to one message, whose first block masks the tag. Returns the tag. The hash has the ciphertext, which is the output
 * when sealing and the input when opening, and ends with both lengths in bits.
 */
@inline
function cipherText(
  tables: usize, context: usize, contextBytes: u32, stream: usize, from: usize, to: usize, length: u32, sealing: bool,
): v128 {
  let hash = hashContext(tables, context, contextBytes)
  const mask = v128.load(stream)
  const lengths = toBlock(bswap<u64>(<u64>contextBytes * 8), bswap<u64>(<u64>length * 8))
  let rest = <i32>length
  for (; rest > 16; rest -= 32) {
    const one = v128.load(from)
    const two = v128.load(from, 16)
    const oneOut = v128.xor(one, v128.load(stream, 16))
    const twoOut = v128.xor(two, v128.load(stream, 32))
    v128.store(to, oneOut)
    v128.store(to, twoOut, 16)
    const last = sealing ? twoOut : two
    hash = absorbTwo(tables, hash, sealing ? oneOut : one, rest < 32 ? keepBytes(last, rest - 16) : last)
    stream += 32
    from += 32
    to += 32
  }
  if (rest <= 0) return v128.xor(absorb(tables, hash, lengths), mask)
  const one = v128.load(from)
  const oneOut = v128.xor(one, v128.load(stream, 16))
  v128.store(to, oneOut)
  return v128.xor(absorbTwo(tables, hash, keepBytes(sealing ? oneOut : one, rest), lengths), mask)
}

/**
 * Seals: writes `prefix | iv | ciphertext | tag` of each message, one after the other. Plaintexts follow each other, and so do
 * associated data, padded to whole blocks. The first block of key stream of a message masks its tag. Can write up to 16 bytes
 * past the end. Returns the end.
 */
export function sealBodies(
  tables: usize, stream: usize, plain: usize, lengths: usize, count: i32, contexts: usize, contextBytes: u32,
  prefix: usize, prefixBytes: usize, ivs: usize, out: usize,
): usize {
  for (let i = 0; i < count; i++) {
    const length = load<u32>(lengths)
    for (let k: usize = 0; k < prefixBytes; k += 8) store<u64>(out + k, load<u64>(prefix + k))
    out += prefixBytes
    store<u64>(out, load<u64>(ivs))
    store<u32>(out, load<u32>(ivs, 8), 8)
    out += 12
    const tag = cipherText(tables, contexts, contextBytes, stream, plain, out, length, true)
    out += length
    v128.store(out, tag)
    out += 16
    stream += 16 + wholeBlocks(length)
    plain += length
    lengths += 4
    contexts += wholeBlocks(contextBytes)
    ivs += 12
  }
  return out
}

/**
 * Opens bodies with the layout of `sealBodies`. Writes the plaintexts to `plain`, one after the other. If a tag is wrong, writes
 * zeros and sets `opened` to 0. Tags are compared whole. Can write up to 16 bytes past the end.
 */
export function openBodies(
  tables: usize, stream: usize, bodies: usize, prefixBytes: usize, lengths: usize, count: i32, contexts: usize, contextBytes: u32,
  opened: usize, plain: usize,
): void {
  for (let i = 0; i < count; i++) {
    const length = load<u32>(lengths)
    bodies += prefixBytes + 12
    const tag = cipherText(tables, contexts, contextBytes, stream, bodies, plain, length, false)
    bodies += length
    const forged = v128.any_true(v128.xor(tag, v128.load(bodies)))
    store<u8>(opened, forged ? 0 : 1)
    if (forged) memory.fill(plain, 0, length)
    bodies += 16
    stream += 16 + wholeBlocks(length)
    plain += length
    opened++
    lengths += 4
    contexts += wholeBlocks(contextBytes)
  }
}
