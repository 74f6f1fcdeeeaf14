/** Appends events to a chain: each gets a position, a later time than the previous event, and the digest of the previous event. */
import type { Hash, RootKeySet } from '../ports/crypto.ts'
import { type ByteWriter, toHex } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { toTimestamp } from '../util/time.ts'
import type { ChainHead } from './chain-head.ts'
import { toRowId } from './chain-position.ts'
import type { EventDraft } from './event.ts'
import { writeEvent } from './event-bytes.ts'
import { beginLeaf, hashPrefixed, MerkleBuilder } from './merkle.ts'

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

/** Appends a list of at least one event. Throws `storage_full` if the chain has no position left. */
export function chainEvents(drafts: readonly EventDraft[], input: ChainInput): ChainOutput {
  const { chain, head, vaultID, accountID, hash, keys, now, out, leaf } = input
  const before = head?.sequence ?? 0
  const ids = drafts.map((_, index) => toRowId({ chain, sequence: before + 1 + index }))
  const changeIDs = input.changeIDsOf(ids)
  const tree = new MerkleBuilder(hash, head?.tree)
  let previous: string | Uint8Array = head?.digest ?? ''
  let time = head?.at ?? 0n
  const rows = drafts.map((draft, index) => {
    time = now > time ? now : time + 1n
    const position = { chain, sequence: before + 1 + index, previous }
    const place = { position, changeID: at(changeIDs, index), timestamp: toTimestamp(time), at: time, vaultID, accountID }
    beginLeaf(leaf)
    writeEvent(leaf, out, { ...draft, ...place })
    const digest = hashPrefixed(hash, leaf)
    tree.append(digest)
    previous = digest
    return { id: at(ids, index), at: time, end: out.length }
  })
  const digest = typeof previous === 'string' ? previous : toHex(previous)
  return { rows, head: { chain, sequence: before + drafts.length, digest, at: time, tree: tree.tree(), keys } }
}
