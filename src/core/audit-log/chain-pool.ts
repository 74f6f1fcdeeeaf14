/** The pool of audit chains. One transaction at a time appends to a chain, so that writers do not wait for each other. */
import { mayBeStored, VaultError } from '../errors.ts'
import { MAX_CHAINS } from '../limits.ts'
import type { Entropy } from '../ports/crypto.ts'
import type { Storage, StorageHandle } from '../ports/storage.ts'
import { AUDIT_CHAINS } from '../schema/system-tables.ts'
import { attempt, type Reason } from '../util/attempt.ts'
import { readU32 } from '../util/bytes.ts'
import { CHAIN_BUSY, CHAIN_CONFLICT, CHAIN_NUMBERS, type EventStore } from './event-store.ts'

/** Maximum number of chains that a handle creates. Above it, the handle shares existing chains with other processes. */
const MAX_NEW_CHAINS = 1000
/** Maximum number of leased chains whose transactions are watched. */
const MAX_LEASES = 64
/** Maximum number of chains set aside after a lost transaction. */
const MAX_ABANDONED = 64
/** Maximum number of attempts, if other processes keep moving the head of the chain. */
const MAX_ATTEMPTS = 100

/** Retries after a chain conflict. What was done before runs again. */
const CONFLICTS: Reason = {
  is: isOfChain,
  most: MAX_ATTEMPTS,
  lastWord: () => new VaultError('aborted', 'Appending to the audit trail conflicted with other writers in 100 attempts. Retry.'),
}

/**
 * Retries after a busy chain, before anything is written. Each open transaction of another process can have a chain that is not stored
 * yet, so all new ones can be tried.
 */
const BUSY: Reason = {
  is: (error) => error === CHAIN_BUSY,
  most: 2 * MAX_NEW_CHAINS,
  lastWord: () => new VaultError('aborted', 'Every audit chain is in use by an open transaction of another process. Retry.'),
}

/** The chains of one storage handle. */
export interface ChainPool {
  /**
   * Runs work with a chain that no other work of this process uses meanwhile. After CHAIN_CONFLICT or CHAIN_BUSY it runs again with another chain;
   * throws `aborted` after 100 attempts. Work that cannot run again takes another chain itself, within its own transaction, because
   * that can have the last free connection.
   */
  withChain<T>(work: (chain: number, takeAnother: TakeChain) => Promise<T>): Promise<T>
  /** Leases a chain for a transaction that the application commits. The chain is free again when its events are found in storage. */
  lease(within: Storage): Promise<ChainLease>
  /** Gives up the chains that no work uses, for other processes. Never throws. */
  release(): Promise<void>
}

/** Returns a chain in place of one with a conflict. */
export type TakeChain = (within: Storage) => Promise<number>

/** A leased chain. */
export interface ChainLease {
  readonly chain: number
  /** Notes the sequence number of an event that was appended. */
  appended(sequence: number): void
  /** Ends the lease of a chain that cannot be appended to. This process does not use the chain any more. */
  giveUp(within: Storage): Promise<void>
}

/** Returns the pool of a storage. Engines with serial transactions have one chain, because no other transaction moves its head meanwhile. */
export function createChainPool(storage: StorageHandle, events: EventStore, entropy: Entropy): ChainPool {
  if (storage.transactions === 'serial') return singleChain(storage, entropy)
  const free: number[] = []
  /** Every chain that this process has used: one that it lost, or that cannot be read, is not taken up again. */
  const used = new Set<number>()
  const leased = new Map<number, number>()
  const abandoned: number[] = []
  let unheld: number[] = []
  let looking: Promise<void> | undefined
  let highest = 0

  function begin(chain: number): number {
    used.add(chain)
    events.claim(chain)
    return chain
  }

  /** Looks for chains that no process holds. Several callers look once; an error is that of the one whose transaction looks. */
  async function look(within: Storage): Promise<void> {
    if (looking !== undefined) return looking
    const found = events.unheld(within)
    looking = found.then((chains) => {
      unheld = chains.filter((chain) => !used.has(chain))
    }, ignore)
    try {
      await found
      await looking
    } finally {
      looking = undefined
    }
  }

  /** Takes a chain up that no process holds any more; undefined if there is none. */
  async function takeUp(within: Storage): Promise<number | undefined> {
    if (unheld.length === 0) await look(within)
    if (unheld.length === 0) return undefined
    // Any of them, so that processes that begin together do not all try the same one first.
    const [chain] = unheld.splice(anyOf(entropy, unheld.length) - 1, 1)
    return chain === undefined ? undefined : begin(chain)
  }

  async function take(within: Storage): Promise<number> {
    const found = free.pop() ?? (await takeUp(within)) ?? free.pop()
    if (found !== undefined) return found
    // Awaited first, because other work can increase `highest` meanwhile.
    const stored = await highestChain(within)
    highest = Math.max(highest, stored)
    if (highest < MAX_NEW_CHAINS) return begin(++highest)
    return anyOf(entropy, highest)
  }

  /** Frees the leased chains with a stored event of their transaction: it has committed. Forgets those with a head that cannot be read. */
  async function reclaim(within: Storage): Promise<void> {
    const chains = [...leased.keys()]
    const sequences = chains.length === 0 ? [] : await events.sequences(within, chains)
    for (const [index, chain] of chains.entries()) {
      const awaited = leased.get(chain) ?? Number.POSITIVE_INFINITY // Other work may have freed the chain meanwhile.
      const sequence = sequences[index]
      if (sequence !== undefined && sequence < awaited) continue
      leased.delete(chain)
      if (sequence !== undefined) free.push(chain)
    }
  }

  /**
   * Sets a chain aside whose transaction was lost: the server can hold it open, with its locks, long after the connection is gone. After
   * 64 newer ones the chain is free again, to be used last, so that lost transactions do not add chains without end.
   */
  function abandon(chain: number): void {
    if (abandoned.push(chain) <= MAX_ABANDONED) return
    const oldest = abandoned.shift()
    if (oldest !== undefined) free.unshift(oldest)
  }

  /** Runs work with a chain of its own, which is free again afterwards unless it had a conflict or its transaction was lost. */
  async function withOne<T>(work: (chain: number, takeAnother: TakeChain) => Promise<T>): Promise<T> {
    let chain = await take(storage)
    const takeAnother: TakeChain = async (within) => {
      chain = await take(within)
      return chain
    }
    try {
      const result = await work(chain, takeAnother)
      free.push(chain)
      return result
    } catch (error) {
      if (mayBeStored(error)) abandon(chain)
      else if (!isOfChain(error)) free.push(chain)
      throw error
    }
  }

  return {
    withChain: (work) => attempt([BUSY, CONFLICTS], () => withOne(work)),
    async lease(within) {
      await reclaim(within)
      const chain = await take(within)
      const [oldest] = leased.keys()
      // A rolled-back transaction stores no event, so its lease would never end. After 64 newer ones, the chain is free again, to be used
      // last. If its transaction is still open after all, it has the lock of the chain.
      if (leased.size >= MAX_LEASES && oldest !== undefined) {
        leased.delete(oldest)
        free.unshift(oldest)
      }
      leased.set(chain, Number.POSITIVE_INFINITY)
      return {
        chain,
        appended(sequence) {
          // The first one that is stored shows that the transaction has committed. Later ones can be rolled back to a savepoint.
          const awaited = leased.get(chain)
          if (awaited !== undefined) leased.set(chain, Math.min(awaited, sequence))
        },
        giveUp: async () => void leased.delete(chain),
      }
    },
    release: () => events.release(storage, free.splice(0)),
  }
}

/** Returns a pool of one chain. No other transaction moves its head, so after a conflict, which means a change in the database, a new chain is used. */
function singleChain(storage: StorageHandle, entropy: Entropy): ChainPool {
  let chain = 1
  async function takeAnother(within: Storage): Promise<number> {
    const stored = await highestChain(within)
    const highest = Math.max(chain, stored)
    chain = highest < MAX_CHAINS ? highest + 1 : anyOf(entropy, MAX_CHAINS)
    return chain
  }
  const inAnother = inAnotherChain(async () => void (await takeAnother(storage)))
  return {
    async lease() {
      const leased = chain
      return {
        chain: leased,
        appended() {},
        async giveUp(within) {
          if (chain === leased) await takeAnother(within)
        },
      }
    },
    withChain: (work) => attempt([inAnother], () => work(chain, takeAnother)),
    async release() {},
  }
}

function ignore(): void {}

/** A chain from 1 to `highest`. */
function anyOf(entropy: Entropy, highest: number): number {
  return 1 + (readU32(entropy.bytes(4), 0) % highest)
}

/** Returns the number of the highest chain; 0 if there is none. */
async function highestChain(within: Storage): Promise<number> {
  const [last] = await within.find(AUDIT_CHAINS.name, CHAIN_NUMBERS, { order: 'desc', limit: 1, columns: [] })
  return Math.max(0, last?.id ?? 0)
}

/** True if another chain must be used. */
function isOfChain(error: unknown): boolean {
  return error === CHAIN_CONFLICT || error === CHAIN_BUSY
}

/** Runs work, and runs it again if another chain must be used. `changeChain` is awaited before. Throws `aborted` after 100 attempts. */
export function retryOnConflict<T>(work: () => Promise<T>, changeChain: () => Promise<void>): Promise<T> {
  return attempt([inAnotherChain(changeChain)], work)
}

/** Appends to a chain, and to another one while the chain is busy. Nothing was written then, so what the transaction did before remains. */
export function retryWhileBusy<T>(append: () => Promise<T>, changeChain: () => Promise<void>): Promise<T> {
  return attempt([{ ...BUSY, between: changeChain }], append)
}

function inAnotherChain(changeChain: () => Promise<void>): Reason {
  return { ...CONFLICTS, between: changeChain }
}
