/** What a table holds and what it lacks. Clause A: absent rows and unknown names; S: `prepare` creates and extends, and loses nothing. */
import type { VaultError } from '../../../core/errors.ts'
import type { PhysicalTable } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import { ALL, EVERY, equal, idsFound, KEYED, numbers, rowOf, rowsWithIds, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const SMALL: PhysicalTable = { name: 'small', columns: [{ name: 'a', type: 'text' }], indexes: [] }

const WITH_COLUMNS: PhysicalTable = {
  ...SMALL,
  columns: [...SMALL.columns, { name: 'n', type: 'integer' }, { name: 'b', type: 'bytes' }, { name: 'r', type: 'real' }],
}

const WITH_UNIQUE: PhysicalTable = { ...SMALL, indexes: [{ columns: ['a'], unique: true }] }

const WITH_INDEX: PhysicalTable = { ...SMALL, indexes: [{ columns: ['a'], unique: false }] }

const RETYPED: PhysicalTable = { ...SMALL, columns: [{ name: 'a', type: 'integer' }] }

export const tableCases: readonly StorageCase[] = [
  storageCase('A1 get returns undefined for an id that has no row', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 2, n: 5 }])
    const rows = await storage.get('things', [1, 2, 3])
    assertEqual(rows, [undefined, { id: 2, version: 1, n: 5, r: null, t: null, b: null }, undefined])
  }),
  storageCase('A2 an empty table returns nothing', [THINGS], async ({ storage }) => {
    assertEqual(await storage.get('things', [1]), [undefined])
    assertEqual(await storage.find('things', EVERY, ALL), [])
    assertEqual(await storage.delete('things', { filter: EVERY }), [])
  }),
  storageCase('A3 a row has its id, its version and every column, null where left out', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }, { id: 2, t: 'x', n: null }])
    const bare = { id: 1, version: 1, n: null, r: null, t: null, b: null }
    assertEqual(await rowOf(storage, 'things', 1), bare)
    assertEqual(await storage.find('things', EVERY, ALL), [bare, { ...bare, id: 2, t: 'x' }])
  }),
  storageCase('A4 rows of one list may name different columns', [THINGS], async ({ storage }) => {
    await storage.insert('things', [
      { id: 1, n: 1 },
      { id: 2, t: 'two' },
      { id: 3, r: 0.5, n: 3 },
    ])
    const rows = await storage.find('things', EVERY, ALL)
    assertEqual(
      rows.map(({ n, r, t }) => [n, r, t]),
      [
        [1, null, null],
        [null, null, 'two'],
        [3, 0.5, null],
      ],
    )
  }),
  storageCase('A5 a patch of an absent row makes none', [THINGS], async ({ storage }) => {
    assertEqual(await storage.update('things', [{ id: 4, version: 1, set: { n: 1 } }]), [false])
    assertEqual(await storage.get('things', [4]), [undefined])
  }),
  storageCase('A6 delete leaves out ids that have no row and returns each once', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2, 3]))
    assertEqual(await storage.delete('things', { ids: [3, 8, 1, 3] }), [1, 3])
    assertEqual(await storage.delete('things', { ids: [3, 1] }), [])
  }),
  storageCase('A7 a deleted row is gone for every reader', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2]))
    await storage.delete('things', { ids: [1] })
    assertEqual(await storage.get('things', [1]), [undefined])
    assertEqual(await idsFound(storage, 'things', EVERY), [2])
    assertEqual(await storage.aggregate('things', EVERY, [{ kind: 'count' }]), [1])
  }),
  storageCase('A8 delete by filter takes what matches and nothing else', [THINGS], async ({ storage }) => {
    await storage.insert(
      'things',
      numbers(1, 9).map((id) => ({ id, n: id % 3 })),
    )
    assertEqual(await storage.delete('things', { filter: equal('n', 1) }), [1, 4, 7])
    assertEqual(await idsFound(storage, 'things', EVERY), [2, 3, 5, 6, 8, 9])
  }),
  storageCase('A9 a deleted id can be inserted again and begins at version 1', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2, 3]))
    await storage.update('things', [{ id: 2, version: 1, set: { n: 1 } }])
    await storage.delete('things', { ids: [2] })
    await storage.insert('things', [{ id: 2 }])
    assertEqual((await rowOf(storage, 'things', 2)).version, 1)
    assertEqual(await idsFound(storage, 'things', EVERY), [1, 2, 3])
  }),
  storageCase('A10 tables do not mix', [THINGS, { ...THINGS, name: 'others' }], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, t: 'here' }])
    await storage.insert('others', [{ id: 1, t: 'there' }])
    await storage.delete('others', { filter: EVERY })
    assertEqual((await rowOf(storage, 'things', 1)).t, 'here')
  }),
  storageCase('A11 every method refuses a table that was not prepared', [THINGS], async ({ storage }) => {
    await assertRejects(storage.reserveIds('nowhere', 1), 'internal', 'reserveIds')
    await assertRejects(storage.insert('nowhere', [{ id: 1 }]), 'internal', 'insert')
    await assertRejects(storage.get('nowhere', [1]), 'internal', 'get')
    await assertRejects(storage.find('nowhere', EVERY, ALL), 'internal', 'find')
    await assertRejects(storage.update('nowhere', [{ id: 1, version: 1, set: {} }]), 'internal', 'update')
    await assertRejects(storage.delete('nowhere', { ids: [1] }), 'internal', 'delete')
    await assertRejects(storage.aggregate('nowhere', EVERY, [{ kind: 'count' }]), 'internal', 'aggregate')
    await assertRejects(storage.commit({ updates: [], inserts: [{ table: 'nowhere', rows: [{ id: 1 }] }] }), 'internal', 'commit')
    await storage.transaction(async (inner) => {
      await assertRejects(inner.lock({ kind: 'tables', tables: ['nowhere'] }), 'internal', 'a lock of a table')
      await assertRejects(inner.lock({ kind: 'rows', table: 'nowhere', ids: [1] }), 'internal', 'a lock of rows')
      await assertRejects(inner.lock({ kind: 'id', table: 'nowhere', id: 1 }), 'internal', 'a lock of an id')
    })
  }),
  storageCase('A12 an unknown column is refused, not ignored', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }])
    await assertRejects(storage.insert('things', [{ id: 2, nothing: 1 }]), 'internal', 'insert')
    await assertRejects(storage.find('things', equal('nothing', 1), ALL), 'internal', 'find')
    await assertRejects(storage.update('things', [{ id: 1, version: 1, set: { nothing: 1 } }]), 'internal', 'update')
    await assertRejects(storage.aggregate('things', EVERY, [{ kind: 'sum', column: 'nothing' }]), 'internal', 'aggregate')
    assert((await rowOf(storage, 'things', 1)).version === 1, 'a refused patch should leave the version')
  }),
  storageCase('S1 preparing the same tables again changes nothing', [THINGS, KEYED], async ({ storage, another }) => {
    await storage.insert('things', [{ id: 1, t: 'kept' }])
    await storage.insert('keyed', [{ id: 1, email: 'a@x' }])
    await storage.prepare([THINGS, KEYED])
    assertEqual((await rowOf(await another(), 'things', 1)).t, 'kept')
    await assertRejects(storage.insert('keyed', [{ id: 2, email: 'a@x' }]), 'conflict')
  }),
  storageCase('S2 tables may come later, one call or several', [SMALL], async ({ storage }) => {
    await storage.insert('small', [{ id: 1, a: 'x' }])
    await storage.prepare([THINGS])
    await storage.insert('things', [{ id: 1 }])
    assertEqual((await rowOf(storage, 'small', 1)).a, 'x', 'a table not named again')
  }),
  storageCase('S3 an added column is null in old rows and works like any other', [SMALL], async ({ storage }) => {
    await storage.insert('small', [{ id: 1, a: 'old' }])
    await storage.prepare([WITH_COLUMNS])
    assertEqual(await rowOf(storage, 'small', 1), { id: 1, version: 1, a: 'old', n: null, b: null, r: null })
    await storage.insert('small', [{ id: 2, n: 5, b: new Uint8Array([1]), r: 0.5 }])
    assertEqual(await storage.update('small', [{ id: 1, version: 1, set: { n: 5 } }]), [true])
    assertEqual(await idsFound(storage, 'small', equal('n', 5)), [1, 2])
  }),
  storageCase('S4 an added unique index holds for old rows and new', [SMALL], async ({ storage }) => {
    await storage.insert('small', [{ id: 1, a: 'x' }, { id: 2 }, { id: 3 }])
    await storage.prepare([WITH_UNIQUE])
    const error = await assertRejects(storage.insert('small', [{ id: 4, a: 'x' }]), 'conflict')
    assertEqual([error.details[0]?.table, error.details[0]?.columns], ['small', ['a']])
  }),
  storageCase('S5 an added index finds old rows', [SMALL], async ({ storage }) => {
    await storage.insert(
      'small',
      numbers(1, 20).map((id) => ({ id, a: `a${id % 4}` })),
    )
    await storage.prepare([WITH_INDEX])
    assertEqual(await idsFound(storage, 'small', equal('a', 'a1')), [1, 5, 9, 13, 17])
  }),
  storageCase('S6 another type for a column is refused by name and nothing is touched', [SMALL], async ({ storage }) => {
    await storage.insert('small', [{ id: 1, a: 'x' }])
    assertPoints(await assertRejects(storage.prepare([RETYPED]), 'failed_precondition', 'prepare'), 'a')
    assertEqual((await rowOf(storage, 'small', 1)).a, 'x')
    await storage.insert('small', [{ id: 2, a: 'still text' }])
  }),
  storageCase('S7 another handle is refused another type as well', [SMALL], async ({ storage, another }) => {
    await storage.insert('small', [{ id: 1, a: 'x' }])
    const other = await another()
    assertPoints(await assertRejects(other.prepare([RETYPED]), 'failed_precondition', 'prepare'), 'a')
  }),
  storageCase('S8 a unique index over duplicates is refused by name and nothing is touched', [SMALL], async ({ storage }) => {
    const canary = 'canary-51c2'
    await storage.insert('small', [
      { id: 1, a: canary },
      { id: 2, a: canary },
    ])
    const error = await assertRejects(storage.prepare([WITH_UNIQUE]), 'failed_precondition', 'prepare')
    assertPoints(error, 'a')
    assert(!`${error.message}${JSON.stringify(error.details)}`.includes(canary), 'the error should not hold the value')
    await storage.insert('small', [{ id: 3, a: canary }])
    assertEqual(await idsFound(storage, 'small', equal('a', canary)), [1, 2, 3])
    await storage.delete('small', { ids: [1, 2] })
    await storage.prepare([WITH_UNIQUE])
    await assertRejects(storage.insert('small', [{ id: 4, a: canary }]), 'conflict')
  }),
  storageCase('S9 ids go on where they were after a table grew', [SMALL], async ({ storage, another }) => {
    const first = await storage.reserveIds('small', 10)
    await storage.prepare([WITH_COLUMNS, WITH_UNIQUE])
    const second = await storage.reserveIds('small', 10)
    const third = await (await another()).reserveIds('small', 10)
    assertEqual(new Set([...first, ...second, ...third]).size, 30)
  }),
  storageCase('S10 many handles may prepare at once', [], async ({ storage, another }) => {
    const handles = [storage, await another(), await another(), await another()]
    await Promise.all(handles.flatMap((handle) => [handle.prepare([SMALL, THINGS]), handle.prepare([KEYED])]))
    await Promise.all(handles.map((handle) => handle.prepare([WITH_COLUMNS])))
    for (const [at, handle] of handles.entries()) await handle.insert('small', [{ id: at + 1, n: at }])
    assertEqual(await idsFound(storage, 'small', EVERY), [1, 2, 3, 4])
  }),
  storageCase(
    'S11 a table without columns of its own stores ids',
    [{ name: 'bare', columns: [], indexes: [] }],
    async ({ storage }) => {
      await storage.insert('bare', [{ id: 1 }, { id: 2, version: 4 }])
      assertEqual(await storage.update('bare', [{ id: 1, version: 1, set: {} }]), [true])
      assertEqual(await storage.get('bare', [2, 1]), [
        { id: 2, version: 4 },
        { id: 1, version: 2 },
      ])
    },
  ),
]

function assertPoints(error: VaultError, column: string): void {
  const { table, column: one, columns = [] } = error.details[0] ?? {}
  assertEqual(table, 'small', 'details[0].table')
  assert(one === column || columns.includes(column), 'details[0].column or columns should name the column')
}
