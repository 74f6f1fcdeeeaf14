/** Changes of single tables. Clause P: patches apply to the version they name; C: conflicts name their place and change nothing. */
import type { VaultError } from '../../../core/errors.ts'
import type { NewRow, PhysicalTable, Storage } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import { EVERY, equal, idsFound, KEYED, numbers, rowOf, rowsWithIds, THINGS } from '../sample.ts'
import { type StorageCase, type StorageFixture, storageCase } from '../storage-case.ts'

const COUNTERS: PhysicalTable = {
  name: 'counters',
  columns: numbers(0, 8).map((each) => ({ name: `c${each}`, type: 'integer' })),
  indexes: [],
}

const D = new Uint8Array([1, 0, 255])

export const changeCases: readonly StorageCase[] = [
  storageCase('P1 a patch changes the columns it names and raises the version by one', [THINGS], async ({ storage }) => {
    const b = new Uint8Array([9])
    await storage.insert('things', [{ id: 1, n: 1, r: 0.5, t: 'old', b }])
    assertEqual(await storage.update('things', [{ id: 1, version: 1, set: { t: 'new' } }]), [true])
    assertEqual(await rowOf(storage, 'things', 1), { id: 1, version: 2, n: 1, r: 0.5, t: 'new', b })
  }),
  storageCase('P2 a patch of another version returns false and changes nothing', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, n: 1 }])
    await storage.update('things', [{ id: 1, version: 1, set: { n: 2 } }])
    assertEqual(await storage.update('things', [{ id: 1, version: 1, set: { n: 3 } }]), [false])
    assertEqual(await storage.update('things', [{ id: 1, version: 3, set: { n: 3 } }]), [false])
    const row = await rowOf(storage, 'things', 1)
    assertEqual([row.version, row.n], [2, 2])
  }),
  storageCase('P3 a patch can set null', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, n: 1, r: 1.5, t: 'x', b: new Uint8Array([1]) }])
    await storage.update('things', [{ id: 1, version: 1, set: { n: null, r: null, t: null, b: null } }])
    assertEqual(await rowOf(storage, 'things', 1), { id: 1, version: 2, n: null, r: null, t: null, b: null })
  }),
  storageCase('P4 a patch that names no column raises the version', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, t: 'x' }])
    assertEqual(await storage.update('things', [{ id: 1, version: 1, set: {} }]), [true])
    const row = await rowOf(storage, 'things', 1)
    assertEqual([row.version, row.t], [2, 'x'])
  }),
  storageCase('P5 patches of one list may name different columns and values', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2, 3, 4]))
    const applied = await storage.update('things', [
      { id: 3, version: 1, set: { t: 'three' } },
      { id: 1, version: 1, set: { n: 1, r: 0.25 } },
      { id: 2, version: 9, set: { n: 2 } },
      { id: 4, version: 1, set: { b: new Uint8Array([4]), t: null } },
    ])
    assertEqual(applied, [true, true, false, true])
    const rows = await storage.get('things', [1, 2, 3, 4])
    assertEqual(rows, [
      { id: 1, version: 2, n: 1, r: 0.25, t: null, b: null },
      { id: 2, version: 1, n: null, r: null, t: null, b: null },
      { id: 3, version: 2, n: null, r: null, t: 'three', b: null },
      { id: 4, version: 2, n: null, r: null, t: null, b: new Uint8Array([4]) },
    ])
  }),
  storageCase('P6 of two patches of one row and version in one list the first applies', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }])
    const applied = await storage.update('things', [
      { id: 1, version: 1, set: { t: 'first' } },
      { id: 1, version: 1, set: { t: 'second', n: 2 } },
    ])
    assertEqual(applied, [true, false])
    assertEqual(await rowOf(storage, 'things', 1), { id: 1, version: 2, n: null, r: null, t: 'first', b: null })
  }),
  storageCase('P7 patches of one row in one list apply one after the other', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }])
    const applied = await storage.update('things', [
      { id: 1, version: 1, set: { t: 'first', n: 1 } },
      { id: 1, version: 2, set: { t: 'second' } },
    ])
    assertEqual(applied, [true, true])
    assertEqual(await rowOf(storage, 'things', 1), { id: 1, version: 3, n: 1, r: null, t: 'second', b: null })
  }),
  storageCase('P8 a version given at insert is stored and incremented from there', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, version: 41 }])
    assertEqual(await storage.update('things', [{ id: 1, version: 41, set: {} }]), [true])
    assertEqual((await rowOf(storage, 'things', 1)).version, 42)
  }),
  storageCase('P9 of 64 racing patches of one version exactly one applies', [THINGS], async ({ storage, another }) => {
    await storage.insert('things', [{ id: 1 }])
    const handles = [storage, await another()]
    const applied = await Promise.all(
      numbers(0, 64).map((n) => (handles[n % 2] ?? storage).update('things', [{ id: 1, version: 1, set: { n } }])),
    )
    const winners = numbers(0, 64).filter((n) => applied[n]?.[0] === true)
    assertEqual(winners.length, 1, 'the number of winners')
    const row = await rowOf(storage, 'things', 1)
    assertEqual([row.version, row.n], [2, winners[0]])
  }),
  storageCase(
    'P10 racing patches of one row, each retried until it applies, are all applied',
    [COUNTERS],
    async ({ storage, another }) => {
      await storage.insert('counters', [{ id: 1 }])
      const handles = [storage, await another()]
      await Promise.all(numbers(0, 32).map((each) => increment(handles[each % 2] ?? storage, `c${each % 8}`)))
      const row = await rowOf(storage, 'counters', 1)
      assertEqual(row.version, 33, 'the version')
      assert(
        numbers(0, 8).every((each) => row[`c${each}`] === 4),
        'every column should have been raised four times',
      )
    },
  ),
  clash('C1 a text conflict names table and column', ['email'], { id: 1, email: 'a@x' }, { id: 2, email: 'a@x' }),
  clash('C2 a bytes conflict names its column', ['digest'], { id: 1, digest: D }, { id: 2, digest: D.slice() }),
  clash('C3 an integer conflict names its column', ['number'], { id: 1, number: 7 }, { id: 2, number: 7n }),
  clash('C4 a conflict over two columns names both in order', ['realm', 'nick'], pair(1, 'r', 'n'), pair(2, 'r', 'n')),
  clash('C5 an id that is taken is a conflict of id', ['id'], { id: 1, email: 'a@x' }, { id: 1, email: 'b@x' }),
  clash(
    'C6 of several unique indexes the broken one is named',
    ['number'],
    { id: 1, email: 'a@x', number: 5, digest: D },
    { id: 2, email: 'b@x', number: 5, digest: new Uint8Array([2]) },
  ),
  peace('C7 nulls never conflict', { id: 1, color: 'red' }, { id: 2, color: 'red' }),
  peace('C8 a null in one of two columns never conflicts', pair(1, 'r', null), pair(2, 'r', null)),
  peace('C9 rows that share one of two columns do not conflict', pair(1, 'r', 'x'), pair(2, 'r', 'y')),
  peace('C10 two columns do not run together', pair(1, 'ab', 'c'), pair(2, 'a', 'bc')),
  peace('C11 an empty text is a value and not null', { id: 1, email: '' }, { id: 2 }),
  peace('C12 texts that differ in case only are different', { id: 1, email: 'A@x' }, { id: 2, email: 'a@x' }),
  peace('C13 texts that differ in trailing space only are different', { id: 1, email: 'a ' }, { id: 2, email: 'a' }),
  peace('C14 composed and decomposed letters are different', { id: 1, email: '\u00e9' }, { id: 2, email: 'e\u0301' }),
  storageCase('C15 an empty text conflicts with an empty text', [KEYED], async ({ storage }) => {
    await storage.insert('keyed', [{ id: 1, email: '', digest: new Uint8Array(0) }])
    assertNames(await assertRejects(storage.insert('keyed', [{ id: 2, email: '' }]), 'conflict'), ['email'])
    assertNames(await assertRejects(storage.insert('keyed', [{ id: 2, digest: new Uint8Array(0) }]), 'conflict'), ['digest'])
  }),
  storageCase('C16 rows of one list conflict with each other', [KEYED], async ({ storage }) => {
    const rows = [
      { id: 1, email: 'a@x' },
      { id: 2, email: 'b@x' },
      { id: 3, email: 'a@x' },
    ]
    assertNames(await assertRejects(storage.insert('keyed', rows), 'conflict'), ['email'], 2)
    assertEqual(await idsFound(storage, 'keyed', EVERY), [])
  }),
  storageCase('C17 an insert with one conflict inserts none of its rows', [KEYED], async ({ storage }) => {
    await storage.insert('keyed', [{ id: 1000, number: 300 }])
    const rows = numbers(1, 500).map((id) => ({ id, number: id, email: `${id}@x` }))
    assertNames(await assertRejects(storage.insert('keyed', rows), 'conflict'), ['number'], 299)
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1000])
    await storage.insert('keyed', [{ id: 1, number: 1, email: '2@x' }])
  }),
  storageCase(
    'C18 a patch that breaks an index is a conflict and changes nothing in the whole call',
    [KEYED],
    async (fixture) => {
      await insertPair(fixture)
      const patches = [
        { id: 1, version: 1, set: { color: 'red' } },
        { id: 2, version: 1, set: { email: 'a@x' } },
      ]
      assertNames(await assertRejects(fixture.storage.update('keyed', patches), 'conflict'), ['email'], 1)
      const rows = await fixture.storage.get('keyed', [1, 2])
      assertEqual(
        rows.map((row) => [row?.version, row?.email, row?.color]),
        [
          [1, 'a@x', null],
          [1, 'b@x', null],
        ],
      )
    },
  ),
  storageCase('C19 a patch may set a row to the value it has', [KEYED], async (fixture) => {
    await insertPair(fixture)
    assertEqual(await fixture.storage.update('keyed', [{ id: 1, version: 1, set: { email: 'a@x', number: 1 } }]), [true])
  }),
  storageCase('C20 a value is free once its row is deleted or changed', [KEYED], async (fixture) => {
    await insertPair(fixture)
    await fixture.storage.delete('keyed', { ids: [1] })
    await fixture.storage.update('keyed', [{ id: 2, version: 1, set: { email: null, nick: 'one' } }])
    await fixture.storage.insert('keyed', [
      { id: 3, email: 'a@x', realm: 'r', nick: 'two' },
      { id: 4, email: 'b@x' },
    ])
    assertEqual(await idsFound(fixture.storage, 'keyed', equal('email', 'b@x')), [4])
  }),
  storageCase('C21 no part of a conflict quotes a cell', [KEYED], async ({ storage }) => {
    const canary = 'canary-7f3a@secret.example'
    await storage.insert('keyed', [{ id: 1, email: canary, color: canary }])
    const refused = [
      { id: 2, email: canary, color: canary },
      { id: 1, email: canary },
    ]
    for (const row of refused) {
      const error = await assertRejects(storage.insert('keyed', [row]), 'conflict')
      assert(!allTexts(error).includes('canary-7f3a'), 'the error should not hold the value')
    }
    assertEqual((await rowOf(storage, 'keyed', 1)).email, canary)
  }),
]

/** Adds one to a cell, reading again until the patch applies. */
async function increment(storage: Storage, column: string): Promise<void> {
  for (;;) {
    const row = await rowOf(storage, 'counters', 1)
    const [applied] = await storage.update('counters', [
      { id: 1, version: row.version, set: { [column]: Number(row[column] ?? 0) + 1 } },
    ])
    if (applied === true) return
  }
}

/** A case in which the second row breaks one unique index of the first. */
function clash(name: string, columns: readonly string[], first: NewRow, second: NewRow): StorageCase {
  return storageCase(name, [KEYED], async ({ storage }) => {
    await storage.insert('keyed', [first])
    assertNames(await assertRejects(storage.insert('keyed', [second]), 'conflict', 'the second insert'), columns)
    assertEqual(
      await storage.find('keyed', EVERY, { order: 'asc', limit: 9 }).then((rows) => rows.length),
      1,
      'the number of rows',
    )
  })
}

function assertNames(error: VaultError, columns: readonly string[], position?: number): void {
  const [detail = {}] = error.details
  assertEqual(detail.table, 'keyed', 'details[0].table')
  assertEqual(detail.columns, columns, 'details[0].columns')
  const { index } = detail
  if (position !== undefined && index !== undefined) assertEqual(index, position, 'details[0].index, which may be left out')
}

/** A case in which both rows must be stored. */
function peace(name: string, first: NewRow, second: NewRow): StorageCase {
  return storageCase(name, [KEYED], async ({ storage }) => {
    await storage.insert('keyed', [first, second])
    assertEqual(await idsFound(storage, 'keyed', EVERY), [first.id, second.id])
  })
}

async function insertPair({ storage }: StorageFixture): Promise<void> {
  await storage.insert('keyed', [
    { id: 1, email: 'a@x', number: 1, realm: 'r', nick: 'one' },
    { id: 2, email: 'b@x', number: 2, realm: 'r', nick: 'two' },
  ])
}

function pair(id: number, realm: string | null, nick: string | null): NewRow {
  return { id, realm, nick }
}

/** Every text an error carries, its causes' too. */
function allTexts(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === 'object' ? JSON.stringify(error) : String(error)
  const own = Object.getOwnPropertyNames(error).filter((key) => key !== 'cause')
  const said = own.map((key) => JSON.stringify(Object.getOwnPropertyDescriptor(error, key)?.value) ?? '')
  return [...said, error.cause === undefined ? '' : allTexts(error.cause)].join('\n')
}
