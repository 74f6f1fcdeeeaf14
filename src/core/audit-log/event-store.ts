/** Stores and opens audit events. Events are sealed into rows of their chain, and the head of the chain moves in the same transaction. */
import { type ChainHead, chainEvents, decodeHead, hashPrefixed, writeHead } from '../audit/chain.ts'
import type { EventDraft } from '../audit/event.ts'
import { writeLeaf } from '../audit/read-event.ts'
import { type Barrier, CATALOG_MOVED } from '../barrier/barrier.ts'
import { isVaultError, VaultError } from '../errors.ts'
import { MAX_CHAINS } from '../limits.ts'
import type { CurrentCatalog } from '../maintenance/store-current.ts'
import type { Hash, RootKeySet } from '../ports/crypto.ts'
import type { Log } from '../ports/observability.ts'
import type { Cell, Changes, Filter, NewRow, Patch, Row, Storage, StorageReads } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS, CLOSED_CHAIN } from '../schema/system-tables.ts'
import { type AuditEntryKind, namesUnknownKey, openEntries, sealAppended } from '../sealing/envelope.ts'
import { ByteWriter, sameBytes } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { copyFew, fewNumbers, slabItem } from '../util/memory.ts'
import { createChangeIds, createKnownHeads } from './known-chains.ts'

/**
 * Thrown inside a transaction to roll it back if a chain cannot be appended to: another process moved its head meanwhile, or it was
 * changed in the database. The next attempt uses another chain, so that neither stops the vault. `verifyAudit` reports the latter.
 */
export const CHAIN_CONFLICT = new Error('the audit chain cannot be appended to')

/** Thrown before anything is written, if another process appends to the same chain. Another chain can be used in the same transaction. */
export const CHAIN_BUSY = new Error('another process appends to the audit chain')

/** A chain without a new event for so long, in nanoseconds, is taken for that of a process that was killed. Its own process then takes another. */
const QUIET_NS = 2_000_000_000n
/** Chains that are looked at together. */
const CHAINS_OF_A_LOOK = 64

/** Length of the memory in which events are written before they are sealed, in bytes: at first, and at most to be kept. */
const SCRATCH_BYTES = 4096
const MAX_SCRATCH_BYTES = 1024 * 1024

/** The dependencies of an event store, and the ids in its events. */
export interface EventStorePorts {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly hash: Hash
  readonly vaultID: string
  readonly accountID: string
  readonly catalog: KnownCatalog
  /** True if each chain is of one process, because transactions run beside each other. */
  readonly holdsChains: boolean
  readonly log?: Log | undefined
}

/** The catalog as this process read it last. */
export interface KnownCatalog extends CurrentCatalog {
  readonly keys: RootKeySet
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
  /** Its digest. */
  readonly digest: Uint8Array
}

/** Changes that append events, if the stored head of their chain is still the one that this process sealed last. */
export interface NextEvents {
  readonly changes: Changes
  readonly appended: AppendedEvents
  /** Forgets the new head, because the changes are not stored. */
  undo(): void
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
   * Appends events to a chain, inside a transaction. Throws CHAIN_CONFLICT or CHAIN_BUSY if another chain must be used, and CATALOG_MOVED
   * if another process changed the catalog: nothing is sealed with keys that are not the stored ones.
   */
  append(storage: Storage, chain: number, events: EventsToAppend): Promise<AppendedEvents>
  /**
   * Returns the changes that append events to a chain, without reading anything; undefined if `append` must read the head or the
   * catalog. They apply only to a head with the version and the bytes that this process knows. From now on the new head counts as
   * known, so that events can be appended to it before it is stored: on an engine that stores changes in the order of calling, each
   * list finds the head of the one before.
   */
  next(chain: number, events: EventsToAppend): NextEvents | undefined
  /**
   * Returns chains that no process holds, some of the lowest: those that were released, or else those that were quiet for two seconds. Looks at most
   * once in that time, because others cannot be free before.
   */
  unheld(storage: StorageReads): Promise<readonly number[]>
  /** The next events of a chain are appended only if no process holds it then; else `append` throws CHAIN_BUSY. */
  claim(chain: number): void
  /** Gives chains up, where their heads are as this process stored them. Never throws. */
  release(storage: Storage, chains: readonly number[]): Promise<void>
  /** Returns true if these events are stored. Resolves a commit in doubt. */
  isStored(storage: Storage, appended: AppendedEvents): Promise<boolean>
  /** Returns the sequence number of the last event of each chain, in order: 0 without events, and undefined, which is logged, if the head fails authentication. */
  sequences(storage: Storage, chains: readonly number[]): Promise<(number | undefined)[]>
  /** Opens entries, in order. One that fails authentication has no bytes. Reads the catalog again for a key that this process does not know. */
  open(storage: StorageReads, kind: AuditEntryKind, rows: readonly Row[]): Promise<OpenedEntry[]>
}

/** Returns the event store of a vault. */
export function createEventStore(ports: EventStorePorts): EventStore {
  const { barrier, clock, hash, vaultID, accountID, catalog, holdsChains, log } = ports
  const address = (kind: AuditEntryKind) => ({ ring: barrier.ring, vault: barrier.vault, kind })
  const known = createKnownHeads()
  const claimed = new Set<number>()
  let lookedAt: bigint | undefined
  const changeIDsOf = createChangeIds(barrier)
  let scratch = new ByteWriter(SCRATCH_BYTES)
  let leaf = new ByteWriter(SCRATCH_BYTES)

  async function open(storage: StorageReads, kind: AuditEntryKind, rows: readonly Row[]): Promise<OpenedEntry[]> {
    const ids = rows.map(({ id }) => id)
    const sealed = rows.map(({ body }) => (body instanceof Uint8Array ? body : new Uint8Array(0)))
    if (sealed.some((body) => namesUnknownKey(barrier.ring, body))) await catalog.reload(storage)
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

  /** Returns the head of a row; undefined if it fails authentication, which is logged. */
  async function readableHead(storage: StorageReads, row: Row): Promise<ChainHead | undefined> {
    try {
      return known.ofRow(row) ?? (await headOf(storage, row))
    } catch (error) {
      if (!isVaultError(error, 'data_loss')) throw error
      log?.error({ chain: row.id }, 'audit chain head failed authentication; continuing in another chain')
      return undefined
    }
  }

  /** Returns the head to move. One that fails authentication, or has a version that no update can raise, is logged, and its chain is not changed. */
  async function headToMove(storage: StorageReads, row: Row): Promise<ChainHead> {
    if (!Number.isSafeInteger(row.version)) {
      log?.error({ chain: row.id }, 'audit chain head has an impossible version; continuing in another chain')
      throw CHAIN_CONFLICT
    }
    const head = await readableHead(storage, row)
    if (head === undefined) throw CHAIN_CONFLICT
    return head
  }

  /** Throws CHAIN_BUSY for a chain of another process: one that is not free as it was when this one chose it, or that another took up. */
  function assertHeld(row: Row, head: ChainHead): void {
    if (!holdsChains) return
    const isOfOther = claimed.has(row.id) ? !isReleased(row) && !isQuiet(head) : known.isMoved(row)
    if (!isOfOther) return
    known.forget(row.id)
    throw CHAIN_BUSY
  }

  function isQuiet({ at: last }: ChainHead): boolean {
    return clock.now() - last > QUIET_NS
  }

  /** Returns the chains of these heads that were released, or else those that are quiet. */
  async function unheldOf(storage: StorageReads, rows: readonly Row[]): Promise<number[]> {
    const released = rows.filter(isReleased)
    if (released.length > 0) return released.map(({ id }) => id)
    const opened = await open(storage, 'head', rows)
    return opened.flatMap(({ id, bytes }) => (bytes !== undefined && isQuiet(decodeHead(bytes)) ? [id] : []))
  }

  /** Returns the root keys and generation for the new head. Throws CATALOG_MOVED for a change that was made with an older catalog, and for a head that has a newer one. */
  function keysOfHead(head: ChainHead | undefined, generation = catalog.keys.generation): RootKeySet {
    const { keys } = catalog
    // Another call of this process has read the catalog again since this change was checked and sealed.
    if (generation !== keys.generation) throw CATALOG_MOVED
    if (head !== undefined && head.keys.generation > keys.generation) throw CATALOG_MOVED
    return keys
  }

  /** Seals events, and the head after them. */
  function sealNext(chain: number, before: ChainHead | undefined, { drafts, keys }: KeyedEvents): SealedEvents {
    scratch.length = 0
    const { rows, head } = chainEvents(drafts, {
      out: scratch,
      leaf,
      chain,
      head: before,
      keys,
      vaultID,
      accountID,
      now: clock.now(),
      hash,
      changeIDsOf,
    })
    writeHead(scratch, head)
    // They lie side by side.
    const ends = fewNumbers(rows.length + 1)
    for (let i = 0; i < rows.length; i++) ends[i] = at(rows, i).end
    ends[rows.length] = scratch.length
    const plaintexts = { bytes: scratch.bytes.subarray(0, scratch.length), ends, count: ends.length }
    // Sealing copies them, so the memory serves the next events, unless these were uncommonly long.
    if (scratch.bytes.length > MAX_SCRATCH_BYTES) scratch = new ByteWriter(SCRATCH_BYTES)
    if (leaf.bytes.length > MAX_SCRATCH_BYTES) leaf = new ByteWriter(SCRATCH_BYTES)
    const sealed = sealAppended(barrier, { chain, ids: rows.map(({ id }) => id), plaintexts })
    return {
      events: rows.map(({ id, at: nanoseconds }, index) => ({ id, at: nanoseconds, body: slabItem(sealed, index) })),
      head,
      // A copy, because it is kept longer than the events, which can be long.
      body: copyFew(slabItem(sealed, rows.length)),
      appended: { sequence: head.sequence, row: at(rows, rows.length - 1).id, digest: head.digest },
    }
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
      if (entry?.bytes === undefined) return false
      writeLeaf(leaf, entry.bytes)
      return sameBytes(hashPrefixed(hash, leaf), digest)
    },
    async unheld(storage) {
      if (lookedAt !== undefined && clock.now() - lookedAt < QUIET_NS) return []
      lookedAt = clock.now()
      for (let after = 0; ; ) {
        const page = { order: 'asc', after, limit: CHAINS_OF_A_LOOK } as const
        const rows = await storage.find(AUDIT_CHAINS.name, CHAIN_NUMBERS, page)
        const found = await unheldOf(storage, rows)
        if (found.length > 0 || rows.length < CHAINS_OF_A_LOOK) return found
        after = at(rows, rows.length - 1).id
      }
    },
    claim: (chain) => void claimed.add(chain),
    async release(storage, chains) {
      const giveUp = async (chain: number): Promise<void> => {
        const last = known.last(chain)
        if (last === undefined) return
        const { version, body } = last
        const patch = { id: chain, version, set: { released: version + 1 }, expected: { body } }
        await storage.commit({ updates: [{ table: AUDIT_CHAINS.name, patches: [patch] }], inserts: [] })
      }
      await Promise.allSettled(chains.map(giveUp))
    },
    async sequences(storage, chains) {
      const rows = await storage.get(AUDIT_CHAINS.name, chains)
      return Promise.all(rows.map(async (row) => (row === undefined ? 0 : (await readableHead(storage, row))?.sequence)))
    },
    async append(storage, chain, { drafts, generation }) {
      // Two processes can use one chain. The second would wait until the transaction of the first ends, and an application may keep that open.
      const [isFree, [row]] = await Promise.all([
        storage.lock({ kind: 'id', table: AUDIT_CHAINS.name, id: chain }),
        storage.get(AUDIT_CHAINS.name, [chain]),
      ])
      if (!isFree) throw CHAIN_BUSY
      if (row?.released === CLOSED_CHAIN) throw CATALOG_MOVED
      const before = row === undefined ? undefined : await headToMove(storage, row)
      if (row !== undefined && before !== undefined) assertHeld(row, before)
      const keys = keysOfHead(before, generation)
      const { events, head, body, appended } = sealNext(chain, before, { drafts, keys })
      // Sent together, so that they share one round trip on PostgreSQL.
      const [, isMoved] = await Promise.all([
        storage.insert(AUDIT_EVENTS.name, events),
        row === undefined
          ? storage.insert(AUDIT_CHAINS.name, [{ id: chain, body }]).then(() => [true])
          : storage.update(AUDIT_CHAINS.name, [patchOf(row, body)]),
      ]).catch((error: unknown) => {
        throw isVaultError(error, 'conflict') ? CHAIN_CONFLICT : error
      })
      if (isMoved[0] !== true) throw CHAIN_CONFLICT
      // A stored head of the known generation shows that the catalog is current: each change of it raises all heads. For a chain that begins, the
      // catalog is read after the write: a process that changes it waits for this transaction, or has committed.
      const isConfirmed = before?.keys.generation === keys.generation || (await catalog.isCurrent(storage, keys.generation))
      if (!isConfirmed) throw CATALOG_MOVED
      known.note({ head, version: (row?.version ?? 0) + 1, body })
      claimed.delete(chain)
      return appended
    },
    next(chain, { drafts, generation }) {
      const before = known.last(chain)
      if (before === undefined) return undefined
      const keys = keysOfHead(before.head, generation)
      if (before.head.keys.generation !== keys.generation) return undefined
      const { version } = before
      const { events, head, body, appended } = sealNext(chain, before.head, { drafts, keys })
      const patch = patchOf({ id: chain, version, body: before.body }, body)
      const after = { head, version: version + 1, body }
      known.note(after)
      return {
        changes: {
          updates: [{ table: AUDIT_CHAINS.name, patches: [patch] }],
          inserts: [{ table: AUDIT_EVENTS.name, rows: events }],
        },
        appended,
        undo() {
          if (known.last(chain) === after) known.note(before)
        },
      }
    },
  }
}

/** The numbers that a chain can have. A writer of the database can move a head to any other, which must not stop the vault. */
export const CHAIN_NUMBERS: Filter = { kind: 'compare', column: 'id', operator: '<', value: MAX_CHAINS + 1 }

/** True for the head of a chain that its writer gave up, and no other has moved since. */
function isReleased({ version, released }: Row): boolean {
  return released === version
}

/** Moves a head if its row is still the same: a version that was put back does not hide that the bytes were changed. */
function patchOf({ id, version, body: before = null }: Row, body: Uint8Array): Patch {
  return { id, version, set: { body }, expected: { body: before } }
}

/** Events to append, and the root keys for the head after them. */
interface KeyedEvents {
  readonly drafts: readonly EventDraft[]
  readonly keys: RootKeySet
}

/** Sealed events as rows, and the head after them. */
interface SealedEvents {
  readonly events: readonly NewRow[]
  readonly head: ChainHead
  readonly body: Uint8Array
  readonly appended: AppendedEvents
}

/** Returns an integer cell as a bigint; 0 if it is not an integer: it was changed in the database. */
function toBigint(cell: Cell | undefined): bigint {
  return typeof cell === 'bigint' || Number.isInteger(cell) ? BigInt(cell as number | bigint) : 0n
}

/** Returns the error for a chain head that failed authentication. */
export function unreadableHead(chain: number): VaultError {
  return new VaultError('data_loss', `The head of audit chain ${chain} failed authentication. Run vault.verifyAudit().`)
}
