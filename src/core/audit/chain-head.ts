/** Encodes and decodes the head of a chain: its last event, and the Merkle tree of all its events. */
import { fault } from '../errors.ts'
import { HASH_BYTES } from '../ports/hash.ts'
import { ByteWriter, readI64, readU32, toHex } from '../util/bytes.ts'
import { fromHex } from './byte-text.ts'
import type { MerkleTree } from './merkle.ts'
import { peakBytes } from './merkle.ts'

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
}

/** Version of the layout. Layout in bytes, big-endian: version 1 | chain 4 | sequence 4 | time 8 | digest 32 | peaks of the tree. */
const VERSION = 1
const FIXED_BYTES = 1 + 4 + 4 + 8 + HASH_BYTES

/** Returns the bytes of a head. */
export function encodeHead({ chain, sequence, digest, at, tree }: ChainHead): Uint8Array {
  const out = new ByteWriter(FIXED_BYTES + tree.peaks.length)
  out.u8(VERSION)
  out.u32(chain)
  out.u32(sequence)
  out.i64(at)
  out.raw(fromHex(digest))
  out.raw(tree.peaks)
  return out.written()
}

/** Returns the head of these bytes. Throws `data_loss` if they are not a head in a known format. */
export function decodeHead(bytes: Uint8Array): ChainHead {
  const sequence = bytes.length < FIXED_BYTES ? undefined : readU32(bytes, 5)
  if (bytes[0] !== VERSION || sequence === undefined || bytes.length !== FIXED_BYTES + peakBytes(sequence)) {
    throw fault('data_loss')`The head of an audit chain has an unknown format. Run vault.verifyAudit().`
  }
  return {
    chain: readU32(bytes, 1),
    sequence,
    digest: toHex(bytes.subarray(17, FIXED_BYTES)),
    at: BigInt(readI64(bytes, 9)),
    tree: { size: sequence, peaks: bytes.slice(FIXED_BYTES) },
  }
}
