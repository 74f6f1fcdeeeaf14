/** Changes of several tables. Clause K: they are stored as one or not at all; G: with a row that is read. */
import type { Changes, Storage } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import { ALL, EVERY, idsFound, KEYED, numbers, rolledBack, rowOf, rowsWithIds, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const NONE: Changes = { updates: [], inserts: [] }

/** Rows of each table in one commit. */
const COUNTS = [1, 2].flatMap((things) => [1, 2].map((keyed) => ({ things, keyed })))

export const commitCases: readonly StorageCase[] = [
  storageCase('K1 a commit applies its patches and inserts its rows', [THINGS, KEYED], async ({ storage }) => {
    await start(storage)
    assertEqual(await storage.commit(changes(1, 'old', ['a@x', 'b@x'])), true)
    const row = await rowOf(storage, 'things', 1)
    assertEqual([row.version, row.t, row.n], [2, 'new', 7])
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1, 10, 11])
  }),
  storageCase('K2 a commit with a patch of another version changes nothing', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    assertEqual(await storage.commit(changes(2, 'old', ['a@x'])), false)
    assertEqual(await contentOf(storage), before)
  }),
  storageCase('K3 a commit that expects another cell changes nothing', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    for (const t of ['olds', 'ol', 'OLD', '']) assertEqual(await storage.commit(changes(1, t, ['a@x'])), false)
    assertEqual(await contentOf(storage), before)
  }),
  storageCase('K4 a commit with a patch of a row that does not exist changes nothing', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    await storage.delete('things', { ids: [1] })
    assertEqual(await storage.commit(changes(1, 'old', ['a@x'])), false)
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1])
    await storage.delete('things', { ids: [2] })
    await storage.delete('keyed', { ids: [1] })
    assertEqual(await start(storage), before)
  }),
  storageCase('K5 a commit with a conflict changes nothing, its patches included', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    const error = await assertRejects(storage.commit(changes(1, 'old', ['a@x', 'taken@x'])), 'conflict')
    assertEqual([error.details[0]?.table, error.details[0]?.columns], ['keyed', ['email']])
    assertEqual(await contentOf(storage), before)
    const clash: Changes = { updates: [], inserts: [{ table: 'keyed', rows: [{ id: 1, email: 'b@x' }] }] }
    const sameId = await assertRejects(storage.commit(clash), 'conflict')
    assertEqual([sameId.details[0]?.table, sameId.details[0]?.columns], ['keyed', ['id']])
    assertEqual(await contentOf(storage), before)
  }),
  storageCase('K6 a commit of nothing is stored', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    assertEqual(await storage.commit(NONE), true)
    const empty = { updates: [{ table: 'things', patches: [] }], inserts: [{ table: 'keyed', rows: [] }] }
    assertEqual(await storage.commit(empty), true)
    assertEqual(await contentOf(storage), before)
  }),
  storageCase('K7 one missed patch of several undoes the others', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    const several = (version: number): Changes => ({
      updates: [
        { table: 'things', patches: [{ id: 2, version: 1, set: { n: 1 } }] },
        { table: 'keyed', patches: [{ id: 1, version, set: { color: 'red' } }] },
      ],
      inserts: [{ table: 'things', rows: rowsWithIds([3]) }, { table: 'keyed', rows: rowsWithIds([3]) }], // biome-ignore format: one line
    })
    assertEqual(await storage.commit(several(2)), false)
    assertEqual(await contentOf(storage), before)
    assertEqual(await storage.commit(several(1)), true)
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1, 3])
    assertEqual((await rowOf(storage, 'keyed', 1)).color, 'red')
  }),
  storageCase('K8 a commit inside a transaction ends with it', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    await rolledBack(storage, async (inner) => {
      assertEqual(await inner.commit(changes(1, 'old', ['a@x'])), true)
      assertEqual((await rowOf(inner, 'things', 1)).t, 'new')
    })
    assertEqual(await contentOf(storage), before)
    await storage.transaction(async (inner) => assertEqual(await inner.commit(changes(1, 'old', ['a@x'])), true))
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1, 10])
  }),
  storageCase(
    'K9 a commit that fails inside a transaction leaves the transaction usable',
    [THINGS, KEYED],
    async ({ storage }) => {
      await start(storage)
      await storage.transaction(async (inner) => {
        await inner.update('things', [{ id: 2, version: 1, set: { n: 2 } }])
        assertEqual(await inner.commit(changes(9, 'old', ['a@x'])), false)
        await assertRejects(inner.commit(changes(1, 'old', ['taken@x'])), 'conflict')
        assertEqual((await rowOf(inner, 'things', 1)).t, 'old')
        assertEqual(await inner.commit(changes(1, 'old', ['a@x'])), true)
      })
      assertEqual([(await rowOf(storage, 'things', 2)).n, (await rowOf(storage, 'things', 1)).t], [2, 'new'])
      assertEqual(await idsFound(storage, 'keyed', EVERY), [1, 10])
    },
  ),
  storageCase('K10 of commits that change one row at once, one is stored', [THINGS, KEYED], async ({ storage, another }) => {
    await start(storage)
    const handles = [storage, await another()]
    const results = await Promise.all(
      numbers(0, 20).map((n) =>
        (handles[n % 2] ?? storage).commit({
          updates: [{ table: 'things', patches: [{ id: 1, version: 1, set: { n }, expected: { t: 'old' } }] }],
          inserts: [{ table: 'keyed', rows: [{ id: 100 + n, email: `${n}@x` }] }],
        }),
      ),
    )
    assertEqual(results.filter((isStored) => isStored).length, 1, 'the number of commits that were stored')
    const winner = results.indexOf(true)
    assertEqual((await rowOf(storage, 'things', 1)).n, winner)
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1, 100 + winner])
  }),
  storageCase('K11 of commits with one unique value at once, one is stored', [THINGS, KEYED], async ({ storage, another }) => {
    await start(storage)
    const handles = [storage, await another()]
    const results = await Promise.allSettled(
      numbers(0, 20).map((n) =>
        (handles[n % 2] ?? storage).commit({
          updates: [],
          inserts: [{ table: 'keyed', rows: [{ id: 100 + n, email: 'same@x' }] }, { table: 'things', rows: rowsWithIds([100 + n]) }], // biome-ignore format: one line
        }),
      ),
    )
    assertEqual(results.filter(({ status }) => status === 'fulfilled').length, 1, 'the number of commits that were stored')
    assertEqual((await idsFound(storage, 'keyed', EVERY)).slice(1), (await idsFound(storage, 'things', EVERY)).slice(2))
  }),
  storageCase('K12 a patch applies only to a row that has the expected cells of every type', [THINGS], async ({ storage }) => {
    const b = new Uint8Array([1, 2, 3])
    const cells = { n: 2n ** 60n, r: 0.1, t: 'x\u0000y', b }
    await storage.insert('things', [{ id: 1, ...cells }, { id: 2 }]) // biome-ignore format: one line
    const wrong = [{ n: 2n ** 60n + 1n }, { r: 0.2 }, { t: 'x' }, { b: new Uint8Array([1, 2]) }, { b: null }, { n: null }]
    for (const expected of wrong) {
      assertEqual(await storage.update('things', [{ id: 1, version: 1, set: { n: 0 }, expected }]), [false])
    }
    for (const expected of [{ n: 0 }, { r: 0 }, { t: '' }, { b: new Uint8Array(0) }]) {
      assertEqual(await storage.update('things', [{ id: 2, version: 1, set: { n: 0 }, expected }]), [false])
    }
    const nulls = { n: null, r: null, t: null, b: null }
    const applied = await storage.update('things', [
      { id: 1, version: 1, set: { n: 5 }, expected: cells },
      { id: 2, version: 1, set: { n: 6 }, expected: nulls },
      { id: 2, version: 2, set: { n: 7 }, expected: { n: 5 } },
    ])
    assertEqual(applied, [true, true, false])
    assertEqual([(await rowOf(storage, 'things', 1)).n, (await rowOf(storage, 'things', 2)).n], [5, 6])
  }),
  storageCase('K13 patches of several rows each have expected cells of their own', [THINGS], async ({ storage }) => {
    const ids = numbers(1, 50)
    await storage.insert('things', ids.map((id) => ({ id, t: `${id}` }))) // biome-ignore format: one line
    const applied = await storage.update('things', ids.map((id) => ({ id, version: 1, set: { n: id }, expected: { t: id % 2 === 0 ? `${id}` : 'no' } }))) // biome-ignore format: one line
    assertEqual(applied, ids.map((id) => id % 2 === 0)) // biome-ignore format: one line
    const changed = (await storage.get('things', ids)).filter((row) => row?.n !== null)
    assert(
      changed.every((row) => row !== undefined && row.n === row.id && row.id % 2 === 0),
      'a patch changes only its own row',
    )
    assertEqual(changed.length, 25)
  }),
  storageCase('K14 a patch that expects an unknown column is refused', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }])
    await assertRejects(storage.update('things', [{ id: 1, version: 1, set: { n: 1 }, expected: { nope: 1 } }]), 'internal')
  }),
  storageCase('K15 a commit stores one row of a table as it stores several', [THINGS, KEYED], async ({ storage }) => {
    const cells = { n: -(2n ** 62n), r: 0.1, t: "x\u0000\u0001'y", b: new Uint8Array([0, 255, 92]) }
    const nulls = { n: null, r: null, t: null, b: null }
    for (const [round, { things, keyed }] of COUNTS.entries()) {
      const [id, next] = [2 * round + 1, 2 * round + 2]
      const stored = await storage.commit({
        updates: [],
        inserts: [
          {
            table: 'things',
            rows: [
              { id, ...cells },
              { id: next, version: 7 },
            ].slice(0, things),
          },
          { table: 'keyed', rows: [{ id }, { id: next, email: `${next}@x` }].slice(0, keyed) },
        ],
      })
      assertEqual(stored, true)
      assertEqual(await rowOf(storage, 'things', id), { id, version: 1, ...cells })
      const [second] = await storage.get('things', [next])
      assertEqual(second, things === 1 ? undefined : { id: next, version: 7, ...nulls })
      assertEqual((await rowOf(storage, 'keyed', id)).email, null)
      const [other] = await storage.get('keyed', [next])
      assertEqual(other?.email, keyed === 1 ? undefined : `${next}@x`)
    }
  }),
  storageCase(
    'G1 a read with changes returns the row as get does, and stores the changes',
    [THINGS, KEYED],
    async ({ storage }) => {
      await start(storage)
      await storage.insert('things', [{ id: 3, n: -(2n ** 62n), r: -0.25, t: "quote ' and \u0000", b: new Uint8Array(3000) }])
      const rows = await storage.find('things', EVERY, ALL)
      for (const [index, row] of rows.entries()) {
        const insert = { table: 'keyed', rows: [{ id: 20 + index, email: `${index}@x` }] }
        assertEqual(await committing(storage, row.id, { updates: [], inserts: [insert] }), row)
      }
      assertEqual(await committing(storage, 3, changes(1, 'old', ['a@x', 'b@x'])), rows[2])
      const [changed] = await storage.get('things', [1])
      assertEqual([changed?.version, changed?.t, changed?.n], [2, 'new', 7])
      assertEqual(await idsFound(storage, 'keyed', EVERY), [1, 10, 11, 20, 21, 22])
    },
  ),
  storageCase('G2 a read with changes of its own row returns the row as it was before', [THINGS, KEYED], async ({ storage }) => {
    await start(storage)
    const before = await rowOf(storage, 'things', 1)
    assertEqual(await committing(storage, 1, changes(1, 'old', ['a@x'])), before)
    assertEqual((await storage.get('things', [1]))[0]?.t, 'new')
  }),
  storageCase('G3 without the row nothing is stored, and the result is undefined', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    for (const id of [4, 0, -1, 2 ** 48, Number.MAX_SAFE_INTEGER, 2 ** 60]) {
      assertEqual(await committing(storage, id, changes(1, 'old', ['a@x'])), undefined)
    }
    assertEqual(await committing(storage, 4, changes(9, 'old', ['taken@x'])), undefined)
    assertEqual(await contentOf(storage), before)
  }),
  storageCase(
    'G4 with a patch that does not apply nothing is stored, and the result is false',
    [THINGS, KEYED],
    async ({ storage }) => {
      const before = await start(storage)
      assertEqual(await committing(storage, 2, changes(2, 'old', ['a@x'])), false)
      assertEqual(await contentOf(storage), before)
      await storage.delete('things', { ids: [1] })
      assertEqual(await committing(storage, 2, changes(1, 'old', ['a@x'])), false)
      assertEqual(await idsFound(storage, 'keyed', EVERY), [1])
    },
  ),
  storageCase('G5 with a conflict nothing is stored, the patch included', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    const error = await assertRejects(committing(storage, 2, changes(1, 'old', ['a@x', 'taken@x'])), 'conflict')
    assertEqual([error.details[0]?.table, error.details[0]?.columns], ['keyed', ['email']])
    assertEqual(await contentOf(storage), before)
  }),
  storageCase('G6 of reads that change one row at once, one is stored', [THINGS, KEYED], async ({ storage, another }) => {
    await start(storage)
    const other = await another()
    const results = await Promise.all(
      numbers(0, 20).map((n) =>
        committing(n % 2 === 0 ? storage : other, 2, {
          updates: [{ table: 'things', patches: [{ id: 1, version: 1, set: { n } }] }],
          inserts: [{ table: 'keyed', rows: [{ id: 100 + n, email: `${n}@x` }] }],
        }),
      ),
    )
    const stored = results.flatMap((result, n) => (result === false ? [] : [n]))
    assertEqual(stored.length, 1, 'the number of reads whose changes were stored')
    const [winner = -1] = stored
    assertEqual((await storage.get('things', [1]))[0]?.n, winner)
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1, 100 + winner])
  }),
  storageCase(
    'G7 a row that is deleted meanwhile is read with its changes, or neither',
    [THINGS, KEYED],
    async ({ storage, another }) => {
      await start(storage)
      const other = await another()
      for (const n of numbers(0, 20)) {
        await storage.insert('things', [{ id: 50 + n }])
        const [found] = await Promise.all([
          committing(storage, 50 + n, { updates: [], inserts: [{ table: 'keyed', rows: [{ id: 50 + n }] }] }),
          other.delete('things', { ids: [50 + n] }),
        ])
        const [stored] = await storage.get('keyed', [50 + n])
        assert(found !== false, 'a patch that does not exist did not apply')
        assertEqual(stored !== undefined, found !== undefined)
      }
    },
  ),
  storageCase('G8 a read with changes inside a transaction ends with it', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    const row = await rowOf(storage, 'things', 1)
    await rolledBack(storage, async (inner) => {
      assertEqual(await committing(inner, 1, changes(1, 'old', ['a@x'])), row)
      assertEqual(await committing(inner, 4, changes(2, 'new', ['b@x'])), undefined)
      assertEqual(await committing(inner, 2, changes(9, 'old', [])), false)
      assertEqual(await idsFound(inner, 'keyed', EVERY), [1, 10])
    })
    assertEqual(await contentOf(storage), before)
  }),
  storageCase('G9 a read with more changes than one statement takes is stored as one', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    const row = await rowOf(storage, 'things', 2)
    const several = (version: number): Changes => ({
      updates: [
        { table: 'things', patches: [{ id: 2, version: 1, set: { n: 1 } }] },
        { table: 'keyed', patches: [{ id: 1, version, set: { color: 'red' } }] },
      ],
      inserts: [{ table: 'things', rows: rowsWithIds([3]) }],
    })
    assertEqual(await committing(storage, 2, several(2)), false)
    assertEqual(await committing(storage, 4, several(1)), undefined)
    assertEqual(await contentOf(storage), before)
    assertEqual(await committing(storage, 2, several(1)), row)
    assertEqual(await idsFound(storage, 'things', EVERY), [1, 2, 3])
    assertEqual((await rowOf(storage, 'things', 2)).n, 1)
  }),
  storageCase('G10 a read with no changes returns the row', [THINGS, KEYED], async ({ storage }) => {
    const before = await start(storage)
    assertEqual(await committing(storage, 1, NONE), await rowOf(storage, 'things', 1))
    assertEqual(await committing(storage, 4, NONE), undefined)
    assertEqual(await contentOf(storage), before)
  }),
]

/** A row of `things` that is changed if it still has this text, and rows of `keyed` that are stored with it. */
function changes(version: number, t: string, emails: readonly string[]): Changes {
  return {
    updates: [{ table: 'things', patches: [{ id: 1, version, set: { t: 'new' }, expected: { t } }] }],
    inserts: [{ table: 'keyed', rows: emails.map((email, index) => ({ id: index + 10, email })) }],
  }
}

/** Everything that the two tables hold. */
async function contentOf(storage: Storage): Promise<unknown> {
  return [await storage.find('things', EVERY, ALL), await storage.find('keyed', EVERY, ALL)]
}

async function start(storage: Storage): Promise<unknown> {
  await storage.insert('things', [{ id: 1, n: 7, r: 0.5, t: 'old', b: new Uint8Array([1, 2, 3]) }, { id: 2 }])
  await storage.insert('keyed', [{ id: 1, email: 'taken@x' }])
  return contentOf(storage)
}

/** Stores changes with a row of `things` that is read. */
function committing(storage: Storage, id: number, given: Changes): ReturnType<Storage['commit']> {
  return storage.commit(given, { read: { table: 'things', id } })
}
