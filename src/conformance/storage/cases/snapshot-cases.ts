/** Cases of snapshots and of raised counters: clause W, a copy of the whole. */
import {
  type Filter,
  MAX_ROW_ID,
  type Page,
  type PhysicalTable,
  type Snapshot,
  type StorageHandle,
} from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects, rejectionOf } from '../../assert.ts'
import { ALL, above, EVERY, equal, KEYED, numbers, rowsWithIds, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

/** What a copy must keep to the bit: a time in nanoseconds, and the ends of the range. */
const EXACT = [
  { id: 1, version: 7, n: 1_784_000_000_123_456_789n, r: 0.1, t: 'a\u0000b', b: new Uint8Array([0, 255]) },
  { id: 2, version: 1, n: -(2n ** 63n), r: -1.5e300, t: '', b: new Uint8Array(0) },
  { id: 3, version: 2 ** 40, n: null, r: null, t: null, b: null },
]

const columnsOf = (snapshot: Snapshot, table: string) =>
  snapshot.tables
    .find(({ name }) => name === table)
    ?.columns.map(({ name, type }) => `${name} ${type}`)
    .sort()

const nextId = (storage: StorageHandle, table: string): Promise<number> =>
  storage.snapshot(async ({ tables }) => tables.find(({ name }) => name === table)?.nextId ?? 0)

/** Two tables of which a case prepares one, so that the other is known by its snapshot alone. */
const LATER: PhysicalTable = { name: 'later', columns: [{ name: 'n', type: 'integer' }], indexes: [] }

export const snapshotCases: readonly StorageCase[] = [
  storageCase('W1 a snapshot lists the tables and their columns, by name', [THINGS, KEYED], async ({ storage }) => {
    await storage.snapshot(async (snapshot) => {
      assertEqual(
        snapshot.tables.map(({ name }) => name),
        ['keyed', 'things'],
      )
      assertEqual(columnsOf(snapshot, 'things'), ['b bytes', 'n integer', 'r real', 't text'])
    })
  }),
  storageCase('W2 an empty storage has no tables', [], async ({ storage }) => {
    assertEqual(await storage.snapshot(async ({ tables }) => tables), [])
  }),
  storageCase('W3 a snapshot reads tables that its handle did not prepare', [THINGS], async ({ storage, another }) => {
    const other = await another()
    await other.prepare([LATER])
    await other.insert('later', [{ id: 4, n: 1 }])
    await storage.snapshot(async (snapshot) => {
      assertEqual(columnsOf(snapshot, 'later'), ['n integer'])
      assertEqual(await snapshot.find('later', EVERY, ALL), [{ id: 4, version: 1, n: 1 }])
    })
  }),
  storageCase('W4 cells of every type, and versions, are as they were stored', [THINGS], async ({ storage }) => {
    await storage.insert('things', EXACT)
    await storage.snapshot(async (snapshot) => {
      assertEqual(await snapshot.find('things', EVERY, ALL), EXACT)
      assertEqual(await snapshot.get('things', [3, 9, 1]), [EXACT[2], undefined, EXACT[0]])
    })
  }),
  storageCase(
    'W5 what others write meanwhile is not seen, in any table or call',
    [THINGS, KEYED],
    async ({ storage, another }) => {
      const writer = await another()
      await storage.insert('things', rowsWithIds(numbers(1, 50)))
      await storage.insert('keyed', [{ id: 1, email: 'a@x' }])
      await storage.snapshot(async (snapshot) => {
        assertEqual((await snapshot.find('things', EVERY, { order: 'asc', limit: 10 })).length, 10)
        await writer.insert('things', rowsWithIds(numbers(51, 5)))
        await writer.update('things', [{ id: 20, version: 1, set: { t: 'changed' } }])
        await writer.delete('things', { ids: [30] })
        await writer.update('keyed', [{ id: 1, version: 1, set: { email: 'b@x' } }])
        const rest = await snapshot.find('things', EVERY, { order: 'asc', after: 10, limit: 1000 })
        assertEqual(
          rest.map(({ id, version, t }) => [id, version, t]),
          numbers(11, 40).map((id) => [id, 1, null]),
        )
        assertEqual((await snapshot.get('keyed', [1]))[0]?.email, 'a@x')
      })
      assertEqual((await storage.get('keyed', [1]))[0]?.email, 'b@x')
    },
  ),
  storageCase('W6 what is not committed is not seen', [THINGS], async ({ storage, another }) => {
    await storage.insert('things', [{ id: 1, t: 'before' }])
    const reader = await another()
    let arrive = (): void => {}
    let go = (): void => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const seen = new Promise<void>((resolve) => {
      go = resolve
    })
    const writing = storage.transaction(
      async (inner) => {
        await inner.update('things', [{ id: 1, version: 1, set: { t: 'after' } }])
        await inner.insert('things', [{ id: 2 }])
        arrive()
        await seen
      },
      { takesTurns: true },
    )
    await arrived
    try {
      const rows = await reader.snapshot((snapshot) => snapshot.find('things', EVERY, ALL))
      assertEqual(
        rows.map(({ id, t }) => [id, t]),
        [[1, 'before']],
      )
    } finally {
      go()
      await writing
    }
  }),
  storageCase('W7 filters, pages and aggregates are those of the storage', [THINGS], async ({ storage }) => {
    await storage.insert(
      'things',
      numbers(1, 3000).map((id) => ({ id, n: id % 7, b: new Uint8Array(300).fill(id) })),
    )
    await storage.snapshot(async ({ find, aggregate }) => {
      assertEqual(await aggregate('things', EVERY, [{ kind: 'count' }, { kind: 'max', column: 'id' }]), [3000, 3000])
      const ids = async (filter: Filter, page: Page) => (await find('things', filter, page)).map(({ id }) => id)
      assertEqual(await ids(EVERY, { order: 'asc', after: 1000, limit: 1200, columns: [] }), numbers(1001, 1200))
      assertEqual(await ids(equal('n', 0), { order: 'desc', limit: 2 }), [2996, 2989])
      assertEqual((await find('things', above('id', 2998), ALL)).length, 2)
    })
  }),
  storageCase('W8 an error of the work is rethrown as the same object', [THINGS], async ({ storage }) => {
    const reason = new Error('given up on purpose')
    const rejection = await rejectionOf(
      storage.snapshot(async ({ find }) => {
        await find('things', EVERY, ALL)
        throw reason
      }),
    )
    assert(rejection === reason, 'what work threw should come out as the very same object')
    await storage.insert('things', [{ id: 1 }])
    assertEqual((await storage.snapshot(({ find }) => find('things', EVERY, ALL))).length, 1)
  }),
  storageCase('W9 the next id is above all ids that were reserved', [THINGS], async ({ storage, another }) => {
    assert((await nextId(storage, 'things')) >= 1, 'the next id should be 1 at least')
    const ids = [...(await storage.reserveIds('things', 10)), ...(await (await another()).reserveIds('things', 10))]
    await storage.insert('things', rowsWithIds(ids.slice(0, 1)))
    const next = await nextId(storage, 'things')
    for (const id of ids) assert(next > id, `the next id should be above ${id} and is ${next}`)
  }),
  storageCase('W10 ids begin where they were raised to, on every handle', [THINGS], async ({ storage, another }) => {
    await storage.reserveIds('things', 3)
    await storage.raiseIds('things', 5_000_000)
    assert((await nextId(storage, 'things')) >= 5_000_000, 'the counter should have been raised')
    for (const handle of [storage, await another()]) {
      const [id] = await handle.reserveIds('things', 1)
      assert(id !== undefined && id >= 5_000_000, `the id should be 5000000 at least and is ${id}`)
    }
  }),
  storageCase('W11 a counter is never lowered', [THINGS], async ({ storage, another }) => {
    const ids = await storage.reserveIds('things', 5)
    await storage.raiseIds('things', 1)
    const later = await (await another()).reserveIds('things', 5)
    assertEqual(new Set([...ids, ...later]).size, 10)
    for (const id of later) assert((await nextId(storage, 'things')) > id, 'the counter should stay above all ids')
  }),
  storageCase('W12 a counter can be raised past the last id', [THINGS], async ({ storage }) => {
    await storage.raiseIds('things', MAX_ROW_ID)
    assertEqual(await storage.reserveIds('things', 1), [MAX_ROW_ID])
    await storage.raiseIds('things', MAX_ROW_ID + 1)
    await assertRejects(storage.reserveIds('things', 1), 'storage_full')
  }),
  storageCase('W13 an unknown table has no counter to raise', [], async ({ storage }) => {
    await assertRejects(storage.raiseIds('nowhere', 2), 'internal')
  }),
  storageCase('W14 a table that is prepared again without its indexes keeps them', [KEYED], async ({ storage }) => {
    await storage.insert('keyed', [{ id: 1, email: 'a@x' }])
    await storage.prepare([{ ...KEYED, indexes: [] }])
    const error = await assertRejects(storage.insert('keyed', [{ id: 2, email: 'a@x' }]), 'conflict')
    assertEqual(error.details[0]?.columns, ['email'])
  }),
]
