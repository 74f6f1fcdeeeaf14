/** Merkle trees over hashed leaves, grown one leaf at a time and kept as their few full subtrees. Source: RFC 9162, section 2.1. */
import type { Hash } from '../ports/hash.ts'
import { HASH_BYTES } from '../ports/hash.ts'

/** First byte of what is hashed to a leaf. A node has another, so that no node can be taken for a leaf. */
export const LEAF_PREFIX = 0
const NODE_PREFIX = 1
const NODE_BYTES = 1 + 2 * HASH_BYTES
/** Full subtrees a tree can have: as many as a size that is a safe integer has bits. */
const MOST_PEAKS = 53

/** A tree of `size` leaves, as the roots of its full subtrees from the largest down, one behind the other: one for each bit set in `size`. */
export interface MerkleTree {
  readonly size: number
  readonly peaks: Uint8Array
}

/** The tree without leaves. */
export const EMPTY_TREE: MerkleTree = { size: 0, peaks: new Uint8Array(0) }

/** Bytes the peaks of a tree of this size have. */
export function peakBytes(size: number): number {
  let peaks = 0
  // Sizes may be past 2^31, where the bit operators of the language are signed.
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) peaks += rest % 2
  return peaks * HASH_BYTES
}

/** The hash of a leaf: SHA-256 of a zero byte and the bytes. */
export function hashLeaf(hash: Hash, bytes: Uint8Array): Uint8Array {
  const input = new Uint8Array(1 + bytes.length)
  input[0] = LEAF_PREFIX
  input.set(bytes, 1)
  return hashPrefixed(hash, input)
}

/** The hash of bytes that already have the zero byte of a leaf before them. */
export function hashPrefixed(hash: Hash, prefixed: Uint8Array): Uint8Array {
  return hash.sha256({ bytes: prefixed, ends: Uint32Array.of(prefixed.length), count: 1 })
}

/** A tree that grows. */
export class MerkleBuilder {
  readonly #hash: Hash
  /** What is hashed to a node: its mark, then both sides. */
  readonly #pair = new Uint8Array(NODE_BYTES)
  readonly #pairEnd = Uint32Array.of(NODE_BYTES)
  #peaks: Uint8Array
  #end: number
  #size: number

  /** Goes on from a tree that was kept, or from none. */
  constructor(hash: Hash, { size, peaks }: MerkleTree = EMPTY_TREE) {
    this.#hash = hash
    this.#size = size
    this.#end = peaks.length
    this.#peaks = new Uint8Array(peaks.length + HASH_BYTES)
    this.#peaks.set(peaks)
    this.#pair[0] = NODE_PREFIX
  }

  /** Adds the hash of a leaf behind all others. */
  append(leaf: Uint8Array): void {
    let node = leaf
    let end = this.#end
    // Every low bit set in the size is a full subtree as large as what is being added: both become one twice as large.
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2) {
      end -= HASH_BYTES
      node = this.#node(end, node)
    }
    if (end === this.#peaks.length) this.#grow()
    this.#peaks.set(node, end)
    this.#end = end + HASH_BYTES
    this.#size++
  }

  /** A tree that is appended to once, as a lane's is, never comes here. */
  #grow(): void {
    const grown = new Uint8Array(MOST_PEAKS * HASH_BYTES)
    grown.set(this.#peaks)
    this.#peaks = grown
  }

  /** The tree as it stands, to be kept. */
  tree(): MerkleTree {
    return { size: this.#size, peaks: this.#peaks.slice(0, this.#end) }
  }

  /** The hash that stands for all leaves in their order; of none, the hash of nothing. */
  root(): Uint8Array {
    let end = this.#end - HASH_BYTES
    if (end < 0) return hashPrefixed(this.#hash, new Uint8Array(0))
    let node: Uint8Array = this.#peaks.slice(end, end + HASH_BYTES)
    while (end > 0) {
      end -= HASH_BYTES
      node = this.#node(end, node)
    }
    return node
  }

  /** The node over the peak at `start` and what stands right of it. */
  #node(start: number, right: Uint8Array): Uint8Array {
    this.#pair.set(this.#peaks.subarray(start, start + HASH_BYTES), 1)
    this.#pair.set(right, 1 + HASH_BYTES)
    return this.#hash.sha256({ bytes: this.#pair, ends: this.#pairEnd, count: 1 })
  }
}
