/** The audit trail in storage: events sealed into the rows of their lanes, each lane's head moved with them, in the transaction at hand. */
import type { Chaining } from '../audit/chain.ts'
import { chainEvents } from '../audit/chain.ts'
import type { EventDraft } from '../audit/event.ts'
import type { LaneHead } from '../audit/lane-head.ts'
import { decodeHead, encodeHead } from '../audit/lane-head.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { mintChangeIds } from '../barrier/record-ids.ts'
import { VaultError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Hash } from '../ports/hash.ts'
import type { Cell, Row, Storage } from '../ports/storage.ts'
import { AUDIT_EVENTS, AUDIT_LANES } from '../schema/side-tables.ts'
import type { AuditSpace } from '../sealing/audit-entry.ts'
import { openEntries, sealEntries } from '../sealing/audit-entry.ts'
import { slabItem } from '../util/slab.ts'

/** Thrown inside a transaction to undo it when another process moved the lane's head between reading and writing it. */
export const STALE_HEAD = new Error('the head of a lane was moved between reading and writing it')

/** Whose trail it is, and what writing it takes. */
export interface TrailPorts {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly hash: Hash
  readonly vaultID: string
  readonly accountID: string
}

/** An entry as it was read: its row, its time in nanoseconds where it is an event, and its bytes where they open. */
export interface OpenedEntry {
  readonly id: number
  readonly at: bigint
  readonly bytes: Uint8Array | undefined
}

export interface EventStore {
  /** Appends events to a lane, inside a transaction. Answers the place of the last. Throws STALE_HEAD when the lane was moved meanwhile. */
  append(storage: Storage, lane: number, drafts: readonly EventDraft[]): Promise<number>
  /** The heads of these lanes, undefined for one that has no event. Throws `internal` for one that does not open. */
  heads(storage: Storage, lanes: readonly number[]): Promise<(LaneHead | undefined)[]>
  /** Entries opened as far as they open. */
  open(space: AuditSpace, rows: readonly Row[]): OpenedEntry[]
}

export function createEventStore(ports: TrailPorts): EventStore {
  const { barrier, clock, hash, vaultID, accountID } = ports
  const address = (space: AuditSpace) => ({ ring: barrier.ring, vault: barrier.vault, space })

  function open(space: AuditSpace, rows: readonly Row[]): OpenedEntry[] {
    const ids = rows.map(({ id }) => id)
    const sealed = rows.map(({ body }) => (body instanceof Uint8Array ? body : new Uint8Array(0)))
    const { plaintexts, opened } = openEntries(address(space), ids, sealed)
    return rows.map(({ id, at }, index) => ({
      id,
      at: toBigint(at),
      bytes: opened[index] === 1 ? slabItem(plaintexts, index) : undefined,
    }))
  }

  function headOf(row: Row): LaneHead {
    const [entry] = open('head', [row])
    if (entry?.bytes === undefined) throw unreadableHead(row.id)
    return decodeHead(entry.bytes)
  }

  function sealOne(space: AuditSpace, id: number, bytes: Uint8Array): Uint8Array {
    return slabItem(sealEntries(address(space), [id], [bytes]), 0)
  }

  return {
    open,
    async heads(storage, lanes) {
      const rows = await storage.get(AUDIT_LANES.name, lanes)
      return rows.map((row) => (row === undefined ? undefined : headOf(row)))
    },
    async append(storage, lane, drafts) {
      const [row] = await storage.get(AUDIT_LANES.name, [lane])
      const chaining: Chaining = {
        lane,
        head: row === undefined ? undefined : headOf(row),
        vaultID,
        accountID,
        now: clock.now(),
        hash,
        changeIDsOf: (rows) => mintChangeIds(barrier.ring, rows),
      }
      const { rows, head } = chainEvents(drafts, chaining)
      const sealed = sealEntries(
        address('event'),
        rows.map(({ id }) => id),
        rows.map(({ bytes }) => bytes),
      )
      const events = rows.map(({ id, at }, index) => ({ id, at, body: slabItem(sealed, index) }))
      const moved = { body: sealOne('head', lane, encodeHead(head)) }
      // Sent together: on an engine behind a wire they share one round trip.
      const [, isMoved] = await Promise.all([
        storage.insert(AUDIT_EVENTS.name, events),
        row === undefined
          ? storage.insert(AUDIT_LANES.name, [{ id: lane, ...moved }]).then(() => [true])
          : storage.update(AUDIT_LANES.name, [{ id: lane, version: row.version, set: moved }]),
      ])
      if (isMoved[0] !== true) throw STALE_HEAD
      return head.sequence
    },
  }
}

function toBigint(cell: Cell | undefined): bigint {
  return typeof cell === 'number' || typeof cell === 'bigint' ? BigInt(cell) : 0n
}

function unreadableHead(lane: number): VaultError {
  return new VaultError(
    'internal',
    `The head of lane ${lane} of the audit trail cannot be authenticated. It was changed, or sealed under a key that is gone. Verify the trail.`,
    { grpcCode: 15 },
  )
}
