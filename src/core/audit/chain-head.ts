/** Encodes and decodes the head of a chain: its last event, and the Merkle tree of all its events. */
import { type Fault, fault } from '../errors.ts'
import { HASH_BYTES, type RootKeySet, type RootKeyState } from '../ports/crypto.ts'
import { ByteWriter, readI64, readU32, toHex } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { fromHex } from '../util/text.ts'
import { type MerkleTree, peakBytes } from './merkle.ts'

/** The head of a chain. */
export interface ChainHead {
  readonly chain: number
  /** Number of events in the chain, which is the sequence number of the last. */
  readonly sequence: number
  /** Digest of the last event, 64 hex digits. */
  readonly digest: string
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
/** The states of root keys, by the byte that stores them. */
const STATES: readonly RootKeyState[] = ['pending', 'active', 'retired']

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
  out.raw(fromHex(digest))
  out.u32(keys.generation)
  writeU16(out, keys.lookupVersion)
  writeU16(out, keys.roots.length)
  for (const { version, state } of keys.roots) {
    writeU16(out, version)
    out.u8(STATES.indexOf(state))
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
    digest: toHex(bytes.subarray(DIGEST_START, KEYS_START)),
    at: BigInt(readI64(bytes, 9)),
    tree: { size: sequence, peaks: bytes.slice(peaksStart) },
    keys: {
      generation: readU32(bytes, KEYS_START),
      lookupVersion: readU16(bytes, KEYS_START + 4),
      roots: Array.from({ length: roots }, (_, index) => {
        const start = ROOTS_START + index * ROOT_BYTES
        const state = STATES[required(bytes[start + 2])]
        if (state === undefined) throw unknownFormat()
        return { version: readU16(bytes, start), state }
      }),
    },
  }
}

function unknownFormat(): Fault {
  return fault('data_loss')`The head of an audit chain has an unknown format. Run vault.verifyAudit().`
}

function writeU16(out: ByteWriter, value: number): void {
  out.u8(value >>> 8)
  out.u8(value & 0xff)
}

function readU16(bytes: Uint8Array, start: number): number {
  return (required(bytes[start]) << 8) | required(bytes[start + 1])
}
