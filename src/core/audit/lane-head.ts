/** The head of a lane: its last event, and the tree over all of them, as both stand sealed in a row of their own. */
import { VaultError } from '../errors.ts'
import { HASH_BYTES } from '../ports/hash.ts'
import { ByteWriter, readI64, readU32, toHex } from '../util/bytes.ts'
import { fromHex } from './byte-text.ts'
import type { MerkleTree } from './merkle.ts'
import { peakBytes } from './merkle.ts'

/** Where a lane has come to. */
export interface LaneHead {
  readonly lane: number
  /** How many events it has: the place of the last. */
  readonly sequence: number
  /** The last event's digest, 64 hex digits. */
  readonly digest: string
  /** Its time, in nanoseconds since 1970. */
  readonly at: bigint
  /** The tree over the digests of all its events, so that a checkpoint need not read them. */
  readonly tree: MerkleTree
}

/** First byte of a head's layout: version 1 | lane 4 | sequence 4 | time 8 | digest 32 | peaks of the tree. */
const VERSION = 1
const FIXED_BYTES = 1 + 4 + 4 + 8 + HASH_BYTES

/** The head as bytes. */
export function encodeHead({ lane, sequence, digest, at, tree }: LaneHead): Uint8Array {
  const out = new ByteWriter(FIXED_BYTES + tree.peaks.length)
  out.u8(VERSION)
  out.u32(lane)
  out.u32(sequence)
  out.i64(at)
  out.raw(fromHex(digest))
  out.raw(tree.peaks)
  return out.written()
}

/** The head of these bytes. Throws `internal` when they are none. */
export function decodeHead(bytes: Uint8Array): LaneHead {
  const sequence = readU32(bytes, 5)
  if (bytes[0] !== VERSION || bytes.length !== FIXED_BYTES + peakBytes(sequence)) {
    throw new VaultError('internal', 'The head of a lane of the audit trail cannot be read: it is not in a known format.')
  }
  return {
    lane: readU32(bytes, 1),
    sequence,
    digest: toHex(bytes.subarray(17, FIXED_BYTES)),
    at: BigInt(readI64(bytes, 9)),
    tree: { size: sequence, peaks: bytes.slice(FIXED_BYTES) },
  }
}
