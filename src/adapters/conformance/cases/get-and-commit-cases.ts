/** Clause G: a read with changes that are stored if the row exists, where a storage has it. */
import type { Changes, Row, StorageHandle } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../assert.ts'
import { ALL, EVERY, idsFound, KEYED, numbers, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

type GetAndCommit = NonNullable<StorageHandle['getAndCommit']>

/** A case of the method. Storages without it pass. */
function ifPresent(
  name: string,
  body: (storage: StorageHandle, read: GetAndCommit, another: () => Promise<StorageHandle>) => Promise<void>,
): StorageCase {
  return storageCase(name, [THINGS, KEYED], async ({ storage, another }) => {
    const read: GetAndCommit | undefined = storage.getAndCommit
    if (read !== undefined) await body(storage, read, another)
  })
}

/** A change of row 1 of `things`, and rows of `keyed`. */
function changes(version: number, ...emails: readonly string[]): Changes {
  return {
    updates: [{ table: 'things', patches: [{ id: 1, version, set: { t: 'new' }, expected: { t: 'old' } }] }],
    inserts: [{ table: 'keyed', rows: emails.map((email, index) => ({ id: index + 10, email })) }],
  }
}

/** Stores rows of every kind of cell, and returns those of `things`. */
async function start(storage: StorageHandle): Promise<readonly Row[]> {
  await storage.insert('things', [
    { id: 1, n: 7, r: 0.5, t: 'old', b: new Uint8Array([1, 2, 3]) },
    { id: 2 },
    { id: 3, n: -(2n ** 62n), r: -0.25, t: "quote ' and \u0000", b: new Uint8Array(3000) },
  ])
  await storage.insert('keyed', [{ id: 1, email: 'taken@x' }])
  return storage.find('things', EVERY, ALL)
}

async function contentOf(storage: StorageHandle): Promise<unknown> {
  return [await storage.find('things', EVERY, ALL), await storage.find('keyed', EVERY, ALL)]
}

export const getAndCommitCases: readonly StorageCase[] = [
  ifPresent('G1 a read with changes returns the row as get does, and stores the changes', async (storage, read) => {
    const rows = await start(storage)
    for (const [index, row] of rows.entries()) {
      const insert = { table: 'keyed', rows: [{ id: 20 + index, email: `${index}@x` }] }
      assertEqual(await read('things', row.id, { updates: [], inserts: [insert] }), row)
    }
    assertEqual(await read('things', 3, changes(1, 'a@x', 'b@x')), rows[2])
    const [changed] = await storage.get('things', [1])
    assertEqual([changed?.version, changed?.t, changed?.n], [2, 'new', 7])
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1, 10, 11, 20, 21, 22])
  }),
  ifPresent('G2 a read with changes of its own row returns the row as it was before', async (storage, read) => {
    const [before] = await start(storage)
    assertEqual(await read('things', 1, changes(1, 'a@x')), before)
    assertEqual((await storage.get('things', [1]))[0]?.t, 'new')
  }),
  ifPresent('G3 without the row nothing is stored, and the result is undefined', async (storage, read) => {
    await start(storage)
    const before = await contentOf(storage)
    for (const id of [4, 0, -1, 2 ** 48, Number.MAX_SAFE_INTEGER, 2 ** 60]) {
      assertEqual(await read('things', id, changes(1, 'a@x')), undefined)
    }
    assertEqual(await read('things', 4, changes(9, 'taken@x')), undefined)
    assertEqual(await contentOf(storage), before)
  }),
  ifPresent('G4 with a patch that does not apply nothing is stored, and the result is false', async (storage, read) => {
    await start(storage)
    const before = await contentOf(storage)
    assertEqual(await read('things', 2, changes(2, 'a@x')), false)
    assertEqual(await contentOf(storage), before)
    await storage.delete('things', { ids: [1] })
    assertEqual(await read('things', 2, changes(1, 'a@x')), false)
    assertEqual(await idsFound(storage, 'keyed', EVERY), [1])
  }),
  ifPresent('G5 with a conflict nothing is stored, the patch included', async (storage, read) => {
    await start(storage)
    const before = await contentOf(storage)
    const error = await assertRejects(read('things', 2, changes(1, 'a@x', 'taken@x')), 'conflict')
    assertEqual([error.details[0]?.table, error.details[0]?.columns], ['keyed', ['email']])
    assertEqual(await contentOf(storage), before)
  }),
  ifPresent('G6 of reads that change one row at once, one is stored', async (storage, read, another) => {
    await start(storage)
    const other = (await another()).getAndCommit ?? read
    const results = await Promise.all(
      numbers(0, 20).map((n) =>
        (n % 2 === 0 ? read : other)('things', 2, {
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
  ifPresent('G7 a row that is deleted meanwhile is read with its changes, or neither', async (storage, read, another) => {
    await start(storage)
    const other = await another()
    for (const n of numbers(0, 20)) {
      await storage.insert('things', [{ id: 50 + n }])
      const [found] = await Promise.all([
        read('things', 50 + n, { updates: [], inserts: [{ table: 'keyed', rows: [{ id: 50 + n }] }] }),
        other.delete('things', { ids: [50 + n] }),
      ])
      const [stored] = await storage.get('keyed', [50 + n])
      assert(found !== false, 'a patch that does not exist did not apply')
      assertEqual(stored !== undefined, found !== undefined)
    }
  }),
]
