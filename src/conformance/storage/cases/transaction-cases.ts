/** Clause T: a transaction is stored whole or not at all, nests, and hides what is not committed. */

import { isVaultError } from '../../../core/errors.ts'
import type { Storage } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects, rejectionOf } from '../../assert.ts'
import {
  ALL,
  above,
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

const committing: readonly StorageCase[] = [
  storageCase(
    'T1 a transaction returns the result of work, and its changes are stored',
    [THINGS],
    async ({ storage, another }) => {
      const result = { some: 'object' }
      const given = await storage.transaction(async (inner) => {
        await inner.insert('things', [{ id: 1, n: 5 }])
        await inner.update('things', [{ id: 1, version: 1, set: { n: 6 } }])
        return result
      })
      assert(given === result, 'the very object work returned should come out')
      assertEqual((await rowOf(await another(), 'things', 1)).n, 6)
    },
  ),
  storageCase('T2 a throw rolls back inserts, updates and deletes', [KEYED], async ({ storage }) => {
    await storage.insert('keyed', [
      { id: 1, email: 'a@x', color: 'red' },
      { id: 2, email: 'b@x', color: 'red' },
    ])
    const before = await storage.find('keyed', EVERY, ALL)
    await rolledBack(storage, changeEverything)
    assertEqual(await storage.find('keyed', EVERY, ALL), before)
    assertEqual(await idsFound(storage, 'keyed', equal('color', 'red')), [1, 2])
    assertEqual(await idsFound(storage, 'keyed', equal('email', 'changed@x')), [])
    await assertRejects(storage.insert('keyed', [{ id: 4, email: 'b@x' }]), 'conflict')
  }),
  storageCase('T3 a thrown value is rethrown as it is, even if it is not an Error', [THINGS], async ({ storage }) => {
    const thrown = Object.freeze({ odd: true })
    const rejection = await rejectionOf(
      storage.transaction(async () => {
        throw thrown
      }),
    )
    assert(rejection === thrown, 'the very object should come out')
  }),
  storageCase('T4 inside, all reads see what the transaction did', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2]))
    await storage.transaction(async (inner) => {
      await inner.insert('things', [{ id: 3, n: 9 }])
      await inner.update('things', [{ id: 1, version: 1, set: { n: 9 } }])
      await inner.delete('things', { ids: [2] })
      assertEqual((await inner.get('things', [1, 2, 3])).map((row) => row?.n), [9, undefined, 9]) // biome-ignore format: one line
      assertEqual(await idsFound(inner, 'things', equal('n', 9)), [1, 3])
      assertEqual(await inner.aggregate('things', EVERY, COUNT), [2])
      assertEqual(await inner.delete('things', { filter: equal('n', 9) }), [1, 3])
    })
    assertEqual(await idsFound(storage, 'things', EVERY), [])
  }),
  storageCase('T5 a conflict inside rolls back the whole transaction', [KEYED], async ({ storage }) => {
    await storage.insert('keyed', [{ id: 1, email: 'a@x' }])
    const transaction = storage.transaction(async (inner) => {
      await inner.insert('keyed', [{ id: 2, email: 'b@x' }])
      await inner.insert('keyed', [{ id: 3, email: 'a@x' }])
    })
    const error = await assertRejects(transaction, 'conflict')
    assertEqual(error.details[0]?.columns, ['email'])
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1])
  }),
  storageCase('T6 after a transaction that failed the next ones work', [KEYED], async ({ storage }) => {
    for (const id of numbers(1, 10)) {
      await rolledBack(storage, (inner) => inner.insert('keyed', [{ id, number: id }]))
      await storage.transaction((inner) => inner.insert('keyed', [{ id, number: id }]))
    }
    assertEqual(await idsFound(storage, 'keyed', above('number', 0)), numbers(1, 10))
  }),
  storageCase('T7 ids reserved in a rolled-back transaction cause no conflict later', [THINGS], async ({ storage }) => {
    await rolledBack(storage, async (inner) => {
      await inner.insert('things', rowsWithIds(await inner.reserveIds('things', 3)))
    })
    for (let round = 0; round < 3; round++) await storage.insert('things', rowsWithIds(await storage.reserveIds('things', 3)))
    assertEqual(await storage.aggregate('things', EVERY, COUNT), [9])
  }),
]

const nesting: readonly StorageCase[] = [
  storageCase('T8 a nested transaction that succeeds is stored with the outer one', [THINGS], async ({ storage }) => {
    const result = await storage.transaction(async (outer) => {
      await outer.insert('things', [{ id: 1 }])
      const given = await outer.transaction(async (inner) => {
        await inner.insert('things', [{ id: 2 }])
        return idsFound(inner, 'things', EVERY)
      })
      await outer.insert('things', [{ id: 3 }])
      return given
    })
    assertEqual(result, [1, 2])
    assertEqual(await idsFound(storage, 'things', EVERY), [1, 2, 3])
  }),
  storageCase('T9 a nested throw rolls back the nested work only', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 9, n: 0 }])
    await storage.transaction(async (outer) => {
      await outer.update('things', [{ id: 9, version: 1, set: { n: 1 } }])
      await rolledBack(outer, async (inner) => {
        await inner.update('things', [{ id: 9, version: 2, set: { n: 2 } }])
        await inner.insert('things', [{ id: 1 }])
      })
      assertEqual((await rowOf(outer, 'things', 9)).n, 1)
      await outer.insert('things', [{ id: 2 }])
    })
    assertEqual(await idsFound(storage, 'things', EVERY), [2, 9])
    const row = await rowOf(storage, 'things', 9)
    assertEqual([row.version, row.n], [2, 1])
  }),
  storageCase('T10 an outer throw rolls back nested work that succeeded', [THINGS], async ({ storage }) => {
    await rolledBack(storage, (outer) => outer.transaction((inner) => inner.insert('things', [{ id: 1 }])))
    assertEqual(await idsFound(storage, 'things', EVERY), [])
  }),
  storageCase('T11 transactions nest three deep', [THINGS], async ({ storage }) => {
    await storage.transaction(async (one) => {
      await one.insert('things', [{ id: 1 }])
      await rolledBack(one, async (two) => {
        await two.insert('things', [{ id: 2 }])
        await two.transaction((three) => three.insert('things', [{ id: 3 }]))
      })
      await one.transaction(async (two) => {
        await two.insert('things', [{ id: 4 }])
        await rolledBack(two, (three) => three.insert('things', [{ id: 5 }]))
      })
    })
    assertEqual(await idsFound(storage, 'things', EVERY), [1, 4])
  }),
  storageCase('T12 a conflict caught outside its nested transaction leaves the outer one alive', [KEYED], async ({ storage }) => {
    await storage.transaction(async (outer) => {
      await outer.insert('keyed', [{ id: 1, email: 'a@x' }])
      const nested = outer.transaction((inner) => inner.insert('keyed', [{ id: 2, email: 'a@x' }]))
      await assertRejects(nested, 'conflict')
      await outer.insert('keyed', [{ id: 3, email: 'c@x' }])
    })
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1, 3])
  }),
]

/** Asserts that every method of a storage whose transaction has ended rejects. */
async function assertEnded(ended: Storage | undefined): Promise<void> {
  assert(ended !== undefined, 'work should have been called')
  await assertRejects(ended.get('things', [1]), 'internal', 'get after the end')
  await assertRejects(ended.find('things', EVERY, ALL), 'internal', 'find after the end')
  await assertRejects(ended.aggregate('things', EVERY, COUNT), 'internal', 'aggregate after the end')
  await assertRejects(ended.insert('things', [{ id: 99 }]), 'internal', 'insert after the end')
  await assertRejects(ended.update('things', [{ id: 1, version: 1, set: {} }]), 'internal', 'update after the end')
  await assertRejects(ended.delete('things', { ids: [1] }), 'internal', 'delete after the end')
  await assertRejects(ended.reserveIds('things', 1), 'internal', 'reserveIds after the end')
  await assertRejects(
    ended.transaction(async () => {}),
    'internal',
    'transaction after the end',
  )
}

const ending: readonly StorageCase[] = [
  storageCase('T13 the storage of a committed transaction refuses every call', [THINGS], async ({ storage }) => {
    let kept: Storage | undefined
    await storage.transaction(async (inner) => {
      kept = inner
      await inner.insert('things', [{ id: 1 }])
    })
    await assertEnded(kept)
    assertEqual(await idsFound(storage, 'things', EVERY), [1])
  }),
  storageCase('T14 the storage of a rolled-back transaction refuses every call', [THINGS], async ({ storage }) => {
    let kept: Storage | undefined
    await rolledBack(storage, async (inner) => {
      kept = inner
    })
    await assertEnded(kept)
    assertEqual(await idsFound(storage, 'things', EVERY), [])
  }),
  storageCase(
    'T15 the storage of an ended nested transaction refuses while the outer one goes on',
    [THINGS],
    async ({ storage }) => {
      await storage.transaction(async (outer) => {
        let kept: Storage | undefined
        await outer.transaction(async (inner) => {
          kept = inner
        })
        await assertEnded(kept)
        await outer.insert('things', [{ id: 1 }])
      })
      assertEqual(await idsFound(storage, 'things', EVERY), [1])
    },
  ),
]

/** A nested transaction that is not awaited, and that continues until one of its calls is refused. */
interface Straggler {
  readonly storage: Storage
  /** Rows whose insert resolved. */
  readonly written: readonly number[]
  /** The error of its refused call; rejects where no call was refused. */
  readonly refusal: Promise<unknown>
  /** How the nested transaction ended. */
  readonly outcome: Promise<'kept' | 'rolled back'>
}

const MAX_STEPS = 500

/** Starts a straggler that writes rows from `first` on, half of them one level deeper, and resolves when the first is written. */
async function startStraggler(outer: Storage, first: number): Promise<Straggler> {
  const written: number[] = []
  let start: (begun: Pick<Straggler, 'storage' | 'refusal'>) => void = () => {}
  const begun = new Promise<Pick<Straggler, 'storage' | 'refusal'>>((resolve) => {
    start = resolve
  })
  const nested = outer.transaction(async (inner) => {
    const refusal = rejectionOf(writeOn(inner, first, written), 'a call after the end of the transaction around it')
    refusal.catch(() => {})
    start({ storage: inner, refusal })
    await refusal
  })
  const outcome = nested.then(
    () => 'kept' as const,
    () => 'rolled back' as const,
  )
  return { ...(await begun), written, outcome }
}

async function writeOn(storage: Storage, first: number, written: number[]): Promise<void> {
  for (const id of numbers(first, MAX_STEPS)) {
    if (id % 2 === 0) await storage.insert('things', [{ id }])
    else await storage.transaction((storage) => storage.insert('things', [{ id }]))
    written.push(id)
    await breath()
  }
}

/** Waits one turn of the event loop, so that other work runs beside a synchronous storage. */
async function breath(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

/** Waits until a straggler's first rows are written, as far as its transaction can see. */
async function somethingWritten({ written }: Straggler): Promise<void> {
  while (written.length < 3) await breath()
}

async function assertRefused({ storage, refusal }: Straggler): Promise<void> {
  assert(
    isVaultError(await refusal, 'internal'),
    'a call after the end of the transaction around it should be refused with internal',
  )
  await assertEnded(storage)
}

const straggling: readonly StorageCase[] = [
  storageCase(
    'T20 a nested transaction still running when its parent rolls back leaves nothing, and is refused from then on',
    [THINGS],
    async ({ storage, another }) => {
      const stragglers: Straggler[] = []
      await rolledBack(storage, async (outer) => {
        const straggler = await startStraggler(outer, 1)
        stragglers.push(straggler)
        await somethingWritten(straggler)
      })
      for (const straggler of stragglers) {
        await assertRefused(straggler)
        assertEqual(await straggler.outcome, 'rolled back')
      }
      assertEqual(stragglers.length, 1)
      assertEqual(await idsFound(await another(), 'things', EVERY), [])
    },
  ),
  storageCase(
    'T21 a nested transaction still running when its parent commits is stored whole or not at all, and is refused from then on',
    [THINGS],
    async ({ storage, another }) => {
      const straggler = await storage.transaction(async (outer) => {
        await outer.insert('things', [{ id: 1 }])
        const straggler = await startStraggler(outer, 2)
        await somethingWritten(straggler)
        return straggler
      })
      await assertRefused(straggler)
      const kept = (await straggler.outcome) === 'kept' ? straggler.written : []
      assertEqual(await idsFound(await another(), 'things', EVERY), [1, ...kept])
    },
  ),
  storageCase(
    'T22 a transaction with a nested one that is not awaited does not affect concurrent ones',
    [THINGS],
    async ({ storage }) => {
      const pair = async (inner: Storage, id: number) => {
        await inner.insert('things', [{ id }])
        await inner.transaction((inner) => inner.insert('things', [{ id: 100 + id }]))
      }
      const forgetful = (id: number) =>
        rolledBack(storage, async (outer) => {
          await Promise.allSettled([outer.get('things', [id]), startStraggler(outer, MAX_STEPS * id)])
        })
      await Promise.all(
        numbers(1, 32).map((id) => (id % 2 === 0 ? forgetful(id) : storage.transaction((inner) => pair(inner, id)))),
      )
      const odd = numbers(1, 32).filter((id) => id % 2 === 1)
      assertEqual(await idsFound(storage, 'things', EVERY), [...odd, ...odd.map((id) => 100 + id)])
    },
  ),
]

export const transactionCases: readonly StorageCase[] = [...committing, ...nesting, ...ending, ...straggling]
