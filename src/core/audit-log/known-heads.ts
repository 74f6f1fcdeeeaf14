/** The heads of chains as this process sealed them last: what is stored with the same bytes need not be opened again. */
import type { ChainHead } from '../audit/chain-head.ts'
import type { Row } from '../ports/storage.ts'
import { sameBytes } from '../util/bytes.ts'

/** Maximum number of heads that are kept. */
const MAX_HEADS = 1024

/** A head, and its row: the version and the sealed bytes. */
export interface KnownHead {
  readonly head: ChainHead
  readonly version: number
  readonly body: Uint8Array
}

/** The known heads of one process, by chain. */
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
