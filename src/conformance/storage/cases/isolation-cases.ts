/** Callers side by side. Clause T: what transactions see of each other, and await; R: a race for one key has one winner. */
import { isVaultError } from '../../../core/errors.ts'
import type { PhysicalTable, Storage } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import {
  ALL,
  COUNT,
  changeEverything,
  EVERY,
  equal,
  idsFound,
  KEYED,
  numbers,
  rolledBack,
  rowOf,
  rowsWithIds,
  THINGS,
} from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

/** Ids rise in the order of commits. */
const ORDERED: PhysicalTable = { name: 'ordered', columns: [], indexes: [], isOrdered: true }

export const isolationCases: readonly StorageCase[] = [
  storageCase('T16 no reader outside sees what a transaction then rolls back', [KEYED], async ({ storage, another }) => {
    await storage.insert('keyed', [
      { id: 1, email: 'a@x', number: 1 },
      { id: 2, email: 'b@x', number: 2 },
    ])
    const before = await storage.find('keyed', EVERY, ALL)
    const outside = [storage, await another()]
    // The readers start inside and are awaited after the end: an engine may return the committed state or make them wait.
    const readings: Promise<unknown>[] = []
    await rolledBack(storage, async (inner) => {
      await changeEverything(inner)
      for (const reader of outside) {
        readings.push(reader.find('keyed', EVERY, ALL).then((rows) => assertEqual(rows, before, 'find')))
        readings.push(reader.get('keyed', [1, 2, 3]).then((rows) => assertEqual(rows, [...before, undefined], 'get')))
        readings.push(idsFound(reader, 'keyed', equal('email', 'b@x')).then((ids) => assertEqual(ids, [2], 'find by index')))
        readings.push(idsFound(reader, 'keyed', equal('email', 'changed@x')).then((ids) => assertEqual(ids, [], 'find changed')))
        readings.push(reader.aggregate('keyed', EVERY, COUNT).then((cells) => assertEqual(cells, [2], 'aggregate')))
      }
      for (let pause = 0; pause < 5; pause++) await inner.get('keyed', [1])
    })
    await Promise.all(readings)
  }),
  storageCase('T17 outside, a committed transaction is seen whole', [THINGS], async ({ storage, another }) => {
    const reader = await another()
    const writing = storage.transaction(async (inner) => {
      for (const id of numbers(1, 10)) await inner.insert('things', [{ id }])
    })
    const counts = await Promise.all(numbers(0, 20).map(() => reader.aggregate('things', EVERY, COUNT)))
    await writing
    assert(
      counts.every(([count]) => count === 0 || count === 10),
      'a reader should see none of the rows or all',
    )
    assertEqual(await reader.aggregate('things', EVERY, COUNT), [10])
  }),
  storageCase(
    'T18 of 64 concurrent transactions that read and increment one counter, none is lost',
    [THINGS],
    async ({ storage, another }) => {
      await storage.insert('things', [{ id: 1, n: 0 }])
      const handles = [storage, await another()]
      await Promise.all(numbers(0, 64).map((each) => raise(handles[each % 2] ?? storage)))
      const row = await rowOf(storage, 'things', 1)
      assertEqual([row.version, row.n], [65, 64])
    },
  ),
  storageCase('T19 of 64 transactions at once those that throw leave nothing', [THINGS], async ({ storage }) => {
    const insertPair = async (inner: Storage, id: number) => {
      await inner.insert('things', [{ id }])
      await inner.insert('things', [{ id: 1000 + id }])
    }
    await Promise.all(
      numbers(1, 64).map((id) =>
        id % 2 === 0
          ? storage.transaction((inner) => insertPair(inner, id))
          : rolledBack(storage, (inner) => insertPair(inner, id)),
      ),
    )
    const even = numbers(1, 64).filter((id) => id % 2 === 0)
    assertEqual(await idsFound(storage, 'things', EVERY), [...even, ...even.map((id) => 1000 + id)])
  }),
  storageCase(
    'T23 a locked table shows what earlier writers commit, and later writers wait',
    [THINGS],
    async ({ storage, another }) => {
      const [other, third] = [await another(), await another()]
      const [written, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const [locked, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const earlier = storage.transaction(async (inner) => {
        await inner.insert('things', [{ id: 1 }])
        written.resolve()
        await mayCommit.promise
      })
      await reached(written.promise, earlier)
      const locking = other.transaction(async (inner) => {
        assertEqual(await inner.lock({ kind: 'tables', tables: ['things'] }), true)
        const before = await inner.aggregate('things', EVERY, COUNT)
        locked.resolve()
        await mayEnd.promise
        return [...before, ...(await inner.aggregate('things', EVERY, COUNT))]
      })
      const isLocked = reached(locked.promise, locking)
      for (let pause = 0; pause < 20; pause++) await third.get('things', [1])
      mayCommit.resolve()
      await earlier
      await isLocked
      const later = third.insert('things', [{ id: 2 }])
      for (let pause = 0; pause < 20; pause++) await storage.get('things', [1])
      mayEnd.resolve()
      assertEqual(await locking, [1, 1])
      await later
      assertEqual(await idsFound(storage, 'things', EVERY), [1, 2])
    },
  ),
  storageCase('T24 an id that a transaction locks can be locked by no other until it ends', [KEYED, THINGS], async (env) => {
    const { storage } = env
    const other = await env.another()
    const locks = (from: Storage) =>
      from.transaction((inner) =>
        lockAll(inner, [
          ['things', 7],
          ['things', 8],
          ['keyed', 7],
        ]),
      )
    const [locked, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = storage.transaction(async (inner) => {
      const first = await lockAll(inner, [
        ['things', 7],
        ['things', 7],
      ])
      locked.resolve()
      if (storage.transactions === 'concurrent') await mayEnd.promise
      return first
    })
    await reached(locked.promise, holding)
    if (storage.transactions === 'concurrent') {
      assertEqual(await locks(other), [false, true, true], 'while it is locked')
      // The lock is an agreement of those who try it, and stops no writer.
      await other.insert('things', [{ id: 7 }])
      const commit = { updates: [{ table: 'things', patches: [{ id: 7, version: 1, set: {} }] }], inserts: [] }
      assertEqual(await other.commit(commit), false, 'a commit that patches it')
    }
    mayEnd.resolve()
    assertEqual(await holding, [true, true])
    assertEqual(await locks(other), [true, true, true], 'after the end')
    await rolledBack(storage, async (inner) => assertEqual(await lockAll(inner, [['things', 7]]), [true]))
    assertEqual(await locks(other), [true, true, true], 'after a rollback')
  }),
  storageCase('T25 a handle that may not turn says so inside its own transactions alone', [THINGS], async ({ storage }) => {
    assertEqual(storage.mayTurn(), true, 'before')
    const inside: boolean[] = []
    const look = async (inner: Storage): Promise<void> => {
      inside.push(storage.mayTurn())
      await inner.find('things', EVERY, ALL)
      inside.push(storage.mayTurn())
      await inner.transaction(async () => void inside.push(storage.mayTurn()))
    }
    await storage.transaction(look)
    assertEqual(new Set(inside).size, 1, 'the number of different answers inside')
    inside.length = 0
    await storage.transaction(look, { takesTurns: true })
    assertEqual(inside, [true, true, true], 'inside one that takes turns')
    assertEqual(storage.mayTurn(), true, 'after')
  }),
  storageCase(
    'T26 rows that a transaction locks are written by no other until it ends',
    [THINGS],
    async ({ storage, another }) => {
      if (storage.transactions === 'serial') return
      const other = await another()
      await storage.insert('things', [{ id: 1 }, { id: 2 }, { id: 3 }])
      const [locked, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const holding = storage.transaction(async (inner) => {
        assertEqual(await inner.lock({ kind: 'rows', table: 'things', ids: [2, 9, 1, 2] }), true)
        assertEqual(await inner.lock({ kind: 'rows', table: 'things', ids: [] }), true)
        locked.resolve()
        await mayEnd.promise
        return inner.update('things', [{ id: 1, version: 1, set: { n: 10 } }])
      })
      await reached(locked.promise, holding)
      assertEqual(await other.update('things', [{ id: 3, version: 1, set: { n: 30 } }]), [true], 'a row that is not locked')
      const waiting = other.update('things', [{ id: 1, version: 1, set: { n: 11 } }])
      // Time in which an update that does not wait is made.
      for (let read = 0; read < 10; read++) await other.get('things', [1])
      mayEnd.resolve()
      assertEqual(await holding, [true], 'the one that locked the row')
      assertEqual(await waiting, [false], 'the one that waited')
    },
  ),
  storageCase(
    'T27 of a transaction that read a row and another writer that then changes it, only the first to write does',
    [THINGS],
    async ({ storage, another }) => {
      const other = await another()
      await storage.insert('things', [{ id: 1, n: 0 }])
      const hasRead = Promise.withResolvers<void>()
      const row = { id: 1, version: 1 }
      // Begun outside, so that it belongs to no transaction.
      const writing = hasRead.promise.then(() => other.update('things', [{ ...row, set: { n: 7 } }]))
      const written = await storage
        .transaction(
          async (inner) => {
            assertEqual((await rowOf(inner, 'things', 1)).version, 1, 'get')
            assertEqual(await inner.find('things', EVERY, { ...ALL, columns: [] }), [row], 'find without columns')
            hasRead.resolve()
            if (storage.transactions === 'concurrent') await writing
            return inner.update('things', [{ ...row, set: { n: 1 } }])
          },
          // Run again, it would read what the other has written.
          { runsOnce: true },
        )
        .catch((error: unknown) => {
          // What the case finds wrong inside is thrown as it is.
          if (!isVaultError(error)) throw error
          assert(error.code === 'aborted', 'a transaction that loses should be aborted, or its patch not apply')
          return [false]
        })
      assertEqual([...written, ...(await writing)], storage.transactions === 'concurrent' ? [false, true] : [true, false])
      assertEqual((await rowOf(storage, 'things', 1)).version, 2)
    },
  ),
  storageCase('T28 work that must run once is aborted by a deadlock at once', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }, { id: 2 }])
    const isConcurrent = storage.transactions === 'concurrent'
    const met = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let runs = 0
    const change = (each: number, ids: readonly number[]) =>
      storage
        .transaction(
          async (inner) => {
            runs++
            for (const id of ids) {
              await inner.update('things', [{ id, version: (await rowOf(inner, 'things', id)).version, set: { n: each } }])
              met[each]?.resolve()
              if (isConcurrent) await met[1 - each]?.promise
            }
          },
          { runsOnce: true },
        )
        .finally(() => met[each]?.resolve())
    const outcomes = await Promise.allSettled([change(0, [1, 2]), change(1, [2, 1])])
    const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    assertEqual([runs, failed.length], [2, isConcurrent ? 1 : 0], 'runs, and transactions that failed')
    for (const error of failed) assert(isVaultError(error, 'aborted'), 'the one that failed should be aborted')
  }),
  raceCase('R1 of 64 racing inserts of one text exactly one wins', (storage, id) =>
    storage.insert('keyed', [{ id, email: 'a@x' }]),
  ),
  raceCase('R2 of 64 racing inserts of one digest exactly one wins', (storage, id) =>
    storage.insert('keyed', [{ id, digest: new Uint8Array([1, 2, 3]) }]),
  ),
  raceCase('R3 of 64 racing transactions that insert one key exactly one wins', (storage, id) =>
    storage.transaction(async (inner) => {
      await inner.get('keyed', [id])
      await inner.insert('keyed', [{ id, realm: 'r', nick: 'n' }])
    }),
  ),
  storageCase('R4 racing inserts of one id give one winner', [KEYED], async ({ storage }) => {
    const winners = await winnersOf(16, (number) => storage.insert('keyed', [{ id: 1, number }]))
    assertEqual(winners.length, 1, 'the number of winners')
  }),
  storageCase('R5 racing patches to one unique value give one winner', [KEYED], async ({ storage }) => {
    await storage.insert(
      'keyed',
      numbers(1, 16).map((id) => ({ id })),
    )
    const winners = await winnersOf(16, (id) => storage.update('keyed', [{ id, version: 1, set: { email: 'a@x' } }]))
    assertEqual(winners.length, 1, 'the number of winners')
  }),
  storageCase(
    'R6 ids reserved at once, through several handles, are all different and rise',
    [THINGS],
    async ({ storage, another }) => {
      const handles = [storage, await another()]
      const lists = await Promise.all(numbers(1, 64).map((count) => (handles[count % 2] ?? storage).reserveIds('things', count)))
      for (const [at, list] of lists.entries()) {
        assertEqual(list.length, at + 1)
        assert(
          list.every((id, place) => Number.isSafeInteger(id) && id > (list[place - 1] ?? 0) && id < 2 ** 48),
          'ids should be positive, whole, rising, below 2^48',
        )
      }
      assertEqual(new Set(lists.flat()).size, (64 * 65) / 2, 'the number of different ids')
    },
  ),
  storageCase(
    'R7 ids are not given again after their rows are gone, nor by another handle',
    [THINGS],
    async ({ storage, another }) => {
      const first = await storage.reserveIds('things', 5)
      await storage.insert(
        'things',
        first.map((id) => ({ id })),
      )
      await storage.delete('things', { filter: EVERY })
      const second = await storage.reserveIds('things', 5)
      const third = await (await another()).reserveIds('things', 5)
      assertEqual(new Set([...first, ...second, ...third]).size, 15)
    },
  ),
  storageCase('R8 ids of one table say nothing of another', [THINGS, KEYED], async ({ storage }) => {
    const ids = await storage.reserveIds('things', 3)
    const others = await storage.reserveIds('keyed', 3)
    await storage.insert('things', [...ids].map((id) => ({ id }))) // biome-ignore format: one line
    await storage.insert('keyed', [...others].map((id) => ({ id }))) // biome-ignore format: one line
    assertEqual(await idsFound(storage, 'keyed', EVERY), others)
  }),
  storageCase(
    'R9 ids of an ordered table rise in the order of commits, where transactions are serial',
    [ORDERED],
    async ({ storage }) => {
      if (storage.transactions === 'concurrent') return
      const [early = 0, other = 0] = await storage.reserveIds('ordered', 2)
      const [late = 0] = await storage.reserveIds('ordered', 1)
      await storage.insert('ordered', rowsWithIds([late, other]))
      const error = await assertRejects(storage.insert('ordered', rowsWithIds([early])), 'conflict', 'an early id')
      assertEqual(error.details[0]?.columns, ['id'])
      const changes = { updates: [], inserts: [{ table: 'ordered', rows: rowsWithIds([early]) }] }
      await assertRejects(storage.commit(changes), 'conflict', 'an early id in a commit')
      const inside = await storage.transaction(async (inner) => {
        const ids = await inner.reserveIds('ordered', 3)
        for (const id of [...ids].reverse()) await inner.insert('ordered', rowsWithIds([id]))
        return ids
      })
      assertEqual(await idsFound(storage, 'ordered', EVERY), [other, late, ...inside])
    },
  ),
]

/** Waits for a point inside work. Throws what the work throws before it, so that a case fails with it, and does not wait forever. */
function reached(point: Promise<void>, work: Promise<unknown>): Promise<unknown> {
  const first = Promise.race([point, work])
  first.catch(() => {})
  return first
}

async function lockAll(storage: Storage, ids: readonly (readonly [table: string, id: number])[]): Promise<boolean[]> {
  const locked: boolean[] = []
  for (const [table, id] of ids) locked.push(await storage.lock({ kind: 'id', table, id }))
  return locked
}

/** Increments the counter in a transaction of its own, and retries where another transaction was first. */
async function raise(storage: Storage): Promise<void> {
  for (;;) {
    const done = await storage.transaction(async (inner) => {
      const { version, n } = await rowOf(inner, 'things', 1)
      const [applied] = await inner.update('things', [{ id: 1, version, set: { n: Number(n) + 1 } }])
      return applied
    })
    if (done === true) return
  }
}

/** Starts all inserts at once and returns the ids of those that succeeded; all others must be conflicts. */
async function winnersOf(count: number, insert: (id: number) => Promise<unknown>): Promise<number[]> {
  const outcomes = await Promise.allSettled(numbers(1, count).map(insert))
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled' || isVaultError(outcome.reason, 'conflict')) continue
    throw new Error(`a loser should get a conflict and gets ${String(outcome.reason)}`)
  }
  return numbers(1, count).filter((id) => outcomes[id - 1]?.status === 'fulfilled')
}

function raceCase(name: string, insert: (storage: Storage, id: number) => Promise<unknown>): StorageCase {
  return storageCase(name, [KEYED], async ({ storage, another }) => {
    const handles = [storage, await another()]
    const winners = await winnersOf(64, (id) => insert(handles[id % 2] ?? storage, id))
    assertEqual(winners.length, 1, 'the number of winners')
    assertEqual(await idsFound(storage, 'keyed', EVERY), winners)
  })
}
