/** Stores and opens audit events. Events are sealed into rows of their chain, and the head of the chain moves in the same transaction. */
import type { ChainInput } from '../audit/chain.ts'
import { chainEvents } from '../audit/chain.ts'
import type { ChainHead } from '../audit/chain-head.ts'
import { decodeHead, encodeHead } from '../audit/chain-head.ts'
import type { EventDraft } from '../audit/event.ts'
import { hashLeaf } from '../audit/merkle.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { encodeChangeIds } from '../barrier/record-ids.ts'
import { isVaultError, VaultError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Hash } from '../ports/hash.ts'
import type { Log } from '../ports/log.ts'
import type { Cell, Row, Storage } from '../ports/storage.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../schema/system-tables.ts'
import type { AuditEntryKind } from '../sealing/audit-entry.ts'
import { openEntries, sealEntries } from '../sealing/audit-entry.ts'
import { at } from '../util/at.ts'
import { toHex } from '../util/bytes.ts'
import { slabItem } from '../util/slab.ts'

/**
 * Thrown inside a transaction to roll it back if a chain cannot be appended to: another process moved its head meanwhile, or it was
 * changed in the database. The next attempt uses another chain, so that neither stops the vault. `verifyAudit` reports the latter.
 */
export const CHAIN_CONFLICT = new Error('the audit chain cannot be appended to')

/** The dependencies of an event store, and the ids in its events. */
export interface EventStorePorts {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly hash: Hash
  readonly vaultID: string
  readonly accountID: string
  readonly log?: Log | undefined
}

/** The last of some appended events. It serves to look up later whether they are stored. */
export interface AppendedEvents {
  /** Its sequence number in its chain, and its row id. */
  readonly sequence: number
  readonly row: number
  /** Its digest, 64 hex digits. */
  readonly digest: string
}

/** An entry that was read: an event or a head. */
export interface OpenedEntry {
  /** The row id. */
  readonly id: number
  /** Time of the event in nanoseconds since 1970; 0 for a head. */
  readonly at: bigint
  /** The plaintext; undefined if it failed authentication. */
  readonly bytes: Uint8Array | undefined
}

/** The audit events and heads of one vault. */
export interface EventStore {
  /** Appends events to a chain, inside a transaction. Throws CHAIN_CONFLICT if another chain must be used. */
  append(storage: Storage, chain: number, drafts: readonly EventDraft[]): Promise<AppendedEvents>
  /** Returns true if these events are stored. Resolves a commit in doubt. */
  isStored(storage: Storage, appended: AppendedEvents): Promise<boolean>
  /** Returns the head of each chain, in order; undefined for one without events. Throws `data_loss` if one fails authentication. */
  heads(storage: Storage, chains: readonly number[]): Promise<(ChainHead | undefined)[]>
  /** Opens entries, in order. One that fails authentication has no bytes. */
  open(kind: AuditEntryKind, rows: readonly Row[]): OpenedEntry[]
}

/** Returns the event store of a vault. */
export function createEventStore(ports: EventStorePorts): EventStore {
  const { barrier, clock, hash, vaultID, accountID, log } = ports
  const address = (kind: AuditEntryKind) => ({ ring: barrier.ring, vault: barrier.vault, kind })

  function open(kind: AuditEntryKind, rows: readonly Row[]): OpenedEntry[] {
    const ids = rows.map(({ id }) => id)
    const sealed = rows.map(({ body }) => (body instanceof Uint8Array ? body : new Uint8Array(0)))
    const { plaintexts, opened } = openEntries(address(kind), ids, sealed)
    return rows.map(({ id, at: nanoseconds }, index) => ({
      id,
      at: toBigint(nanoseconds),
      bytes: opened[index] === 1 ? slabItem(plaintexts, index) : undefined,
    }))
  }

  function headOf(row: Row): ChainHead {
    const [entry] = open('head', [row])
    if (entry?.bytes === undefined) throw unreadableHead(row.id)
    return decodeHead(entry.bytes)
  }

  /** Returns the head to move. If it fails authentication, it is logged, and its chain is not changed. */
  function headToMove(row: Row): ChainHead {
    try {
      return headOf(row)
    } catch {
      log?.error({ chain: row.id }, 'audit chain head failed authentication; continuing in another chain')
      throw CHAIN_CONFLICT
    }
  }

  function sealOne(kind: AuditEntryKind, id: number, bytes: Uint8Array): Uint8Array {
    return slabItem(sealEntries(address(kind), [id], [bytes]), 0)
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
    async heads(storage, chains) {
      const rows = await storage.get(AUDIT_CHAINS.name, chains)
      return rows.map((row) => (row === undefined ? undefined : headOf(row)))
    },
    async append(storage, chain, drafts) {
      const [row] = await storage.get(AUDIT_CHAINS.name, [chain])
      const input: ChainInput = {
        chain,
        head: row === undefined ? undefined : headToMove(row),
        vaultID,
        accountID,
        now: clock.now(),
        hash,
        changeIDsOf: (rows) => encodeChangeIds(barrier.ring, rows),
      }
      const { rows, head } = chainEvents(drafts, input)
      const sealed = sealEntries(
        address('event'),
        rows.map(({ id }) => id),
        rows.map(({ bytes }) => bytes),
      )
      const events = rows.map((event, index) => ({ id: event.id, at: event.at, body: slabItem(sealed, index) }))
      const moved = { body: sealOne('head', chain, encodeHead(head)) }
      // Sent together, so that they share one round trip on PostgreSQL.
      const [, isMoved] = await Promise.all([
        storage.insert(AUDIT_EVENTS.name, events),
        row === undefined
          ? storage.insert(AUDIT_CHAINS.name, [{ id: chain, ...moved }]).then(() => [true])
          : storage.update(AUDIT_CHAINS.name, [{ id: chain, version: row.version, set: moved }]),
      ]).catch((error: unknown) => {
        throw isVaultError(error, 'conflict') ? CHAIN_CONFLICT : error
      })
      if (isMoved[0] !== true) throw CHAIN_CONFLICT
      return { sequence: head.sequence, row: at(rows, rows.length - 1).id, digest: head.digest }
    },
  }
}

/** Returns an integer cell as a bigint; 0 if it is not an integer: it was changed in the database. */
export function toBigint(cell: Cell | undefined): bigint {
  return typeof cell === 'bigint' || Number.isInteger(cell) ? BigInt(cell as number | bigint) : 0n
}

/** Returns the error for a chain head that failed authentication. */
export function unreadableHead(chain: number): VaultError {
  return new VaultError('data_loss', `The head of audit chain ${chain} failed authentication. Run vault.verifyAudit().`)
}
