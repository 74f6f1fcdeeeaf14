/** HMAC-SHA-256 over the hash port. Source: RFC 2104. */
import { VaultError } from '../errors.ts'
import { HASH_BYTES, type Hash } from '../ports/crypto.ts'
import { toSlab } from '../util/memory.ts'

/** Block length of SHA-256 in bytes. */
const BLOCK_BYTES = 64
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

/** Returns 32 bytes. The key has 64 bytes at most. */
export function hmacSha256(hash: Hash, key: Uint8Array, message: Uint8Array): Uint8Array {
  if (key.length > BLOCK_BYTES)
    throw new VaultError('internal', 'The key of an HMAC is too long. This is a defect; please report it.')
  const padded = (pad: number, rest: Uint8Array): Uint8Array => {
    const block = new Uint8Array(BLOCK_BYTES + rest.length).fill(pad, 0, BLOCK_BYTES)
    for (const [index, byte] of key.entries()) block[index] = byte ^ pad
    block.set(rest, BLOCK_BYTES)
    const digest = hash.sha256(toSlab([block]))
    block.fill(0, 0, BLOCK_BYTES)
    return digest
  }
  return padded(OUTER_PAD, padded(INNER_PAD, message))
}

/** True if two results are equal, after the same work wherever they differ. */
export function isSameMac(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES) return false
  let difference = 0
  for (const [index, byte] of left.entries()) difference |= byte ^ (right[index] ?? 0)
  return difference === 0
}
