/** Parts of tables that end or begin while a table is used. Clause D: `drop` leaves nothing of what it drops, and all else; S: indexes that are built beside writers. */
import type { PhysicalIndex, PhysicalTable } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import { EVERY, equal, idsFound, KEYED, numbers, rolledBack, rowOf, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const BY_EMAIL: PhysicalIndex = { columns: ['email'], unique: true }

/** The same columns without an index. */
const UNINDEXED: PhysicalTable = { ...KEYED, indexes: [] }

const WITHOUT_COLUMNS: PhysicalTable = {
  ...KEYED,
  columns: KEYED.columns.filter(({ name }) => !['email', 'nick'].includes(name)),
  indexes: KEYED.indexes.filter(({ columns }) => !columns.includes('email') && !columns.includes('nick')),
}

export const dropCases: readonly StorageCase[] = [
  storageCase('D1 a dropped table is unknown, and its name is free', [THINGS, KEYED], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, t: 'gone' }])
    await storage.insert('keyed', [{ id: 1, email: 'a@x' }])
    await storage.drop([{ kind: 'tables', tables: ['things'] }])
    await assertRejects(storage.get('things', [1]), 'internal', 'a dropped table')
    assertEqual((await rowOf(storage, 'keyed', 1)).email, 'a@x', 'another table')
    await storage.prepare([{ name: 'things', columns: [{ name: 't', type: 'integer' }], indexes: [] }])
    assertEqual(await idsFound(storage, 'things', EVERY), [])
    const ids = await storage.reserveIds('things', 2)
    await storage.insert(
      'things',
      ids.map((id) => ({ id, t: 7 })),
    )
    assertEqual(await idsFound(storage, 'things', equal('t', 7)), ids)
  }),
  storageCase('D2 dropped columns are gone with their indexes, and other cells stay', [KEYED], async ({ storage, another }) => {
    await storage.insert('keyed', [
      { id: 1, email: 'a@x', number: 1, realm: 'r', nick: 'n', color: 'red' },
      { id: 2, email: 'b@x', number: 2, realm: 'r', nick: 'm', color: 'red' },
    ])
    await storage.drop([{ kind: 'columns', table: 'keyed', columns: ['email', 'nick'] }])
    assertEqual(await rowOf(storage, 'keyed', 1), { id: 1, version: 1, digest: null, number: 1, realm: 'r', color: 'red' })
    await assertRejects(storage.find('keyed', equal('email', 'a@x'), { order: 'asc', limit: 1 }), 'internal', 'a dropped column')
    assertEqual(await storage.update('keyed', [{ id: 2, version: 1, set: { color: 'blue' } }]), [true])
    await storage.insert('keyed', [{ id: 3, number: 3, realm: 'r' }])
    await assertRejects(storage.insert('keyed', [{ id: 4, number: 3 }]), 'conflict', 'an index that stays')
    await storage.prepare([WITHOUT_COLUMNS])
    assertEqual(await idsFound(storage, 'keyed', equal('color', 'red')), [1])
    const other = await another()
    assertEqual((await rowOf(other, 'keyed', 1)).email, null, 'a column of the same name begins empty')
  }),
  storageCase('D3 a dropped unique index lets equal values in', [KEYED], async ({ storage }) => {
    await storage.insert('keyed', [{ id: 1, email: 'a@x', number: 1 }])
    await storage.drop([{ kind: 'index', table: 'keyed', index: BY_EMAIL }])
    await storage.insert('keyed', [{ id: 2, email: 'a@x' }])
    await assertRejects(storage.insert('keyed', [{ id: 3, number: 1 }]), 'conflict', 'another index')
    assertEqual(await idsFound(storage, 'keyed', equal('email', 'a@x')), [1, 2])
  }),
  storageCase('D4 what is missing is passed over', [KEYED], async ({ storage }) => {
    await storage.insert('keyed', [{ id: 1, email: 'a@x' }])
    await storage.drop([])
    await storage.drop([
      { kind: 'tables', tables: [] },
      { kind: 'tables', tables: ['nowhere'] },
      { kind: 'columns', table: 'nowhere', columns: ['a'] },
      { kind: 'columns', table: 'keyed', columns: ['nothing'] },
      { kind: 'columns', table: 'keyed', columns: [] },
      { kind: 'index', table: 'keyed', index: { columns: ['color'], unique: true } },
      { kind: 'index', table: 'nowhere', index: BY_EMAIL },
    ])
    await assertRejects(storage.insert('keyed', [{ id: 2, email: 'a@x' }]), 'conflict', 'an index that stays')
  }),
  storageCase('D5 a handle drops what it has not prepared', [THINGS, KEYED], async ({ storage, another }) => {
    await storage.insert('things', [{ id: 1, t: 'here', n: 5 }])
    const other = await another()
    await other.drop([
      { kind: 'tables', tables: ['keyed'] },
      { kind: 'columns', table: 'things', columns: ['n'] },
    ])
    const names = await storage.snapshot(async ({ tables }) => tables.map(({ name }) => name))
    assert(!names.includes('keyed'), 'a dropped table should not be stored')
    assertEqual(await rowOf(other, 'things', 1), { id: 1, version: 1, r: null, t: 'here', b: null })
  }),
  storageCase('D6 a rollback keeps what was dropped', [THINGS, KEYED], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, t: 'here', n: 5 }])
    await storage.insert('keyed', [{ id: 1, email: 'a@x' }])
    await rolledBack(storage, async (inner) => {
      await inner.drop([
        { kind: 'tables', tables: ['keyed'] },
        { kind: 'columns', table: 'things', columns: ['n'] },
      ])
    })
    await storage.prepare([THINGS, KEYED])
    assertEqual((await rowOf(storage, 'things', 1)).n, 5)
    await assertRejects(storage.insert('keyed', [{ id: 2, email: 'a@x' }]), 'conflict', 'its index')
  }),
  storageCase('D7 an ordered table that loses a column keeps its order', [], async ({ storage }) => {
    const ordered: PhysicalTable = { ...THINGS, isOrdered: true }
    await storage.prepare([ordered])
    const [first = 0] = await storage.reserveIds('things', 1)
    await storage.insert('things', [{ id: first, n: 1 }])
    await storage.drop([{ kind: 'columns', table: 'things', columns: ['t'] }])
    const [second = 0] = await storage.reserveIds('things', 1)
    assert(second > first, 'ids should go on')
    await storage.insert('things', [{ id: second, n: 2 }])
    assertEqual(await idsFound(storage, 'things', EVERY), [first, second])
  }),
  storageCase('S12 an index that is built beside writers holds for all rows', [UNINDEXED], async ({ storage, another }) => {
    const writer = await another()
    await storage.insert(
      'keyed',
      numbers(1, 500).map((id) => ({ id, email: `${id}@x`, color: `c${id % 5}` })),
    )
    let isBuilt = false
    const writing = (async () => {
      for (let id = 501; !isBuilt && id < 2000; id++) await writer.insert('keyed', [{ id, email: `${id}@x`, color: 'c1' }])
    })()
    await storage.prepare([KEYED], { besideWriters: true })
    isBuilt = true
    await writing
    const error = await assertRejects(storage.insert('keyed', [{ id: 3000, email: '501@x' }]), 'conflict')
    assertEqual(error.details[0]?.columns, ['email'])
    const red = await idsFound(storage, 'keyed', equal('color', 'c1'))
    assertEqual(red.filter((id) => id <= 500).length, 100)
    await storage.prepare([KEYED], { besideWriters: true })
  }),
  storageCase(
    'S13 a unique index over duplicates that is built beside writers leaves nothing',
    [UNINDEXED],
    async ({ storage }) => {
      await storage.insert('keyed', [
        { id: 1, email: 'same' },
        { id: 2, email: 'same' },
      ])
      const error = await assertRejects(storage.prepare([KEYED], { besideWriters: true }), 'failed_precondition', 'prepare')
      assertEqual([error.details[0]?.table, error.details[0]?.columns], ['keyed', ['email']])
      await storage.insert('keyed', [{ id: 3, email: 'same' }])
      await storage.delete('keyed', { ids: [1, 2] })
      await storage.prepare([KEYED], { besideWriters: true })
      await assertRejects(storage.insert('keyed', [{ id: 4, email: 'same' }]), 'conflict')
    },
  ),
  storageCase('S14 many handles may build the same index at once', [UNINDEXED], async ({ storage, another }) => {
    await storage.insert('keyed', [{ id: 1, email: 'a@x' }])
    const handles = [storage, await another(), await another()]
    await Promise.all(handles.map((handle) => handle.prepare([KEYED], { besideWriters: true })))
    await assertRejects(storage.insert('keyed', [{ id: 2, email: 'a@x' }]), 'conflict')
  }),
]
