/** AES-GCM of many short messages, except AES itself, whose blocks the host computes. IVs have 96 bits. */
import { absorb, hashFirst, hashLast, resetHash } from './ghash'

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

@inline
function absorbAt(at: usize): void {
  absorb(bswap<u64>(load<u64>(at)), bswap<u64>(load<u64>(at, 8)))
}

/** Keeps the first `rest` of eight bytes; `rest` from 0 to 8. */
@inline
function keepBytes(word: u64, rest: i32): u64 {
  return rest >= 8 ? word : word & ((<u64>1 << (<u64>rest * 8)) - 1)
}

/** Begins the hash of one message with its associated data, which is padded to whole blocks. */
@inline
function absorbContext(context: usize, contextBytes: u32): void {
  resetHash()
  const end = context + ((contextBytes + 15) & ~15)
  for (let at = context; at < end; at += 16) absorbAt(at)
}

/** Adds the key stream to one message and hashes its ciphertext: the output when sealing, the input when opening. */
@inline
function cipherText(stream: usize, from: usize, to: usize, length: u32, sealing: bool): void {
  for (let rest = <i32>length; rest > 0; rest -= 16) {
    const inFirst = load<u64>(from)
    const inLast = load<u64>(from, 8)
    const outFirst = inFirst ^ load<u64>(stream)
    const outLast = inLast ^ load<u64>(stream, 8)
    store<u64>(to, outFirst)
    store<u64>(to, outLast, 8)
    const first = keepBytes(sealing ? outFirst : inFirst, rest)
    const last = keepBytes(sealing ? outLast : inLast, max(rest - 8, 0))
    absorb(bswap<u64>(first), bswap<u64>(last))
    stream += 16
    from += 16
    to += 16
  }
}

/** Returns the length of a text padded to whole blocks, in bytes. */
@inline
function wholeBlocks(length: u32): usize {
  return <usize>((length + 15) & ~15)
}

/**
 * Seals: writes `prefix | iv | ciphertext | tag` of each message, one after the other. Plaintexts follow each other, and so do
 * associated data, padded to whole blocks. The first block of key stream of a message masks its tag. Can write up to 16 bytes
 * past the end. Returns the end.
 */
export function sealBodies(
  stream: usize, plain: usize, lengths: usize, count: i32, contexts: usize, contextBytes: u32,
  prefix: usize, prefixBytes: usize, ivs: usize, out: usize,
): usize {
  for (let i = 0; i < count; i++) {
    const length = load<u32>(lengths)
    for (let k: usize = 0; k < prefixBytes; k += 8) store<u64>(out + k, load<u64>(prefix + k))
    out += prefixBytes
    store<u64>(out, load<u64>(ivs))
    store<u32>(out, load<u32>(ivs, 8), 8)
    out += 12
    absorbContext(contexts, contextBytes)
    cipherText(stream + 16, plain, out, length, true)
    absorb(<u64>contextBytes * 8, <u64>length * 8)
    out += length
    store<u64>(out, hashFirst() ^ load<u64>(stream))
    store<u64>(out, hashLast() ^ load<u64>(stream, 8), 8)
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
  stream: usize, bodies: usize, prefixBytes: usize, lengths: usize, count: i32, contexts: usize, contextBytes: u32,
  opened: usize, plain: usize,
): void {
  for (let i = 0; i < count; i++) {
    const length = load<u32>(lengths)
    bodies += prefixBytes + 12
    absorbContext(contexts, contextBytes)
    cipherText(stream + 16, bodies, plain, length, false)
    absorb(<u64>contextBytes * 8, <u64>length * 8)
    bodies += length
    const first = hashFirst() ^ load<u64>(stream) ^ load<u64>(bodies)
    const last = hashLast() ^ load<u64>(stream, 8) ^ load<u64>(bodies, 8)
    const forged = (first | last) != 0
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
