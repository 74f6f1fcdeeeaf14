/** Units of work: one outermost change each, events built for their outcome, and reads that cannot write. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { type EventDraft, SUCCESS } from '../../../src/core/audit/event.ts'
import type { Storage } from '../../../src/core/ports/storage.ts'
import { type RecordedChange, unitFactoryOf } from '../../../src/core/unit-of-work/unit-of-work.ts'
import { unrecordedUnits } from '../../../src/core/unit-of-work/unrecorded-units.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'

const TABLE = { name: 'things', columns: [{ name: 'n', type: 'integer' }], indexes: [] } as const
const KEYS = { generation: 1, lookupVersion: 1, roots: [] } as const
const draftOf = (code: number): EventDraft => ({ code }) as EventDraft // These tests look at the code alone.

async function opened() {
  const storage = memoryStorage()
  await storage.prepare([TABLE])
  const stored: EventDraft[] = []
  const units = unitFactoryOf(
    {
      storage,
      async insert(batches, { build }) {
        for (const { table, rows } of batches) await storage.insert(table, rows)
        stored.push(build(SUCCESS))
      },
      change: <T>(work: (inner: Storage) => Promise<T>, { build }: RecordedChange) =>
        storage.transaction(async (inner) => {
          const result = await work(inner)
          stored.push(build(SUCCESS))
          return result
        }),
      record: async (event) => void stored.push(event),
    },
    { keys: KEYS, assertKnownFormat() {}, reload: async () => {} },
  )
  return { storage, stored, units }
}

describe('a recorded unit', () => {
  it('stores one event with its change, and says so', async () => {
    const { units, stored } = await opened()
    const unit = units.begin(
      () =>
        ({ code }) =>
          draftOf(code),
    )
    expect(unit.isRecorded).toBe(false)
    await unit.change(async ({ storage }) => storage.insert('things', [{ id: 1, n: 1 }]))
    expect(unit.isRecorded).toBe(true)
    expect(stored).toEqual([draftOf(200)])
  })

  it.each(['insert', 'change'] as const)(
    'refuses a second outermost change by %s, because two would be two events',
    async (how) => {
      const { units, stored, storage } = await opened()
      const unit = units.begin(
        () =>
          ({ code }) =>
            draftOf(code),
      )
      const write = (id: number) =>
        how === 'insert'
          ? unit.insert([{ table: 'things', rows: [{ id, n: 1 }] }])
          : unit.change(async (inner) => inner.insert([{ table: 'things', rows: [{ id, n: 1 }] }]))
      await write(1)
      await expect(write(2)).rejects.toMatchObject({ code: 'internal' })
      expect(stored).toHaveLength(1)
      expect(await storage.get('things', [1, 2])).toMatchObject([{ id: 1 }, undefined])
    },
  )

  it('is not recorded by a change that fails, and can then record the failure alone', async () => {
    const { units, stored } = await opened()
    const unit = units.begin(
      () =>
        ({ code }) =>
          draftOf(code),
    )
    await expect(unit.change(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    expect(unit.isRecorded).toBe(false)
    await unit.record({ code: 500, message: '' })
    expect(stored).toEqual([draftOf(500)])
  })

  it('calls `open` at once, before anything can wait', async () => {
    const { units } = await opened()
    let isOpened = false
    units.begin(() => {
      isOpened = true
      return ({ code }) => draftOf(code)
    })
    expect(isOpened).toBe(true)
  })
})

it('an unrecorded unit never builds an event, and a nested change that is caught rolls back alone', async () => {
  const storage = memoryStorage()
  await storage.prepare([TABLE])
  const { outer } = unrecordedUnits({
    storage,
    scheduler: SYSTEM_PORTS.scheduler,
    clock: SYSTEM_PORTS.clock,
    isAlone: () => true,
    catalog: { keys: KEYS, isCurrent: async () => true, assertKnownFormat() {} },
    trackReads: undefined,
  })
  const unit = outer.begin(() => {
    throw new Error('no event is to be built')
  })
  await unit.change(async (inner) => {
    await inner.insert([{ table: 'things', rows: [{ id: 1, n: 1 }] }])
    const failed = inner.change(async (deeper) => {
      await deeper.insert([{ table: 'things', rows: [{ id: 2, n: 1 }] }])
      throw new Error('refused')
    })
    await expect(failed).rejects.toThrow('refused')
  })
  await unit.record(SUCCESS)
  expect(await storage.get('things', [1, 2])).toMatchObject([{ id: 1 }, undefined])
})
