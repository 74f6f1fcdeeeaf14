/** Links events into the chain of a lane: each gets its place, a later time than the one before, and the digest of the one before. */
import type { Hash } from '../ports/hash.ts'
import { ByteWriter, toHex } from '../util/bytes.ts'
import { toTimestamp } from '../util/timestamp.ts'
import { eventText } from './encode-event.ts'
import type { ChainedEvent, EventDraft } from './event.ts'
import type { LaneHead } from './lane-head.ts'
import { hashPrefixed, LEAF_PREFIX, MerkleBuilder } from './merkle.ts'
import { rowOfPlace } from './place.ts'

/** Bytes to begin with for each event, the text of a common one, and beside: the writer wants room for three bytes a character. */
const USUAL_BYTES = 768
const SPARE_BYTES = 2048

/** Where events are appended, and what they say beside their drafts. */
export interface Chaining {
  readonly lane: number
  /** Of this same lane; undefined while it has no event. */
  readonly head: LaneHead | undefined
  readonly vaultID: string
  readonly accountID: string
  /** Nanoseconds since 1970. A clock that was set back does not put events in another order: they go on from the last. */
  readonly now: bigint
  readonly hash: Hash
  /** The ids of the events that get these rows, in their order. */
  changeIDsOf(rows: readonly number[]): readonly string[]
}

/** An event as a row of storage, not yet sealed: `bytes` is what its digest is of. */
export interface ChainedRow {
  readonly id: number
  readonly at: bigint
  readonly bytes: Uint8Array
}

/** What appending comes to: rows to insert and the head to put in place of the one before. */
export interface Chained {
  readonly rows: readonly ChainedRow[]
  readonly head: LaneHead
}

/** Appends a list of events, of which there must be one at least. */
export function chainEvents(drafts: readonly EventDraft[], chaining: Chaining): Chained {
  const { lane, head, vaultID, accountID, hash, now } = chaining
  const before = head?.sequence ?? 0
  const ids = drafts.map((_, index) => rowOfPlace({ lane, sequence: before + 1 + index }))
  const changeIDs = chaining.changeIDsOf(ids)
  const tree = new MerkleBuilder(hash, head?.tree)
  const out = new ByteWriter(drafts.length * USUAL_BYTES + SPARE_BYTES)
  let previous = head?.digest ?? ''
  let at = head?.at ?? 0n
  const rows = drafts.map((draft, index) => {
    at = now > at ? now : at + 1n
    const place = { lane, sequence: before + 1 + index, previous }
    const event = {
      ...draft,
      v: 1,
      place,
      changeID: changeIDs[index] ?? '',
      timestamp: toTimestamp(at),
      vaultID,
      accountID,
    } as const
    const prefixed = writeLeaf(out, event)
    const leaf = hashPrefixed(hash, prefixed)
    tree.append(leaf)
    previous = toHex(leaf)
    return { id: ids[index] ?? 0, at, bytes: prefixed.subarray(1) }
  })
  return { rows, head: { lane, sequence: before + drafts.length, digest: previous, at, tree: tree.tree() } }
}

/** The event's bytes behind the byte that makes them a leaf, so that nothing is copied to be hashed. What was written before stays as it is. */
function writeLeaf(out: ByteWriter, event: ChainedEvent): Uint8Array {
  const start = out.length
  out.u8(LEAF_PREFIX)
  out.utf8(eventText(event))
  return out.written().subarray(start)
}
