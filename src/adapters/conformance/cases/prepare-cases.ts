/** Clause S (shape): prepare creates and extends tables, and refuses changes that would lose or alter data. */

import type { VaultError } from '../../../core/errors.ts'
import type { PhysicalTable } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../assert.ts'
import { EVERY, equal, idsFound, KEYED, numbers, rowOf, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const SMALL: PhysicalTable = { name: 'small', columns: [{ name: 'a', type: 'text' }], indexes: [] }
const WITH_COLUMNS: PhysicalTable = {
  ...SMALL,
  columns: [...SMALL.columns, { name: 'n', type: 'integer' }, { name: 'b', type: 'bytes' }, { name: 'r', type: 'real' }],
}
const WITH_UNIQUE: PhysicalTable = { ...SMALL, indexes: [{ columns: ['a'], unique: true }] }
const WITH_INDEX: PhysicalTable = { ...SMALL, indexes: [{ columns: ['a'], unique: false }] }
const RETYPED: PhysicalTable = { ...SMALL, columns: [{ name: 'a', type: 'integer' }] }

function assertPoints(error: VaultError, column: string): void {
  const { table, column: one, columns = [] } = error.details[0] ?? {}
  assertEqual(table, 'small', 'details[0].table')
  assert(one === column || columns.includes(column), 'details[0].column or columns should name the column')
}

export const prepareCases: readonly StorageCase[] = [
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
