/** The audit trail in storage: events sealed into the rows of their lanes, each lane's head moved with them, in the transaction at hand. */
import type { Chaining } from '../audit/chain.ts'
import { chainEvents } from '../audit/chain.ts'
import type { EventDraft } from '../audit/event.ts'
import type { LaneHead } from '../audit/lane-head.ts'
import { decodeHead, encodeHead } from '../audit/lane-head.ts'
import { hashLeaf } from '../audit/merkle.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { mintChangeIds } from '../barrier/record-ids.ts'
import { isVaultError, VaultError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Hash } from '../ports/hash.ts'
import type { Log } from '../ports/log.ts'
import type { Cell, Row, Storage } from '../ports/storage.ts'
import { AUDIT_EVENTS, AUDIT_LANES } from '../schema/side-tables.ts'
import type { AuditSpace } from '../sealing/audit-entry.ts'
import { openEntries, sealEntries } from '../sealing/audit-entry.ts'
import { toHex } from '../util/bytes.ts'
import { slabItem } from '../util/slab.ts'

/**
 * Thrown inside a transaction to undo it when a lane cannot be appended to: another process moved its head meanwhile, or
 * somebody tampered with it. Another lane is then taken, so that neither stops the vault; `verifyAudit` tells of the second.
 */
export const LANE_LOST = new Error('the lane cannot be appended to')

/** Whose trail it is, and what writing it takes. */
export interface TrailPorts {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly hash: Hash
  readonly vaultID: string
  readonly accountID: string
  readonly log?: Log | undefined
}

/** Events as they were appended: enough to find out whether they are stored. */
export interface Appended {
  /** Place of the last in its lane, and its row. */
  readonly sequence: number
  readonly row: number
  /** Its digest, 64 hex digits. */
  readonly digest: string
}

/** An entry as it was read: its row, its time in nanoseconds where it is an event, and its bytes where they open. */
export interface OpenedEntry {
  readonly id: number
  readonly at: bigint
  readonly bytes: Uint8Array | undefined
}

export interface EventStore {
  /** Appends events to a lane, inside a transaction. Throws LANE_LOST when another lane must be taken. */
  append(storage: Storage, lane: number, drafts: readonly EventDraft[]): Promise<Appended>
  /** True when these events are stored: what to ask when nobody can say whether a transaction committed. */
  isStored(storage: Storage, appended: Appended): Promise<boolean>
  /** The heads of these lanes, undefined for one that has no event. Throws `internal` for one that does not open. */
  heads(storage: Storage, lanes: readonly number[]): Promise<(LaneHead | undefined)[]>
  /** Entries opened as far as they open. */
  open(space: AuditSpace, rows: readonly Row[]): OpenedEntry[]
}

export function createEventStore(ports: TrailPorts): EventStore {
  const { barrier, clock, hash, vaultID, accountID, log } = ports
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

  /** The head that is about to be moved; of one that does not open the log tells, and its lane is left as it is. */
  function headToMove(row: Row): LaneHead {
    try {
      return headOf(row)
    } catch {
      log?.error({ lane: row.id }, 'the head of a lane of the audit trail cannot be authenticated; its chain is left')
      throw LANE_LOST
    }
  }

  function sealOne(space: AuditSpace, id: number, bytes: Uint8Array): Uint8Array {
    return slabItem(sealEntries(address(space), [id], [bytes]), 0)
  }

  return {
    open,
    async isStored(storage, { row, digest }) {
      const found = await storage.get(AUDIT_EVENTS.name, [row])
      const [entry] = open(
        'event',
        found.filter((one) => one !== undefined),
      )
      return entry?.bytes !== undefined && toHex(hashLeaf(hash, entry.bytes)) === digest
    },
    async heads(storage, lanes) {
      const rows = await storage.get(AUDIT_LANES.name, lanes)
      return rows.map((row) => (row === undefined ? undefined : headOf(row)))
    },
    async append(storage, lane, drafts) {
      const [row] = await storage.get(AUDIT_LANES.name, [lane])
      const chaining: Chaining = {
        lane,
        head: row === undefined ? undefined : headToMove(row),
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
      ]).catch((error: unknown) => {
        throw isVaultError(error, 'conflict') ? LANE_LOST : error
      })
      if (isMoved[0] !== true) throw LANE_LOST
      return { sequence: head.sequence, row: rows.at(-1)?.id ?? 0, digest: head.digest }
    },
  }
}

/** A whole number as storage gives it. */
export function toBigint(cell: Cell | undefined): bigint {
  return typeof cell === 'number' || typeof cell === 'bigint' ? BigInt(cell) : 0n
}

function unreadableHead(lane: number): VaultError {
  return new VaultError(
    'data_loss',
    `The head of lane ${lane} of the audit trail cannot be authenticated. It was changed, or sealed under a key that is gone. Verify the trail.`,
  )
}
