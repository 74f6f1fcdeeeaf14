/** The list of what is sealed where is complete: every column of bytes is in it, or in the list of what no root key seals. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import { sealDelta } from '../../../src/core/index-runs/delta.ts'
import type { PhysicalTable, StorageHandle } from '../../../src/core/ports/storage.ts'
import { resealPass } from '../../../src/core/rotation/reseal-pass.ts'
import { sealedPlaces } from '../../../src/core/rotation/sealed-places.ts'
import { readVersion, sealEntry } from '../../../src/core/sealing/envelope.ts'
import { makeKeys } from '../../../src/core/subject-keys/key-rows.ts'
import { insertForgotten } from '../../../src/core/subjects/forgotten-rows.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { addKey } from '../../support/vaults/planted-rotation.ts'
import { fillRotating, openRotating, ROTATING_TABLES } from '../../support/vaults/rotating-vault.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

/** Columns of bytes that no root key seals: keyed digests, and contents, which the key in the row of their file seals. */
const NOT_SEALED = [
  /^records_\d+_\w+\.digest_/,
  /^(tokens|credentials|former_tokens)\.digest$/,
  /^former_tokens\.successor$/,
  /^blob_pieces\.content$/,
]

const RECEIPT = {
  v: 1,
  vaultID: 'v1',
  kind: 'person',
  subject: '',
  reason: 'asked',
  at: '2001-01-01T00:00:00Z',
  tables: {},
  files: 0,
  notReached: [],
} as const

/** A storage that remembers the tables that were prepared. */
function noting(storage: StorageHandle) {
  const tables = new Map<string, PhysicalTable>()
  const noted: StorageHandle = {
    ...storage,
    async prepare(definitions) {
      for (const table of definitions) tables.set(table.name, table)
      await storage.prepare(definitions)
    },
  }
  return { storage: noted, tables }
}

const catalogOf = (storage: StorageHandle) =>
  openCatalog({ ...SYSTEM_PORTS, storage, keys: localKeys({ key: TEST_SECRET }) }, 'v1', ROTATING_TABLES)

/** Columns of bytes that are in no list. */
function unlisted(tables: ReadonlyMap<string, PhysicalTable>, listed: readonly string[]): string[] {
  return [...tables.values()]
    .flatMap(({ name, columns }) => columns.flatMap((column) => (column.type === 'bytes' ? [`${name}.${column.name}`] : [])))
    .filter((name) => !listed.includes(name) && !NOT_SEALED.some((pattern) => pattern.test(name)))
}

it('every place holds a body when something of each kind is sealed, and every column of bytes is listed', async () => {
  const { storage: sound, tables } = noting(memoryStorage())
  const { storage, interpose } = interposedStorage(sound)
  const vault = await openRotating(storage)
  const { ids } = await fillRotating(vault, 5)
  // No subject of this vault has a key of its own, or was forgotten, and no column has a sealed index.
  const { barrier } = await catalogOf(storage)
  await storage.insert('subject_keys', (await makeKeys(storage, barrier, { objectId: 1 }, [1])).rows)
  await storage.insert('index_runs', [sealDelta(barrier, 1, { objectId: 1 }, [])])
  const block = sealEntry({ ...barrier, kind: 'block', id: 1 }, new Uint8Array(100))
  await storage.insert('index_blocks', [{ id: 1, run: 2, body: block }])
  await insertForgotten(storage, barrier, Date.now(), { tableId: 1, rowId: 1, receipt: RECEIPT })
  await vault.as(OWNER).revokeCredential({ jti: 'a', expiresAt: Date.now() + 60_000 })
  await vault.credentials.spendOnce('nonce', Date.now() + 60_000)
  const places = sealedPlaces((await catalogOf(storage)).state)
  const listed = places.map(({ table, column }) => `${table}.${column}`)
  expect(new Set(listed).size).toBe(listed.length)
  expect(unlisted(tables, listed)).toEqual([])
  // One place less, and the column is missed.
  for (const name of listed)
    expect(
      unlisted(
        tables,
        listed.filter((one) => one !== name),
      ),
    ).toEqual([name])
  // While a rotation runs, its job has a row, and an upload is in progress.
  const counted: Record<string, number> = {}
  async function* slow() {
    yield new Uint8Array(10)
    interpose({
      isDue: ({ method, table }) => method === 'find' && table === 'records_1_people',
      async work() {
        for (const { table, column, filter } of places) {
          const rows = await sound.find(table, filter, { order: 'asc', limit: 1000 })
          const bodies = rows.map(({ [column]: body }) => (body instanceof Uint8Array ? readVersion(body, 0, body.length) : 0))
          expect(bodies.every((version) => version > 0)).toBe(true)
          counted[`${table}.${column}`] = bodies.length
        }
      },
    })
    await vault.rotateKeys()
  }
  const upload = { table: 'people', column: 'scan', id: ids[1] ?? '', file: slow(), fileName: 'b.txt' } as const
  await vault.as(OWNER).uploadFile(upload)
  expect(Object.entries(counted).filter(([, count]) => count === 0)).toEqual([])
  expect(Object.keys(counted)).toEqual(listed)
  // The row of the upload that was in progress, and that of the file before.
  expect(counted['files.body']).toBe(2)
})

it('bodies of each place open as what the place says they are', async () => {
  const storage = memoryStorage()
  await fillRotating(await openRotating(storage), 5)
  await addKey(storage, ROTATING_TABLES)
  const catalog = await catalogOf(storage)
  for (const place of sealedPlaces(catalog.state)) {
    const counts = { resealed: 0, unreadable: 0 }
    const job = { savePlace: async () => {} }
    const pass = resealPass({ storage, keys: catalog.barrier, place, job, counts, after: 0, placeAt: () => ({}) })
    while (!(await pass.slice()).isLast);
    expect([place.table, counts.unreadable]).toEqual([place.table, 0])
  }
})
