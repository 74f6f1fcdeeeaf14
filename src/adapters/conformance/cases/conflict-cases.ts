/** Clause C: unique indexes are enforced, and a conflict names the place, changes nothing and quotes no value. */

import type { VaultError } from '../../../core/errors.ts'
import type { NewRow } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../assert.ts'
import { EVERY, equal, idsFound, KEYED, numbers, rowOf } from '../sample.ts'
import { type StorageCase, type StorageFixture, storageCase } from '../storage-case.ts'

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

const D = new Uint8Array([1, 0, 255])

export const conflictCases: readonly StorageCase[] = [
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
