/** Checkpoints: the heads of all chains at one time, signed and stored elsewhere, so that a later truncation is detected. */
import { MAX_CHAINS } from '../limits.ts'
import {
  type Hash,
  ROOT_KEY_STATES,
  type RootKeySet,
  SIGNATURE_BYTES,
  type SignatureAlgorithm,
  type Signer,
} from '../ports/crypto.ts'
import { ByteWriter, toHex } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { integer, listOf, matching, objectOf, oneOf, type Shape, text } from '../util/options.ts'
import { fromBase64, fromHex, toBase64 } from '../util/text.ts'
import { toTimestamp } from '../util/time.ts'
import type { JsonValue } from '../values/column-type.ts'
import { jsonCanonical } from '../values/json-types.ts'
import { hashLeaf, MerkleBuilder } from './chain.ts'
import type { TreeHead, VerificationFailure } from './chain-verifier.ts'
import { timestampShape } from './event-members.ts'

/** Prefix of the signed text, so that a signature of the same key over other text is never valid for a checkpoint. */
const CONTEXT = 'strongroom/checkpoint/v1\n'

/** The heads of all chains at one time. */
export interface Checkpoint {
  readonly v: 1
  readonly vaultID: string
  readonly accountID: string
  /** RFC 3339 in UTC with nine decimals. */
  readonly timestamp: string
  /** Number of events in all chains. */
  readonly events: number
  /** One entry per chain, lowest first. `digest`, 64 hex digits, is of the last event, at `sequence`. */
  readonly chains: readonly { readonly chain: number; readonly sequence: number; readonly digest: string }[]
  /** Root of the Merkle tree (RFC 9162) whose leaves are the roots of the trees of the chains, in their order. 64 hex digits. */
  readonly root: string
  /** Root keys and generation of the catalog at that time. A catalog of a lower generation is an older copy. */
  readonly keys: RootKeySet
}

/** A checkpoint and a signature over its bytes, in base64. */
export interface SignedCheckpoint {
  readonly checkpoint: Checkpoint
  readonly keyId: string
  readonly algorithm: SignatureAlgorithm
  readonly signature: string
}

/** What a checkpoint contains besides heads. `now` is in nanoseconds since 1970. */
export interface CheckpointInput {
  readonly vaultID: string
  readonly accountID: string
  readonly now: bigint
  readonly hash: Hash
  readonly keys: RootKeySet
}

/** A digest as text. */
export const hexDigest = matching(/^[0-9a-f]{64}$/)
const sequence = integer(1, 0xffff_ffff)
const keyVersion = integer(1, 0xffff)

const signedShape: Shape<SignedCheckpoint> = objectOf({
  checkpoint: objectOf({
    v: oneOf([1]),
    vaultID: text,
    accountID: text,
    timestamp: timestampShape,
    events: integer(0),
    chains: listOf(objectOf({ chain: integer(1, MAX_CHAINS), sequence, digest: hexDigest })),
    root: hexDigest,
    keys: objectOf({
      generation: integer(1, 0xffff_ffff),
      lookupVersion: keyVersion,
      roots: listOf(objectOf({ version: keyVersion, state: oneOf(ROOT_KEY_STATES) }), 1),
    }),
  }),
  keyId: matching(/^.{1,128}$/s),
  algorithm: oneOf(['Ed25519', 'ML-DSA-65']),
  signature: matching(/^(.{88}|.{4412})$/s),
})

/** Returns the checkpoint of these heads, in any order. */
export function createCheckpoint(
  heads: readonly TreeHead[],
  { vaultID, accountID, now, hash, keys }: CheckpointInput,
): Checkpoint {
  const sorted = [...heads].sort((left, right) => left.chain - right.chain)
  return {
    v: 1,
    vaultID,
    accountID,
    timestamp: toTimestamp(now),
    events: sorted.reduce((sum, head) => sum + head.sequence, 0),
    chains: sorted.map(({ chain, sequence, digest }) => ({ chain, sequence, digest })),
    root: rootOfHeads(hash, sorted),
    keys,
  }
}

/** Returns the bytes to sign. */
export function checkpointBytes(checkpoint: Checkpoint): Uint8Array {
  const out = new ByteWriter()
  out.utf8(`${CONTEXT}${jsonCanonical(checkpointJson(checkpoint))}`)
  return out.written()
}

/** Returns a checkpoint with the signature of a signer. */
export function signedCheckpoint(
  checkpoint: Checkpoint,
  { keyId, algorithm = 'Ed25519' }: Omit<Signer, 'sign'>,
  signature: Uint8Array,
): SignedCheckpoint {
  return { checkpoint, keyId, algorithm, signature: toBase64(signature) }
}

/** Returns the bytes of the signature; undefined if the text is not base64 of as many as the algorithm has. */
export function signatureBytes({ algorithm, signature }: Omit<SignedCheckpoint, 'checkpoint'>): Uint8Array | undefined {
  const bytes = fromBase64(signature)
  return bytes?.length === SIGNATURE_BYTES[algorithm] ? bytes : undefined
}

/** Returns JSON data as a signed checkpoint; undefined if it is not one. Does not check the signature. */
export function parseCheckpoint(json: unknown): SignedCheckpoint | undefined {
  const signed = signedShape(json)
  return signed !== undefined && isConsistent(signed.checkpoint) ? signed : undefined
}

/** Returns the positions that a verifier must watch to compare these checkpoints later: sequence numbers by chain. */
export function positionsOf(checkpoints: readonly SignedCheckpoint[]): Map<number, Set<number>> {
  const positions = new Map<number, Set<number>>()
  for (const { checkpoint } of checkpoints) {
    for (const { chain, sequence } of checkpoint.chains) {
      const sequences = positions.get(chain)
      if (sequences === undefined) positions.set(chain, new Set([sequence]))
      else sequences.add(sequence)
    }
  }
  return positions
}

/** Returns the tree head found at a watched position; undefined if there is none. */
export type TreeHeadAt = (chain: number, sequence: number) => TreeHead | undefined

/** Returns the first position where the trail differs from a checkpoint; undefined if the trail continues the checkpoint. */
export function findDivergence(checkpoint: Checkpoint, hash: Hash, markAt: TreeHeadAt): VerificationFailure | undefined {
  const heads: TreeHead[] = []
  for (const { chain, sequence, digest } of checkpoint.chains) {
    const head = markAt(chain, sequence)
    const position = { chain, sequence }
    if (head === undefined)
      return { ...position, reason: `Event ${sequence} of audit chain ${chain} is missing: a checkpoint has it.` }
    if (head.digest !== digest) {
      return { ...position, reason: `Event ${sequence} of audit chain ${chain}, or one before it, differs from a checkpoint.` }
    }
    heads.push(head)
  }
  if (rootOfHeads(hash, heads) === checkpoint.root) return undefined
  // A checkpoint of no events has no position.
  const last = heads.at(-1) ?? { chain: 0, sequence: 0 }
  return { chain: last.chain, sequence: last.sequence, reason: 'The events do not have the root of a checkpoint.' }
}

function rootOfHeads(hash: Hash, heads: readonly TreeHead[]): string {
  const tree = new MerkleBuilder(hash)
  for (const { root } of heads) tree.append(hashLeaf(hash, fromHex(root)))
  return toHex(tree.root())
}

/** True if chains are in rising order and `events` is their sum. */
function isConsistent({ chains, events }: Checkpoint): boolean {
  const isRising = chains.every(({ chain }, index) => index === 0 || chain > at(chains, index - 1).chain)
  return isRising && events === chains.reduce((sum, { sequence }) => sum + sequence, 0)
}

/** Returns a checkpoint as plain JSON data. */
export function checkpointJson({ chains, keys, ...checkpoint }: Checkpoint): JsonValue {
  const roots = keys.roots.map((root) => ({ ...root }))
  return { ...checkpoint, chains: chains.map((chain) => ({ ...chain })), keys: { ...keys, roots } }
}
