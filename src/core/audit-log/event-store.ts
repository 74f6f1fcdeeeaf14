/** Stores and opens audit events. Events are sealed into rows of their chain, and the head of the chain moves in the same transaction. */
import type { ChainInput } from '../audit/chain.ts'
import { chainEvents } from '../audit/chain.ts'
import type { ChainHead } from '../audit/chain-head.ts'
import { decodeHead, encodeHead } from '../audit/chain-head.ts'
import type { EventDraft } from '../audit/event.ts'
import { hashLeaf } from '../audit/merkle.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { CATALOG_MOVED } from '../barrier/barrier.ts'
import { encodeChangeIds } from '../barrier/record-ids.ts'
import { isVaultError, VaultError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Hash } from '../ports/hash.ts'
import type { KeyRing, RootKeySet } from '../ports/keys.ts'
import type { Log } from '../ports/log.ts'
import type { Cell, Row, Storage, StorageReads } from '../ports/storage.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../schema/system-tables.ts'
import type { AuditEntryKind } from '../sealing/audit-entry.ts'
import { openEntries, sealEntries } from '../sealing/audit-entry.ts'
import { readVersion } from '../sealing/envelope.ts'
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
  readonly catalog: KnownCatalog
  readonly log?: Log | undefined
}

/** The catalog as this process read it last. */
export interface KnownCatalog {
  readonly keys: RootKeySet
  /** True if the stored one is of this generation, and this process has read none after it. One small read. */
  isCurrent(storage: StorageReads, generation: number): Promise<boolean>
  /** Reads it again. */
  reload(storage: StorageReads): Promise<void>
}

/** Events to append. */
export interface EventsToAppend {
  readonly drafts: readonly EventDraft[]
  /**
   * The generation of the catalog with which records were changed before, in the same transaction. It must still be the current one.
   * Undefined if none were changed.
   */
  readonly generation: number | undefined
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
  /**
   * Appends events to a chain, inside a transaction. Throws CHAIN_CONFLICT if another chain must be used, and CATALOG_MOVED for a
   * change that was made with an older catalog.
   */
  append(storage: Storage, chain: number, events: EventsToAppend): Promise<AppendedEvents>
  /** Returns true if these events are stored. Resolves a commit in doubt. */
  isStored(storage: Storage, appended: AppendedEvents): Promise<boolean>
  /** Returns the head of each chain, in order; undefined for one without events. Throws `data_loss` if one fails authentication. */
  heads(storage: Storage, chains: readonly number[]): Promise<(ChainHead | undefined)[]>
  /** Opens entries, in order. One that fails authentication has no bytes. Reads the catalog again for a key that this process does not know. */
  open(storage: StorageReads, kind: AuditEntryKind, rows: readonly Row[]): Promise<OpenedEntry[]>
}

/** Returns the event store of a vault. */
export function createEventStore(ports: EventStorePorts): EventStore {
  const { barrier, clock, hash, vaultID, accountID, catalog, log } = ports
  const address = (kind: AuditEntryKind) => ({ ring: barrier.ring, vault: barrier.vault, kind })

  async function open(storage: StorageReads, kind: AuditEntryKind, rows: readonly Row[]): Promise<OpenedEntry[]> {
    const ids = rows.map(({ id }) => id)
    const sealed = rows.map(({ body }) => (body instanceof Uint8Array ? body : new Uint8Array(0)))
    if (sealed.some((body) => isUnknownVersion(barrier.ring, readVersion(body, 0, body.length)))) await catalog.reload(storage)
    const { plaintexts, opened } = openEntries(address(kind), ids, sealed)
    return rows.map(({ id, at: nanoseconds }, index) => ({
      id,
      at: toBigint(nanoseconds),
      bytes: opened[index] === 1 ? slabItem(plaintexts, index) : undefined,
    }))
  }

  async function headOf(storage: StorageReads, row: Row): Promise<ChainHead> {
    const [entry] = await open(storage, 'head', [row])
    if (entry?.bytes === undefined) throw unreadableHead(row.id)
    return decodeHead(entry.bytes)
  }

  /** Returns the head to move. If it fails authentication, or has a version that no update can raise, it is logged, and its chain is not changed. */
  async function headToMove(storage: StorageReads, row: Row): Promise<ChainHead> {
    if (!Number.isSafeInteger(row.version)) {
      log?.error({ chain: row.id }, 'audit chain head has an impossible version; continuing in another chain')
      throw CHAIN_CONFLICT
    }
    try {
      return await headOf(storage, row)
    } catch (error) {
      if (!isVaultError(error, 'data_loss')) throw error
      log?.error({ chain: row.id }, 'audit chain head failed authentication; continuing in another chain')
      throw CHAIN_CONFLICT
    }
  }

  /** Returns the root keys and generation for the new head. Throws CATALOG_MOVED for a change that was made with an older catalog. */
  async function keysOfHead(
    storage: StorageReads,
    head: ChainHead | undefined,
    generation: number | undefined,
  ): Promise<RootKeySet> {
    const { keys } = catalog
    // Another call of this process has read the catalog again since this change was checked and sealed.
    if (generation !== undefined && generation !== keys.generation) throw CATALOG_MOVED
    if (head?.keys.generation === keys.generation) return keys
    if (generation === undefined) return head?.keys ?? { ...keys, generation: 0 }
    if (head !== undefined && head.keys.generation > generation) throw CATALOG_MOVED
    // Read after the change was written: a process that changes the catalog waits for this transaction, or has committed.
    if (!(await catalog.isCurrent(storage, generation))) throw CATALOG_MOVED
    // A process that changes the catalog does not see a chain that begins meanwhile, but it does see that the head of an old one moves.
    return head === undefined ? { ...keys, generation: 0 } : keys
  }

  function sealOne(kind: AuditEntryKind, id: number, bytes: Uint8Array): Uint8Array {
    return slabItem(sealEntries(address(kind), [id], [bytes]), 0)
  }

  return {
    open,
    async isStored(storage, { row, digest }) {
      const found = await storage.get(AUDIT_EVENTS.name, [row])
      const [entry] = await open(
        storage,
        'event',
        found.filter((one) => one !== undefined),
      )
      return entry?.bytes !== undefined && toHex(hashLeaf(hash, entry.bytes)) === digest
    },
    async heads(storage, chains) {
      const rows = await storage.get(AUDIT_CHAINS.name, chains)
      return Promise.all(rows.map((row) => (row === undefined ? undefined : headOf(storage, row))))
    },
    async append(storage, chain, { drafts, generation }) {
      const [row] = await storage.get(AUDIT_CHAINS.name, [chain])
      const before = row === undefined ? undefined : await headToMove(storage, row)
      const input: ChainInput = {
        chain,
        head: before,
        keys: await keysOfHead(storage, before, generation),
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

/** True for the version of a root key that the ring does not have. Bytes in another format have version 0. */
function isUnknownVersion(ring: KeyRing, version: number): boolean {
  return version !== 0 && !ring.hasVersion(version)
}

/** Returns an integer cell as a bigint; 0 if it is not an integer: it was changed in the database. */
export function toBigint(cell: Cell | undefined): bigint {
  return typeof cell === 'bigint' || Number.isInteger(cell) ? BigInt(cell as number | bigint) : 0n
}

/** Returns the error for a chain head that failed authentication. */
export function unreadableHead(chain: number): VaultError {
  return new VaultError('data_loss', `The head of audit chain ${chain} failed authentication. Run vault.verifyAudit().`)
}
