/** What a process knows of its chains before it appends to them: the heads that it sealed last, and the ids of the events that come next. */
import type { ChainHead } from '../audit/chain.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { encodeChangeIds } from '../barrier/record-ids.ts'
import type { KeyRing } from '../ports/crypto.ts'
import { MAX_ROW_ID, type Row } from '../ports/storage.ts'
import { sameBytes } from '../util/bytes.ts'
import { at } from '../util/lists.ts'

/** Maximum number of heads that are kept. */
const MAX_HEADS = 1024

/** A head, and its row: the version and the sealed bytes. */
export interface KnownHead {
  readonly head: ChainHead
  readonly version: number
  readonly body: Uint8Array
}

/** The known heads of one process, by chain: what is stored with the same bytes need not be opened again. */
export interface KnownHeads {
  /** Returns the head that was sealed last for a chain. The stored one can differ. */
  last(chain: number): KnownHead | undefined
  /** Returns the head of a row; undefined if the row does not have the bytes that were sealed last. */
  ofRow(row: Row): ChainHead | undefined
  /** True if another process moved the head of a row after this one did. */
  isMoved(row: Row): boolean
  forget(chain: number): void
  /** Notes a head. It may be of a transaction that rolls back: then no row has its bytes. */
  note(known: KnownHead): void
}

/** Returns an empty list of known heads. */
export function createKnownHeads(): KnownHeads {
  const heads = new Map<number, KnownHead>()
  function ofRow({ id, body }: Row): ChainHead | undefined {
    const known = heads.get(id)
    return known !== undefined && body instanceof Uint8Array && sameBytes(known.body, body) ? known.head : undefined
  }
  return {
    last: (chain) => heads.get(chain),
    ofRow,
    // A transaction of this process that rolled back leaves a lower version than the known one.
    isMoved: (row) => row.version >= (heads.get(row.id)?.version ?? Number.POSITIVE_INFINITY) && ofRow(row) === undefined,
    forget: (chain) => void heads.delete(chain),
    note(known) {
      const [oldest] = heads.size < MAX_HEADS ? [] : heads.keys()
      if (oldest !== undefined && !heads.has(known.head.chain)) heads.delete(oldest)
      heads.set(known.head.chain, known)
    },
  }
}

/** Number of ids that are encrypted together. */
const IDS_AHEAD = 64

/** Returns the ids of events with neighboring row ids, at least one, in order. */
export type ChangeIds = (rows: readonly number[]) => readonly string[]

/** Returns a function that encrypts ids ahead, where an id costs a seventh of what it costs alone, while each list begins after the one before, as the events of one chain do. */
export function createChangeIds(barrier: Pick<Barrier, 'ring'>): ChangeIds {
  let ahead: { readonly ring: KeyRing; readonly first: number; readonly ids: readonly string[] } | undefined
  let next = 0
  return (rows) => {
    const { ring } = barrier
    const first = at(rows, 0)
    const end = first + rows.length
    const follows = first === next
    next = end
    if (ahead?.ring === ring && first >= ahead.first && end <= ahead.first + ahead.ids.length)
      return ahead.ids.slice(first - ahead.first, end - ahead.first)
    if (!follows || rows.length >= IDS_AHEAD || first + IDS_AHEAD > MAX_ROW_ID) return encodeChangeIds(ring, rows)
    const ids = encodeChangeIds(
      ring,
      Array.from({ length: IDS_AHEAD }, (_, step) => first + step),
    )
    ahead = { ring, first, ids }
    return ids.slice(0, rows.length)
  }
}
