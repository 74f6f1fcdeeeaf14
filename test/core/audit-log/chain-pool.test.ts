/** ChainPool: never two transactions of one process in one of them, and no more of them than are needed at once. */
import { expect, test } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { ChainPool } from '../../../src/core/audit-log/chain-pool.ts'
import { createChainPool } from '../../../src/core/audit-log/chain-pool.ts'
import type { EventStore } from '../../../src/core/audit-log/event-store.ts'
import { CHAIN_CONFLICT } from '../../../src/core/audit-log/event-store.ts'
import { VaultError } from '../../../src/core/errors.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { AUDIT_LANES } from '../../../src/core/schema/side-tables.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'

const { scheduler, entropy } = SYSTEM_PORTS

/** ChainPool over heads that the test itself moves. */
async function open(transactions: StorageHandle['transactions'] = 'side by side') {
  const storage: StorageHandle = { ...memoryStorage(), transactions }
  await storage.prepare([AUDIT_LANES])
  const sequences = new Map<number, number>()
  const events = {
    heads: async (_: unknown, lanes: readonly number[]) =>
      lanes.map((lane) => (sequences.has(lane) ? { sequence: sequences.get(lane) } : undefined)),
  } as unknown as EventStore // ChainPool ask for the places of heads, and for nothing else.
  const found = (lane: number) => storage.insert(AUDIT_LANES.name, [{ id: lane, body: new Uint8Array(1) }])
  return { lanes: createChainPool(storage, events, entropy), storage, sequences, found }
}

/** Uses so many lanes at once; answers which. */
async function useAtOnce(lanes: ChainPool, count: number): Promise<number[]> {
  return Promise.all(
    Array.from({ length: count }, () =>
      lanes.withChain(async (lane) => {
        await scheduler.turn()
        return lane
      }),
    ),
  )
}

test('an engine with one writer has one lane, and leaves it for a new one only when it is lost', async () => {
  const { lanes, storage, found } = await open('one at a time')
  expect(await useAtOnce(lanes, 3)).toEqual([1, 1, 1])
  expect((await lanes.lease(storage)).chain).toBe(1)
  await found(4)
  const tried: number[] = []
  await lanes.withChain(async (lane) => {
    tried.push(lane)
    if (tried.length < 3) throw CHAIN_CONFLICT
  })
  expect(tried).toEqual([1, 5, 6])
  expect(await useAtOnce(lanes, 2)).toEqual([6, 6])
})

test('law: nobody shares a lane, whoever fails, and there are never more than were used at once', async () => {
  const random = seededRandom('lanes')
  const { lanes } = await open()
  const used = new Set<number>()
  const ever = new Set<number>()
  const works = Array.from({ length: 500 }, async (_, n) => {
    for (let turns = Math.floor(n / 8); turns > 0; turns--) await scheduler.turn()
    const work = lanes.withChain(async (lane) => {
      expect(used.has(lane)).toBe(false)
      used.add(lane)
      ever.add(lane)
      for (let turns = Math.floor(random() * 4); turns > 0; turns--) await scheduler.turn()
      used.delete(lane)
      if (n % 7 === 0) throw new Error('changed my mind')
    })
    await work.catch(() => {})
  })
  await Promise.all(works)
  expect(ever.size).toBeLessThanOrEqual(40)
  expect(Math.max(...ever)).toBe(ever.size)
})

test('a lane whose head another process moved is left to it, and work runs again in another', async () => {
  const { lanes } = await open()
  const tried: number[] = []
  const lane = await lanes.withChain(async (own) => {
    tried.push(own)
    if (tried.length < 3) throw CHAIN_CONFLICT
    return own
  })
  expect(new Set(tried).size).toBe(3)
  expect(await useAtOnce(lanes, 1)).toEqual([lane])
})

test('work that cannot run again takes another lane itself, and that one is used again', async () => {
  const { lanes, storage } = await open()
  let runs = 0
  const kept = await lanes.withChain(async (lane, another) => {
    runs++
    expect([lane, await another(storage)]).toEqual([1, 2])
    return another(storage)
  })
  expect([runs, kept, ...(await useAtOnce(lanes, 1))]).toEqual([1, 3, 3])
})

test('work that fails for reasons of its own fails once, and its lane is used again', async () => {
  const { lanes } = await open()
  const conflict = new VaultError('conflict', '', { table: 'records_1_people' })
  let runs = 0
  const work = lanes.withChain(async () => {
    runs++
    throw conflict
  })
  await expect(work).rejects.toBe(conflict)
  expect(runs).toBe(1)
  expect(await useAtOnce(lanes, 1)).toEqual([1])
})

test('whoever loses every lane is told to try again', async () => {
  const { lanes } = await open()
  const work = lanes.withChain(async () => {
    throw CHAIN_CONFLICT
  })
  await expect(work).rejects.toMatchObject({ code: 'aborted' })
})

test('new lanes begin behind those that other processes have begun', async () => {
  const { lanes, found } = await open()
  await found(5)
  expect(await useAtOnce(lanes, 1)).toEqual([6])
})

test('of lanes that are very many none is begun any more, and one of them is used', async () => {
  const { lanes, found } = await open()
  await found(1500)
  for (const lane of await useAtOnce(lanes, 50)) {
    expect(lane).toBeGreaterThanOrEqual(1)
    expect(lane).toBeLessThanOrEqual(1500)
  }
})

test('a lent lane is nobody else’s until its events are seen to be stored', async () => {
  const { lanes, storage, sequences } = await open()
  const first = await lanes.lease(storage)
  first.appended(3)
  const second = await lanes.lease(storage)
  expect([first.chain, second.chain, ...(await useAtOnce(lanes, 1))]).toEqual([1, 2, 3])
  sequences.set(1, 2)
  expect((await lanes.lease(storage)).chain).toBe(3)
  sequences.set(1, 3)
  expect((await lanes.lease(storage)).chain).toBe(1)
})
