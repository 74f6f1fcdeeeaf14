/** Merkle trees of hashed leaves. A tree grows by one leaf at a time and is stored as the roots of its full subtrees. Source: RFC 9162, section 2.1. */
import { HASH_BYTES, type Hash } from '../ports/crypto.ts'
import type { ByteWriter } from '../util/bytes.ts'
import { createFewBytes } from '../util/memory.ts'

/** First byte of the input of a leaf hash. Nodes have another one, so that a node is never valid as a leaf. */
const LEAF_PREFIX = 0
const NODE_PREFIX = 1
const NODE_BYTES = 1 + 2 * HASH_BYTES
/** Maximum number of full subtrees: the number of bits of a safe integer. */
const MAX_PEAKS = 53
/** Input of a node hash: the prefix, then both children. All trees use it in turn, because nothing is awaited between writing and hashing it. */
const PAIR = new Uint8Array(NODE_BYTES).fill(NODE_PREFIX, 0, 1)
const PAIR_ENDS = Uint32Array.of(NODE_BYTES)
/** The end of the input of any other hash, used in the same way. */
const LEAF_END = new Uint32Array(1)
/** The memory of peaks, which share it with each other only: they are hashes of events, and a storage gets both sealed. */
const newPeaks = createFewBytes()

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
  return hashPrefixed(hash, { bytes: input, length: input.length })
}

/** Empties `out` and begins a leaf, whose content is written after it. */
export function beginLeaf(out: ByteWriter): void {
  out.length = 0
  out.u8(LEAF_PREFIX)
}

/** Returns the hash of the first `length` bytes, which already begin with the prefix of a leaf or node. */
export function hashPrefixed(hash: Hash, { bytes, length }: { readonly bytes: Uint8Array; readonly length: number }): Uint8Array {
  LEAF_END[0] = length
  return hash.sha256({ bytes, ends: LEAF_END, count: 1 })
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
    this.#peaks = newPeaks(peaks.length + HASH_BYTES)
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
    if (end < 0) return hashPrefixed(this.#hash, { bytes: new Uint8Array(0), length: 0 })
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
