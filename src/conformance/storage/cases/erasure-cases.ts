/** Cases of erasing from disk: clause E. What leaves the files is tested by their bytes, engine by engine; here, what a purge may not do. */
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import { ALL, EVERY, numbers, rowsWithIds, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const QUIET = { full: false, onStep: async () => {} }

export const erasureCases: readonly StorageCase[] = [
  storageCase(
    'E1 a purge keeps the rows, says what it did and what remains, and reports its steps',
    [THINGS],
    async (fixture) => {
      const { storage } = fixture
      const other = await fixture.another()
      await storage.insert('things', rowsWithIds(numbers(1, 50)))
      await storage.delete('things', { ids: numbers(1, 40) })
      const before = await storage.find('things', EVERY, ALL)
      for (const full of [false, true]) {
        const steps: number[] = []
        const onStep = async ({ done, total }: { readonly done: number; readonly total: number }) => void steps.push(done, total)
        const { done, remains } = await storage.purgeDisk({ full, onStep })
        assert(remains.length > 0, 'something remains in every case')
        for (const { what, text } of [...done, ...remains]) assert(/^[a-z-]+$/.test(what) && /^[A-Z0-9].*\.$/.test(text), text)
        const [last, total] = steps.slice(-2)
        assertEqual(last, total, 'the last step')
      }
      assertEqual(await storage.find('things', EVERY, ALL), before)
      assertEqual(await other.find('things', EVERY, ALL), before)
      await other.insert('things', rowsWithIds([60]))
    },
  ),
  storageCase('E2 a purge is refused inside a transaction, which goes on', [THINGS], async ({ storage }) => {
    await storage.transaction(async (inner) => {
      await inner.insert('things', rowsWithIds([1]))
      await assertRejects(storage.purgeDisk(QUIET), 'internal')
    })
    assertEqual((await storage.get('things', [1]))[0]?.id, 1)
  }),
  storageCase('E3 what a step throws ends the purge, as the same object', [THINGS], async ({ storage }) => {
    const thrown = new Error('enough')
    let steps = 0
    const onStep = async () => {
      steps++
      throw thrown
    }
    // One that has no steps ends well.
    const ended = await storage.purgeDisk({ full: false, onStep }).then(
      () => undefined,
      (error: unknown) => error,
    )
    assert(steps === 0 || (steps === 1 && ended === thrown), 'a purge should end with what its step threw')
    await storage.insert('things', rowsWithIds([1]))
  }),
]
