/** A chain of events: positions in it, its head, what is appended to it, and the Merkle tree of its leaves (RFC 9162, section 2.1). */
import { type Fault, fault } from '../errors.ts'
import { MAX_CHAINS } from '../limits.ts'
import { HASH_BYTES, type Hash, ROOT_KEY_STATES, type RootKeySet } from '../ports/crypto.ts'
import { ByteWriter, readI64, readU16, readU32 } from '../util/bytes.ts'
import { at, required } from '../util/lists.ts'
import { createFewBytes } from '../util/memory.ts'
import { toTimestamp } from '../util/time.ts'
import { writeU16 } from './compact-text.ts'
import type { EventDraft } from './event.ts'
import { writeEvent } from './write-event.ts'

/** Number of positions of a chain: 32 of the 48 bits of a row id, so that order by id is the order of the chains. */
const CHAIN_SIZE = 0x1_0000_0000

/** A chain and a sequence number in it, both from 1. */
export interface ChainPosition {
  readonly chain: number
  readonly sequence: number
}

/** Returns the row id of a position. Throws `storage_full` beyond the last position of a chain. */
export function toRowId({ chain, sequence }: ChainPosition): number {
  if (sequence >= CHAIN_SIZE) throw fault('storage_full')`Audit chain ${chain} is full.`
  return chain * CHAIN_SIZE + sequence
}

/** Returns the position of a row id; undefined for a row that no event can have. */
export function fromRowId(row: number): ChainPosition | undefined {
  const chain = chainOfRow(row)
  const sequence = row % CHAIN_SIZE
  return chain >= 1 && chain <= MAX_CHAINS && sequence >= 1 ? { chain, sequence } : undefined
}

/** Returns the number of the chain in a row id, even if no event can have the row. */
export function chainOfRow(row: number): number {
  return Math.floor(row / CHAIN_SIZE)
}

/** The rows between two ids, both excluded. */
export interface RowRange {
  readonly after: number
  readonly before: number
}

/** Returns the range of the rows that the events of these chains have. */
export function rowsOfChains(first: number, last = first): RowRange {
  return { after: first * CHAIN_SIZE, before: (last + 1) * CHAIN_SIZE }
}

/** The chain to append to, and what events contain besides their drafts. */
export interface ChainInput {
  readonly chain: number
  /** The head of this chain; undefined if it has no event. */
  readonly head: ChainHead | undefined
  readonly vaultID: string
  readonly accountID: string
  /** Nanoseconds since 1970. If the clock was set back, times continue from the last event. */
  readonly now: bigint
  readonly hash: Hash
  /** Root keys and generation of the catalog for the new head. */
  readonly keys: RootKeySet
  /** Where the bytes of the events are written side by side. */
  readonly out: ByteWriter
  /** Where the leaf of one event at a time is written: its canonical text, which is hashed. */
  readonly leaf: ByteWriter
  /** Returns the ids of the events with these row ids, in order. */
  changeIDsOf(rows: readonly number[]): readonly string[]
}

/** An event as a row, not yet sealed. `end` is where its bytes end in what was written, `at` the time in nanoseconds since 1970. */
export interface ChainedRow {
  readonly id: number
  readonly at: bigint
  readonly end: number
}

/** The rows to insert, and the new head of the chain. */
export interface ChainOutput {
  readonly rows: readonly ChainedRow[]
  readonly head: ChainHead
}

/** The digest before the first event of a chain. */
export const NO_DIGEST = new Uint8Array(0)

/** Appends a list of at least one event: each gets a position, a later time than the event before, and the digest of that event. Throws `storage_full` if the chain has no position left. */
export function chainEvents(drafts: readonly EventDraft[], input: ChainInput): ChainOutput {
  const { chain, head, vaultID, accountID, hash, keys, now, out, leaf } = input
  const before = head?.sequence ?? 0
  const ids = drafts.map((_, index) => toRowId({ chain, sequence: before + 1 + index }))
  const changeIDs = input.changeIDsOf(ids)
  const tree = new MerkleBuilder(hash, head?.tree)
  let previous = head?.digest ?? NO_DIGEST
  let time = head?.at ?? 0n
  const rows = drafts.map((draft, index) => {
    time = now > time ? now : time + 1n
    const position = { chain, sequence: before + 1 + index, previous }
    const [changeID, timestamp] = [at(changeIDs, index), toTimestamp(time)]
    beginLeaf(leaf)
    writeEvent(leaf, out, { ...draft, position, changeID, timestamp, at: time, vaultID, accountID })
    const digest = hashPrefixed(hash, leaf)
    tree.append(digest)
    previous = digest
    return { id: at(ids, index), at: time, end: out.length }
  })
  return { rows, head: { chain, sequence: before + drafts.length, digest: previous, at: time, tree: tree.tree(), keys } }
}

/** The head of a chain: its last event, and the Merkle tree of all its events. */
export interface ChainHead {
  readonly chain: number
  /** Number of events in the chain, which is the sequence number of the last. */
  readonly sequence: number
  /** Digest of the last event. */
  readonly digest: Uint8Array
  /** Time of the last event, in nanoseconds since 1970. */
  readonly at: bigint
  /** Merkle tree of the digests of all events, so that a checkpoint does not read them. */
  readonly tree: MerkleTree
  /**
   * Root keys and generation of the catalog. A writer of an older generation is stopped here. Generation 0 means that no change has
   * confirmed it yet: the chain may have begun while another process changed the catalog.
   */
  readonly keys: RootKeySet
}

/*
 * Layout in bytes, big-endian: version 1 | chain 4 | sequence 4 | time 8 | digest 32 | generation 4 | lookup version 2 | number of
 * root keys 2 | per root key: version 2, state 1 | peaks of the tree.
 */
const VERSION = 1
const DIGEST_START = 17
const KEYS_START = DIGEST_START + HASH_BYTES
const ROOTS_START = KEYS_START + 4 + 2 + 2
const ROOT_BYTES = 3

/** Returns the bytes of a head. */
export function encodeHead(head: ChainHead): Uint8Array {
  const out = new ByteWriter(ROOTS_START + head.keys.roots.length * ROOT_BYTES + head.tree.peaks.length)
  writeHead(out, head)
  return out.written()
}

/** Writes the bytes of a head. */
export function writeHead(out: ByteWriter, { chain, sequence, digest, at, tree, keys }: ChainHead): void {
  out.u8(VERSION)
  out.u32(chain)
  out.u32(sequence)
  out.i64(at)
  out.raw(digest)
  out.u32(keys.generation)
  writeU16(out, keys.lookupVersion)
  writeU16(out, keys.roots.length)
  for (const { version, state } of keys.roots) {
    writeU16(out, version)
    out.u8(ROOT_KEY_STATES.indexOf(state))
  }
  out.raw(tree.peaks)
}

/** Returns the head of these bytes. Throws `data_loss` if they are not a head in a known format. */
export function decodeHead(bytes: Uint8Array): ChainHead {
  const roots = bytes[0] !== VERSION || bytes.length < ROOTS_START ? 0 : readU16(bytes, ROOTS_START - 2)
  const peaksStart = ROOTS_START + roots * ROOT_BYTES
  const sequence = roots === 0 ? 0 : readU32(bytes, 5)
  if (roots === 0 || bytes.length !== peaksStart + peakBytes(sequence)) throw unknownFormat()
  return {
    chain: readU32(bytes, 1),
    sequence,
    digest: bytes.slice(DIGEST_START, KEYS_START),
    at: BigInt(readI64(bytes, 9)),
    tree: { size: sequence, peaks: bytes.slice(peaksStart) },
    keys: {
      generation: readU32(bytes, KEYS_START),
      lookupVersion: readU16(bytes, KEYS_START + 4),
      roots: Array.from({ length: roots }, (_, index) => {
        const start = ROOTS_START + index * ROOT_BYTES
        const state = ROOT_KEY_STATES[required(bytes[start + 2])]
        if (state === undefined) throw unknownFormat()
        return { version: readU16(bytes, start), state }
      }),
    },
  }
}

function unknownFormat(): Fault {
  return fault('data_loss')`The head of an audit chain has an unknown format. Run vault.verifyAudit().`
}

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
const EMPTY_TREE: MerkleTree = { size: 0, peaks: new Uint8Array(0) }

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
