/** The chain pool: never two transactions of a process in one chain, and no more chains than concurrent transactions. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { type ChainPool, createChainPool } from '../../../src/core/audit-log/chain-pool.ts'
import { CHAIN_BUSY, CHAIN_CONFLICT, type EventStore } from '../../../src/core/audit-log/event-store.ts'
import { VaultError } from '../../../src/core/errors.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { AUDIT_CHAINS } from '../../../src/core/schema/system-tables.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'

const { scheduler, entropy } = SYSTEM_PORTS

/** A chain pool over heads that the test moves. */
async function open(transactions: StorageHandle['transactions'] = 'concurrent') {
  const storage: StorageHandle = { ...memoryStorage(), transactions }
  await storage.prepare([AUDIT_CHAINS])
  /** Undefined for a head that cannot be read. */
  const sequences = new Map<number, number | undefined>()
  const events = {
    sequences: async (_: unknown, chains: readonly number[]) =>
      chains.map((chain) => (sequences.has(chain) ? sequences.get(chain) : 0)),
    unheld: async () => [],
    claim() {},
  } as unknown as EventStore // The pool only reads the positions of heads.
  const found = (chain: number) => storage.insert(AUDIT_CHAINS.name, [{ id: chain, body: new Uint8Array(1) }])
  return { chains: createChainPool(storage, events, entropy), storage, sequences, found }
}

/** Uses this many chains at once and returns their numbers. */
async function useAtOnce(chains: ChainPool, count: number): Promise<number[]> {
  return Promise.all(
    Array.from({ length: count }, () =>
      chains.withChain(async (chain) => {
        await scheduler.yield()
        return chain
      }),
    ),
  )
}

it('a storage with one writer uses one chain, and another only after a conflict', async () => {
  const { chains, storage, found } = await open('serial')
  expect(await useAtOnce(chains, 3)).toEqual([1, 1, 1])
  expect((await chains.lease(storage)).chain).toBe(1)
  await found(4)
  const tried: number[] = []
  await chains.withChain(async (chain) => {
    tried.push(chain)
    if (tried.length < 3) throw CHAIN_CONFLICT
  })
  expect(tried).toEqual([1, 5, 6])
  expect(await useAtOnce(chains, 2)).toEqual([6, 6])
})

it('no two transactions share a chain, even after failures, and there are no more chains than concurrent transactions', async () => {
  const random = seededRandom('chains')
  const { chains } = await open()
  const used = new Set<number>()
  const ever = new Set<number>()
  const works = Array.from({ length: 500 }, async (_, n) => {
    for (let turns = Math.floor(n / 8); turns > 0; turns--) await scheduler.yield()
    const work = chains.withChain(async (chain) => {
      expect(used.has(chain)).toBe(false)
      used.add(chain)
      ever.add(chain)
      for (let turns = Math.floor(random() * 4); turns > 0; turns--) await scheduler.yield()
      used.delete(chain)
      if (n % 7 === 0) throw new Error('changed my mind')
    })
    await work.catch(() => {})
  })
  await Promise.all(works)
  expect(ever.size).toBeLessThanOrEqual(40)
  expect(Math.max(...ever)).toBe(ever.size)
})

it('a chain whose head another process moved is dropped, and the work runs again in another chain', async () => {
  const { chains } = await open()
  const tried: number[] = []
  const chain = await chains.withChain(async (own) => {
    tried.push(own)
    if (tried.length < 3) throw CHAIN_CONFLICT
    return own
  })
  expect(new Set(tried).size).toBe(3)
  expect(await useAtOnce(chains, 1)).toEqual([chain])
})

it('work that cannot run again takes another chain itself, and later work reuses that chain', async () => {
  const { chains, storage } = await open()
  let runs = 0
  const kept = await chains.withChain(async (chain, another) => {
    runs++
    expect([chain, await another(storage)]).toEqual([1, 2])
    return another(storage)
  })
  expect([runs, kept, ...(await useAtOnce(chains, 1))]).toEqual([1, 3, 3])
})

it('work that fails by its own error runs once, and its chain is reused', async () => {
  const { chains } = await open()
  const conflict = new VaultError('conflict', '', { table: 'records_1_people' })
  let runs = 0
  const work = chains.withChain(async () => {
    runs++
    throw conflict
  })
  await expect(work).rejects.toBe(conflict)
  expect(runs).toBe(1)
  expect(await useAtOnce(chains, 1)).toEqual([1])
})

it('work that conflicts in every chain throws aborted', async () => {
  const { chains } = await open()
  const work = chains.withChain(async () => {
    throw CHAIN_CONFLICT
  })
  await expect(work).rejects.toMatchObject({ code: 'aborted' })
})

it('new chains are numbered after the chains of other processes', async () => {
  const { chains, found } = await open()
  await found(5)
  expect(await useAtOnce(chains, 1)).toEqual([6])
})

it('no chain is added at the maximum, and an existing one is used', async () => {
  const { chains, found } = await open()
  await found(1500)
  for (const chain of await useAtOnce(chains, 50)) {
    expect(chain).toBeGreaterThanOrEqual(1)
    expect(chain).toBeLessThanOrEqual(1500)
  }
})

it('a leased chain is not used by others until its events are stored', async () => {
  const { chains, storage, sequences } = await open()
  const first = await chains.lease(storage)
  first.appended(3)
  const second = await chains.lease(storage)
  expect([first.chain, second.chain, ...(await useAtOnce(chains, 1))]).toEqual([1, 2, 3])
  sequences.set(1, 2)
  expect((await chains.lease(storage)).chain).toBe(3)
  sequences.set(1, 3)
  expect((await chains.lease(storage)).chain).toBe(1)
})

it('a chain whose transaction was lost is not used again until 64 newer ones were lost, and is then used last', async () => {
  const { chains } = await open()
  const lose = (code: 'unavailable' | 'outcome_unknown'): Promise<number> => {
    let used = 0
    const lost = chains.withChain(async (chain) => {
      used = chain
      throw new VaultError(code, 'lost')
    })
    return lost.catch(() => used)
  }
  expect([await lose('unavailable'), await lose('outcome_unknown'), ...(await useAtOnce(chains, 2))]).toEqual([1, 2, 3, 4])
  const ever = new Set<number>()
  for (let n = 0; n < 500; n++) ever.add(await lose('unavailable'))
  // Those set aside, and those in use beside them.
  expect(Math.max(...ever)).toBeLessThanOrEqual(64 + 4)
  expect(new Set(await useAtOnce(chains, 3)).size).toBe(3)
})

it('chains of transactions that were rolled back are used again after 64 newer ones, so that they do not add chains without end', async () => {
  const { chains, storage } = await open()
  const ever = new Set<number>()
  for (let n = 0; n < 500; n++) {
    const lease = await chains.lease(storage)
    lease.appended(1)
    for (const chain of [lease.chain, ...(await useAtOnce(chains, 1))]) ever.add(chain)
  }
  expect(Math.max(...ever)).toBeLessThanOrEqual(64 + 2)
  expect(new Set(await useAtOnce(chains, 100)).size).toBe(100)
})

it('a lease ends with the first stored event: later ones can have been rolled back to a savepoint', async () => {
  const { chains, storage, sequences } = await open()
  const lease = await chains.lease(storage)
  lease.appended(1)
  lease.appended(2)
  sequences.set(lease.chain, 1)
  expect((await chains.lease(storage)).chain).toBe(lease.chain)
})

it('a leased chain whose head cannot be read is not used again, and the next ones are leased', async () => {
  const { chains, storage, sequences } = await open()
  const { chain } = await chains.lease(storage)
  sequences.set(chain, undefined)
  const later = new Set<number>()
  for (let n = 0; n < 100; n++) later.add((await chains.lease(storage)).chain)
  expect(later.has(chain)).toBe(false)
})

it('a lease that is given up ends, and another chain is leased, also where there is one writer', async () => {
  for (const transactions of ['concurrent', 'serial'] as const) {
    const { chains, storage } = await open(transactions)
    const tried: number[] = []
    for (let n = 0; n < 100; n++) {
      const { chain, giveUp } = await chains.lease(storage)
      tried.push(chain)
      await giveUp(storage)
    }
    expect(new Set(tried).size).toBe(100)
  }
})

it('work goes on after more busy chains than there are attempts after a conflict', async () => {
  const { chains } = await open()
  const work = (chain: number): Promise<number> => (chain <= 300 ? Promise.reject(CHAIN_BUSY) : Promise.resolve(chain))
  expect(await chains.withChain(work)).toBe(301)
})
