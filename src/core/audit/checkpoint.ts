/** A checkpoint: how far every lane had come at one moment, to be signed and kept elsewhere, so that what was cut off later is noticed. */
import { z } from 'zod'
import { MOST_LANES } from '../limits.ts'
import type { Hash } from '../ports/hash.ts'
import { ByteWriter, toHex } from '../util/bytes.ts'
import { toTimestamp } from '../util/timestamp.ts'
import type { JsonValue } from '../values/column-type.ts'
import { jsonCanonical } from '../values/json-canonical.ts'
import { fromBase64, fromHex, toBase64 } from './byte-text.ts'
import type { ChainBreak, LaneMark } from './chain-check.ts'
import { hashLeaf, MerkleBuilder } from './merkle.ts'

/** Stands before the signed text, so that the key's signatures over anything else are none over a checkpoint. */
const CONTEXT = 'strongroom/checkpoint/v1\n'

/** The heads of all lanes at one moment. */
export interface Checkpoint {
  readonly v: 1
  readonly vaultID: string
  readonly accountID: string
  readonly timestamp: string
  /** Events in all lanes together. */
  readonly events: number
  /** By lane, lowest first; `digest` is of the event at `sequence`, the last the lane had. */
  readonly lanes: readonly { readonly lane: number; readonly sequence: number; readonly digest: string }[]
  /** Root of the Merkle tree (RFC 9162) whose leaves are, lane by lane, the roots of the trees over the lanes' events. 64 hex digits. */
  readonly root: string
}

/** A checkpoint and an Ed25519 signature over its bytes, in base64. */
export interface SignedCheckpoint {
  readonly checkpoint: Checkpoint
  readonly keyId: string
  readonly signature: string
}

/** Whose checkpoint it is, and when: nanoseconds since 1970. */
export interface CheckpointOf {
  readonly vaultID: string
  readonly accountID: string
  readonly now: bigint
  readonly hash: Hash
}

const hex = z.string().regex(/^[0-9a-f]{64}$/)
const sequence = z.int().min(1).max(0xffff_ffff)

const signedShape: z.ZodType<SignedCheckpoint> = z.strictObject({
  checkpoint: z.strictObject({
    v: z.literal(1),
    vaultID: z.string(),
    accountID: z.string(),
    timestamp: z.string().regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$/),
    events: z.int().min(0),
    lanes: z.array(z.strictObject({ lane: z.int().min(1).max(MOST_LANES), sequence, digest: hex })),
    root: hex,
  }),
  keyId: z.string().min(1).max(128),
  signature: z.string().length(88),
})

/** The checkpoint of these heads. */
export function createCheckpoint(heads: readonly LaneMark[], { vaultID, accountID, now, hash }: CheckpointOf): Checkpoint {
  const marks = [...heads].sort((left, right) => left.lane - right.lane)
  return {
    v: 1,
    vaultID,
    accountID,
    timestamp: toTimestamp(now),
    events: marks.reduce((sum, mark) => sum + mark.sequence, 0),
    lanes: marks.map(({ lane, sequence, digest }) => ({ lane, sequence, digest })),
    root: rootOfLanes(hash, marks),
  }
}

/** What is signed. */
export function checkpointBytes(checkpoint: Checkpoint): Uint8Array {
  const out = new ByteWriter()
  out.utf8(`${CONTEXT}${jsonCanonical(toJson(checkpoint))}`)
  return out.written()
}

/** The checkpoint with its signature. */
export function signedCheckpoint(checkpoint: Checkpoint, keyId: string, signature: Uint8Array): SignedCheckpoint {
  return { checkpoint, keyId, signature: toBase64(signature) }
}

/** The signature's bytes; undefined where the text is none. */
export function signatureBytes({ signature }: SignedCheckpoint): Uint8Array | undefined {
  return fromBase64(signature)
}

/** JSON data as a signed checkpoint, or undefined where it is none. Says nothing of the signature. */
export function parseCheckpoint(json: unknown): SignedCheckpoint | undefined {
  const parsed = signedShape.safeParse(json)
  return parsed.success && isConsistent(parsed.data.checkpoint) ? parsed.data : undefined
}

/** The places a check must watch to compare these checkpoints afterwards. */
export function placesOf(checkpoints: readonly SignedCheckpoint[]): Map<number, Set<number>> {
  const places = new Map<number, Set<number>>()
  for (const { checkpoint } of checkpoints) {
    for (const { lane, sequence } of checkpoint.lanes) {
      const sequences = places.get(lane)
      if (sequences === undefined) places.set(lane, new Set([sequence]))
      else sequences.add(sequence)
    }
  }
  return places
}

/** What was found at a place of a lane. */
export type MarkAt = (lane: number, sequence: number) => LaneMark | undefined

/** Where the trail is no continuation of what a checkpoint saw; undefined when it is one. */
export function departureFrom(checkpoint: Checkpoint, hash: Hash, markAt: MarkAt): ChainBreak | undefined {
  const marks: LaneMark[] = []
  for (const { lane, sequence, digest } of checkpoint.lanes) {
    const mark = markAt(lane, sequence)
    const place = { lane, sequence }
    if (mark === undefined) return { ...place, what: `Event ${sequence} of lane ${lane} is missing: a checkpoint has seen it.` }
    if (mark.digest !== digest) {
      return { ...place, what: `Event ${sequence} of lane ${lane}, or one before it, is not what a checkpoint has seen.` }
    }
    marks.push(mark)
  }
  if (rootOfLanes(hash, marks) === checkpoint.root) return undefined
  const last = marks.at(-1) ?? { lane: 0, sequence: 0 }
  return { lane: last.lane, sequence: last.sequence, what: 'The events are not those whose root a checkpoint has.' }
}

function rootOfLanes(hash: Hash, marks: readonly LaneMark[]): string {
  const tree = new MerkleBuilder(hash)
  for (const { root } of marks) tree.append(hashLeaf(hash, fromHex(root)))
  return toHex(tree.root())
}

/** Lanes rising, and the count of events that of the lanes. */
function isConsistent({ lanes, events }: Checkpoint): boolean {
  const isRising = lanes.every(({ lane }, index) => index === 0 || lane > (lanes[index - 1]?.lane ?? 0))
  return isRising && events === lanes.reduce((sum, { sequence }) => sum + sequence, 0)
}

function toJson({ v, vaultID, accountID, timestamp, events, lanes, root }: Checkpoint): JsonValue {
  return { v, vaultID, accountID, timestamp, events, lanes: lanes.map((lane) => ({ ...lane })), root }
}
