/** Merkle trees of hashed leaves. A tree grows by one leaf at a time and is stored as the roots of its full subtrees. Source: RFC 9162, section 2.1. */
import type { Hash } from '../ports/hash.ts'
import { HASH_BYTES } from '../ports/hash.ts'

/** First byte of the input of a leaf hash. Nodes have another one, so that a node is never valid as a leaf. */
export const LEAF_PREFIX = 0
const NODE_PREFIX = 1
/** Most events are shorter. */
const USUAL_LEAF_BYTES = 2048
const NODE_BYTES = 1 + 2 * HASH_BYTES
/** Maximum number of full subtrees: the number of bits of a safe integer. */
const MAX_PEAKS = 53
/** Input of a node hash: the prefix, then both children. All trees use it in turn, because nothing is awaited between writing and hashing it. */
const PAIR = new Uint8Array(NODE_BYTES).fill(NODE_PREFIX, 0, 1)
const PAIR_ENDS = Uint32Array.of(NODE_BYTES)
/** The end of the input of any other hash, used in the same way. */
const LEAF_END = new Uint32Array(1)

/** A tree of `size` leaves. `peaks` has the roots of its full subtrees, largest first, HASH_BYTES each: one for each bit set in `size`. */
export interface MerkleTree {
  readonly size: number
  readonly peaks: Uint8Array
}

/** The empty tree. */
export const EMPTY_TREE: MerkleTree = { size: 0, peaks: new Uint8Array(0) }

/** Returns the length of the peaks of a tree with `size` leaves, in bytes. */
export function peakBytes(size: number): number {
  let peaks = 0
  // No bit operators: they are signed beyond 2^31.
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) peaks += rest % 2
  return peaks * HASH_BYTES
}

/** Returns the hash of a leaf: SHA-256 of a zero byte and the bytes. */
export function hashLeaf(hash: Hash, bytes: Uint8Array): Uint8Array {
  const input = new Uint8Array(1 + bytes.length)
  input[0] = LEAF_PREFIX
  input.set(bytes, 1)
  return hashPrefixed(hash, input)
}

/** Returns a function like `hashLeaf` that reuses its buffer, to hash many leaves one after the other. */
export function createLeafHasher(hash: Hash): (bytes: Uint8Array) => Uint8Array {
  const end = new Uint32Array(1)
  let input = new Uint8Array(USUAL_LEAF_BYTES)
  return (bytes) => {
    if (bytes.length >= input.length) input = new Uint8Array(1 + 2 * bytes.length)
    // The first byte is the prefix of a leaf, which is zero.
    input.set(bytes, 1)
    end[0] = 1 + bytes.length
    return hash.sha256({ bytes: input, ends: end, count: 1 })
  }
}

/** Returns the hash of bytes that already begin with the prefix of a leaf or node. */
export function hashPrefixed(hash: Hash, prefixed: Uint8Array): Uint8Array {
  LEAF_END[0] = prefixed.length
  return hash.sha256({ bytes: prefixed, ends: LEAF_END, count: 1 })
}

/** A tree that grows. */
export class MerkleBuilder {
  readonly #hash: Hash
  #peaks: Uint8Array
  #end: number
  #size: number

  /** Continues a stored tree, or starts an empty one. */
  constructor(hash: Hash, { size, peaks }: MerkleTree = EMPTY_TREE) {
    this.#hash = hash
    this.#size = size
    this.#end = peaks.length
    this.#peaks = new Uint8Array(peaks.length + HASH_BYTES)
    this.#peaks.set(peaks)
  }

  /** Appends the hash of a leaf. */
  append(leaf: Uint8Array): void {
    let node = leaf
    let end = this.#end
    // Each trailing bit set in the size is a full subtree as large as `node`. Both become one subtree of twice the size.
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2) {
      end -= HASH_BYTES
      node = this.#node(end, node)
    }
    if (end === this.#peaks.length) this.#grow()
    this.#peaks.set(node, end)
    this.#end = end + HASH_BYTES
    this.#size++
  }

  /** Grows the buffer to its maximum. Never called for a tree that is appended to once, as the tree of a chain head is. */
  #grow(): void {
    const grown = new Uint8Array(MAX_PEAKS * HASH_BYTES)
    grown.set(this.#peaks)
    this.#peaks = grown
  }

  /** Returns the current tree, to be stored. It is a view, valid until the next leaf. */
  tree(): MerkleTree {
    return { size: this.#size, peaks: this.#peaks.subarray(0, this.#end) }
  }

  /** Returns the root hash of all leaves; for an empty tree, the hash of no bytes. */
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

  /** Returns the node hash of the peak at offset `start` and its right sibling. */
  #node(start: number, right: Uint8Array): Uint8Array {
    for (let i = 0; i < HASH_BYTES; i++) PAIR[1 + i] = this.#peaks[start + i] ?? 0 // Exists: a peak starts here.
    PAIR.set(right, 1 + HASH_BYTES)
    return this.#hash.sha256({ bytes: PAIR, ends: PAIR_ENDS, count: 1 })
  }
}
