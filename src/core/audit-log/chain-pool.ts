/** The pool of audit chains: each chain is appended to by one transaction at a time, so that writers never wait for each other's. */
import { VaultError } from '../errors.ts'
import { MAX_CHAINS } from '../limits.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { Storage, StorageHandle } from '../ports/storage.ts'
import { AUDIT_CHAINS } from '../schema/system-tables.ts'
import { readU32 } from '../util/bytes.ts'
import { retry } from '../util/retry.ts'
import { CHAIN_CONFLICT, type EventStore } from './event-store.ts'

/** Chains after which a handle begins no new ones, but shares those that exist with other processes. */
const MAX_NEW_CHAINS = 1000
/** Leased chains that are watched for their transaction to commit. */
const MAX_LEASES = 64
/** Times work runs again because another process moved the chain's head. */
const MAX_ATTEMPTS = 100

export interface ChainPool {
  /**
   * Runs work with a chain that no other work of this process has meanwhile, and again with another chain after a conflict. Work
   * that cannot run again takes another chain itself, reading in its own transaction, which may hold the last connection.
   */
  withChain<T>(work: (chain: number, takeAnother: TakeChain) => Promise<T>): Promise<T>
  /** A chain for a transaction whose end this process does not see, read for inside it. It is reused once its events are seen to be stored. */
  lease(within: Storage): Promise<ChainLease>
}

/** Takes a chain in place of one with a conflict. */
export type TakeChain = (within: Storage) => Promise<number>

/** A leased chain. `appended` is told the sequence number of the last event. */
export interface ChainLease {
  readonly chain: number
  appended(sequence: number): void
}

/** Engines that run one transaction at a time have one chain for all: no other transaction moves its head meanwhile. */
export function createChainPool(storage: StorageHandle, events: EventStore, entropy: Entropy): ChainPool {
  if (storage.transactions === 'serial') return singleChain(storage)
  const free: number[] = []
  const leased = new Map<number, number>()
  let highest = 0

  async function take(within: Storage): Promise<number> {
    const found = free.pop()
    if (found !== undefined) return found
    // Awaited first, because other work raises the number meanwhile.
    const stored = await highestChain(within)
    highest = Math.max(highest, stored)
    if (highest < MAX_NEW_CHAINS) return ++highest
    return 1 + (readU32(entropy.bytes(4), 0) % Math.min(highest, MAX_CHAINS))
  }

  /** Frees the leased chains whose last event is stored: their transaction has committed. */
  async function reclaim(within: Storage): Promise<void> {
    const chains = [...leased.keys()]
    const heads = chains.length === 0 ? [] : await events.heads(within, chains)
    for (const [index, chain] of chains.entries()) {
      if ((heads[index]?.sequence ?? 0) < (leased.get(chain) ?? Number.POSITIVE_INFINITY)) continue
      leased.delete(chain)
      free.push(chain)
    }
  }

  /** Runs work with a chain of its own, which is free again afterwards unless it had a conflict. */
  async function withOne<T>(work: (chain: number, takeAnother: TakeChain) => Promise<T>): Promise<T> {
    let chain = await take(storage)
    const takeAnother: TakeChain = async (within) => {
      chain = await take(within)
      return chain
    }
    let hasConflict = false
    try {
      return await work(chain, takeAnother)
    } catch (error) {
      hasConflict = error === CHAIN_CONFLICT
      throw error
    } finally {
      if (!hasConflict) free.push(chain)
    }
  }

  return {
    withChain: (work) =>
      retryOnConflict(
        () => withOne(work),
        async () => {},
      ),
    async lease(within) {
      await reclaim(within)
      const chain = await take(within)
      const [oldest] = leased.keys()
      // A rolled-back transaction stores no event, so its lease would never end. The oldest lease is dropped after 64 newer ones.
      if (leased.size >= MAX_LEASES && oldest !== undefined) leased.delete(oldest)
      leased.set(chain, Number.POSITIVE_INFINITY)
      return { chain, appended: (sequence) => leased.set(chain, sequence) }
    },
  }
}

/** No other transaction moves the one chain, so a conflict means that its head was changed in the database. A new chain begins above all others. */
function singleChain(storage: StorageHandle): ChainPool {
  let chain = 1
  async function takeAnother(within: Storage): Promise<number> {
    const stored = await highestChain(within)
    chain = 1 + Math.max(chain, stored)
    return chain
  }
  return {
    lease: async () => ({ chain, appended() {} }),
    withChain: (work) =>
      retryOnConflict(
        () => work(chain, takeAnother),
        async () => {
          await takeAnother(storage)
        },
      ),
  }
}

async function highestChain(within: Storage): Promise<number> {
  const [last] = await within.find(AUDIT_CHAINS.name, { kind: 'all' }, { order: 'desc', limit: 1, columns: [] })
  return last?.id ?? 0
}

/** Runs work again after each chain conflict, once `changeChain` has left the chain. Throws `aborted` after 100 conflicts. */
export function retryOnConflict<T>(work: () => Promise<T>, changeChain: () => Promise<void>): Promise<T> {
  return retry(
    {
      maxAttempts: MAX_ATTEMPTS,
      shouldRetry: (error) => error === CHAIN_CONFLICT,
      between: changeChain,
      exhausted: () =>
        new VaultError('aborted', 'Appending to the audit trail conflicted with other writers in 100 attempts. Retry.'),
    },
    work,
  )
}
