/** The audit trail in storage: events are sealed into rows of their chain, and the chain's head moves with them, in one transaction. */
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
 * Thrown inside a transaction to roll it back when a chain cannot be appended to: another process moved its head meanwhile, or it
 * was changed in the database. The next attempt takes another chain, so that neither stops the vault. `verifyAudit` reports
 * the second.
 */
export const CHAIN_CONFLICT = new Error('the audit chain cannot be appended to')

/** Whose trail it is, and what writing it uses. */
export interface EventStorePorts {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly hash: Hash
  readonly vaultID: string
  readonly accountID: string
  readonly log?: Log | undefined
}

/** Events as they were appended: enough to find out later whether they are stored. */
export interface AppendedEvents {
  /** Sequence number of the last event in its chain, and its row. */
  readonly sequence: number
  readonly row: number
  /** Its digest, 64 hex digits. */
  readonly digest: string
}

/** An entry as it was read: its row, its time in nanoseconds where it is an event, and its bytes; undefined where it fails authentication. */
export interface OpenedEntry {
  readonly id: number
  readonly at: bigint
  readonly bytes: Uint8Array | undefined
}

export interface EventStore {
  /** Appends events to a chain, inside a transaction. Throws CHAIN_CONFLICT when another chain must be taken. */
  append(storage: Storage, chain: number, drafts: readonly EventDraft[]): Promise<AppendedEvents>
  /** True when these events are stored: resolves a commit in doubt. */
  isStored(storage: Storage, appended: AppendedEvents): Promise<boolean>
  /** The heads of these chains, undefined for one without events. Throws `data_loss` for one that fails authentication. */
  heads(storage: Storage, chains: readonly number[]): Promise<(ChainHead | undefined)[]>
  /** Opens entries; one that fails authentication has no bytes. */
  open(kind: AuditEntryKind, rows: readonly Row[]): OpenedEntry[]
}

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

  /** The head that is about to move. One that fails authentication is logged, and its chain is left as it is. */
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
      const chaining: ChainInput = {
        chain,
        head: row === undefined ? undefined : headToMove(row),
        vaultID,
        accountID,
        now: clock.now(),
        hash,
        changeIDsOf: (rows) => encodeChangeIds(barrier.ring, rows),
      }
      const { rows, head } = chainEvents(drafts, chaining)
      const sealed = sealEntries(
        address('event'),
        rows.map(({ id }) => id),
        rows.map(({ bytes }) => bytes),
      )
      const events = rows.map((event, index) => ({ id: event.id, at: event.at, body: slabItem(sealed, index) }))
      const moved = { body: sealOne('head', chain, encodeHead(head)) }
      // Sent together, so that on Postgres they share one round trip.
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

/** An integer as storage returns it. */
export function toBigint(cell: Cell | undefined): bigint {
  return typeof cell === 'number' || typeof cell === 'bigint' ? BigInt(cell) : 0n
}

/** The error for a chain head that fails authentication. */
export function unreadableHead(chain: number): VaultError {
  return new VaultError('data_loss', `The head of audit chain ${chain} failed authentication. Run vault.verifyAudit().`)
}
