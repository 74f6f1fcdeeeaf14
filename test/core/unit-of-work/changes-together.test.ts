/** Several changes as one: prepared before it, stored in it in order, and gone on with after it. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { Storage } from '../../../src/core/ports/storage.ts'
import { type ChangePart, changeTogether, PREPARED_TOO_EARLY } from '../../../src/core/unit-of-work/changes-together.ts'
import { type Batch, type UnitOfWork, unitWithin } from '../../../src/core/unit-of-work/unit-of-work.ts'

const TABLE = { name: 'things', columns: [], indexes: [] } as const

/** A unit, and what happens to it in order. */
async function open() {
  const storage = memoryStorage()
  await storage.prepare([TABLE])
  const log: string[] = []
  const unit: UnitOfWork = {
    ...unitWithin(storage),
    async change(work) {
      log.push('begin')
      const result = await storage.transaction((inner) => work(unitWithin(inner)))
      log.push('commit')
      return result
    },
  }
  const ids = async () => (await storage.find('things', { kind: 'all' }, { order: 'asc', limit: 10 })).map(({ id }) => id)
  const inserting =
    (id: number): ChangePart<number> =>
    async (on) => {
      log.push(`prepare ${id}`)
      await on.insert([{ table: 'things', rows: [{ id }] }])
      log.push(`go on ${id}`)
      return id
    }
  const last = { end: () => void log.push('last'), pace: { worked: async () => void log.push('turn') } }
  return { unit, log, ids, inserting, last }
}

it('prepares the parts, stores them in one change, and lets them go on after it, with a turn before each', async () => {
  const { unit, log, ids, inserting, last } = await open()
  const counting: ChangePart<number> = (on) =>
    on.change(async ({ storage }) => {
      log.push('change')
      return (await storage.get('things', [1, 2])).length
    })
  expect(await changeTogether(unit, [inserting(1), counting, inserting(2)], last)).toEqual([1, 2, 2])
  expect(log).toEqual([
    'prepare 1',
    'prepare 2',
    'begin',
    'change',
    'last',
    'commit',
    'turn',
    'go on 1',
    'turn',
    'turn',
    'go on 2',
  ])
  expect(await ids()).toEqual([1, 2])
})

it('inserts the rows of parts that only insert together, before the others', async () => {
  const { unit, log, ids, inserting, last } = await open()
  const counting: ChangePart<number> = (on) =>
    on.change(async ({ storage }) => (await storage.find('things', { kind: 'all' }, { order: 'asc', limit: 10 })).length)
  const around = {
    ...last,
    async insert(on: UnitOfWork<Storage>, batches: readonly Batch[]) {
      log.push(`insert ${batches.map(({ table, rows }) => `${rows.length} ${table}`)}`)
      await on.insert(batches)
    },
  }
  expect(await changeTogether(unit, [inserting(1), counting, inserting(2)], around)).toEqual([1, 2, 2])
  const goOn = ['turn', 'go on 1', 'turn', 'turn', 'go on 2']
  expect(log).toEqual(['prepare 1', 'prepare 2', 'begin', 'insert 2 things', 'last', 'commit', ...goOn])
  expect(await ids()).toEqual([1, 2])
})

it('inserts the rows of parts within a part together with those of the others', async () => {
  const { unit, log, ids, inserting, last } = await open()
  const deleting: ChangePart<number> = (on) =>
    on.change(async ({ storage }) => (await storage.delete('things', { ids: [1, 2, 3] })).length)
  const around = (name: string) => ({
    ...last,
    async insert(on: UnitOfWork<Storage>, batches: readonly Batch[]) {
      log.push(`${name} ${batches.map(({ rows }) => rows.map(({ id }) => id))}`)
      await on.insert(batches)
    },
  })
  const within: ChangePart<number> = async (on) => {
    const results = await changeTogether(on, [deleting, inserting(2)], around('within'))
    return results.length
  }
  expect(await changeTogether(unit, [inserting(1), within, inserting(3)], around('all'))).toEqual([1, 2, 3])
  expect(log.filter((entry) => /begin|all|within|commit/.test(entry))).toEqual(['begin', 'all 1,2,3', 'commit'])
  expect(await ids()).toEqual([])
})

it('throws the error of a part while it prepares, with nothing stored', async () => {
  const { unit, log, ids, inserting, last } = await open()
  const failing = (): Promise<number> => Promise.reject(new Error('mine'))
  await expect(changeTogether(unit, [inserting(1), failing, inserting(2)], last)).rejects.toThrow('mine')
  expect(log).toEqual(['prepare 1'])
  expect(await ids()).toEqual([])
})

it('throws what a part says of its error, with nothing stored', async () => {
  const { unit, ids, inserting, last } = await open()
  const explaining: ChangePart<number> = (on) =>
    inserting(1)(on).catch(({ code }) => {
      throw new Error(`it is a ${code}`)
    })
  await expect(changeTogether(unit, [inserting(1), explaining, inserting(2)], last)).rejects.toThrow('it is a conflict')
  expect(await ids()).toEqual([])
})

it('throws that it was too early if a part wants to store again, or stores nothing', async () => {
  const { unit, ids, inserting, last } = await open()
  const again: ChangePart<number> = (on) => inserting(1)(on).catch(() => inserting(3)(on))
  await expect(changeTogether(unit, [inserting(1), again], last)).rejects.toBe(PREPARED_TOO_EARLY)
  await expect(changeTogether(unit, [inserting(1), async () => 0], last)).rejects.toBe(PREPARED_TOO_EARLY)
  expect(await ids()).toEqual([])
})

it('throws the error of the change itself', async () => {
  const { unit, inserting, last } = await open()
  const ending: UnitOfWork = { ...unit, change: (work) => unit.change(work).then(() => Promise.reject(new Error('lost'))) }
  await expect(changeTogether(ending, [inserting(1), inserting(2)], last)).rejects.toThrow('lost')
})
