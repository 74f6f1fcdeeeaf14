/** Erasing from disk: after a deletion the bytes of people are still in the files, and after a purge of the disk they are not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS, CATALOG, MAINTENANCE, MARKER, OPENINGS } from '../../../src/core/schema/system-tables.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { queryServer } from '../../support/postgres/query-server.ts'
import { startPostgres } from '../../support/postgres/server.ts'
import { type OpenEngine, type Place, postgresPlaces, sqlitePlaces } from '../../support/storages/places.ts'
import { findInFiles, type Needle, readNeedles } from '../../support/storages/stored-bytes.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const schema = defineSchema({
  people: {
    name: column.string({ redaction: 'PLAIN_TEXT', token: 'random' }),
    email: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
    card: column.string({ token: 'transient' }),
    street: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    paper: column.file(),
  },
})

const open = (storage: StorageHandle) => createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }) })
type TestVault = Awaited<ReturnType<typeof open>>

const ANN = 'Annabel Forgotten'
/** Enough others that pages are shared, and that deletions move cells between pages. */
const OTHERS = 300

/** Stores people of whom some are deleted. Returns their ids. */
async function fill(vault: TestVault): Promise<string[]> {
  const session = vault.as(OWNER)
  const person = (name: string, number: number) => ({
    fields: { name, email: `${name}.${number}@example.org`, card: `4111 1111 ${number}`, street: `${number} Street of ${name}` },
  })
  const ids: string[] = []
  for (let start = 0; start < OTHERS; start += 10) {
    const some = [...Array(10).keys()].map((number) => person(number === 4 ? ANN : 'Bob', start + number))
    const { records } = await session.insert('people', some)
    ids.push(String(records[4]?.id))
  }
  for (const [number, id] of ids.slice(0, 3).entries())
    await session.uploadFile({ table: 'people', column: 'paper', id, file: Buffer.alloc(150_000, `${ANN} ${number}`) })
  const moved = ids.slice(0, 5).map((id, number) => ({ id, fields: { street: `${number} New Street of ${ANN}` } }))
  await session.update('people', moved)
  return ids
}

/** Deletes them, and what is found of them in the files: the cells that were stored before, and are not any more. */
async function forget(place: Place, storage: StorageHandle, vault: TestVault, ids: readonly string[]) {
  const before = await readNeedles(storage)
  await vault.as(OWNER).delete('people', [...ids])
  await vault.sweep()
  const after = await readNeedles(storage)
  const gone = [...before].flatMap(([hex, needle]) => (after.has(hex) ? [] : [needle]))
  // A body, a digest and a text of each person, and pieces of files.
  expect(gone.length).toBeGreaterThan(ids.length * 3)
  return {
    gone,
    kept: [...before].flatMap(([hex, needle]) => (after.has(hex) ? [needle] : [])),
    found: await findInFiles(place, gone),
  }
}

const email = { columnGroup: 'email', redaction: 'PLAIN_TEXT' } as const
/** People of whom the vault has something of each kind: with keys of their own, tokens of each kind, plain cells, and files. */
const subjects = defineSchema(
  {
    people: {
      name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
      email: column.string({ ...email, unique: true }),
      ssn: column.string({ token: 'deterministic' }),
      card: column.string({ token: { kind: 'formatPreserving', format: 'card' } }),
      pin: column.string({ token: 'transient' }),
      street: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
      paper: column.file(),
    },
    orders: { person: column.string({ searchable: true }), code: column.string({ token: 'transient' }), paper: column.file() },
    notes: { email: column.string({ ...email, searchable: true }), text: column.string({ encrypted: false }) },
  },
  {
    subjects: {
      person: {
        table: 'people',
        relations: [
          { table: 'orders', column: 'person', references: 'people' },
          { table: 'notes', column: 'email', equals: 'people.email' },
        ],
        ownKeys: true,
      },
    },
  },
)

const openSubjects = (storage: StorageHandle) =>
  createVault({ id: 'v1', schema: subjects, storage, keys: localKeys({ key: TEST_SECRET }) })
type SubjectVault = Awaited<ReturnType<typeof openSubjects>>

/** Stores a person with three orders and two notes. Returns the ids by table. */
async function storePerson(vault: SubjectVault, name: string, number: number) {
  const session = vault.as(OWNER)
  const address = `${name}.${number}@example.org`
  const fields = { name: `${name} ${number}`, email: address, ssn: `ssn of ${name} ${number}`, pin: `pin of ${name} ${number}` }
  const card = `40000000000000${String(number + 10)}`.slice(0, 16)
  const { id } = await session.insertOne('people', { ...fields, card, street: `${number} Street of ${name}` })
  const orders = await session.insert(
    'orders',
    [1, 2, 3].map((order) => ({ fields: { person: id, code: `${name} ${number} ${order}` } })),
  )
  const notes = await session.insert(
    'notes',
    [1, 2].map((note) => ({ fields: { email: address, text: `${note} said ${name} of ${number}` } })),
  )
  const idsOf = ({ records }: { readonly records: readonly { readonly id: string }[] }) => records.map((one) => one.id)
  const [order = ''] = idsOf(orders)
  for (const [table, row] of [['people', id] as const, ['orders', order] as const])
    await session.uploadFile({ table, column: 'paper', id: row, file: Buffer.alloc(90_000, `${table} ${name} ${number}`) })
  return { id, orders: idsOf(orders), notes: idsOf(notes) }
}

/** What no person is in: events name rows and callers. */
const OTHERS_TABLES = new Set([AUDIT_EVENTS, AUDIT_CHAINS, CATALOG, MARKER, OPENINGS, MAINTENANCE].map(({ name }) => name))

/** A vault of some people, one of them Ann, and the cells that are about them. */
async function openWithAnn(storage: StorageHandle) {
  const vault = await openSubjects(storage)
  for (let number = 0; number < 12; number++) await storePerson(vault, 'Bob', number)
  const before = await readNeedles(storage)
  const ann = await storePerson(vault, ANN, 12)
  const cells = [...(await readNeedles(storage))].flatMap(([hex, needle]) =>
    before.has(hex) || OTHERS_TABLES.has(needle.table) ? [] : [needle],
  )
  for (let number = 13; number < 20; number++) await storePerson(vault, 'Bob', number)
  return { vault, ann, cells }
}

const tablesOf = (needles: readonly Needle[]) =>
  [...new Set(needles.map(({ table }) => table.replace(/^records_\d+_/, '')))].sort()

const ENGINES: readonly (readonly [string, () => Promise<OpenEngine> | OpenEngine])[] = [
  ['better-sqlite3', () => sqlitePlaces('better-sqlite3')],
  ['node:sqlite', () => sqlitePlaces('node:sqlite')],
  ['postgres', serverPlaces],
]

/** Places on a server that writes its pages at no other time than the test says: work of others on a shared one would tidy the files before the purge. */
async function serverPlaces(): Promise<OpenEngine> {
  const server = await startPostgres({ settings: ['autovacuum=off', 'checkpoint_timeout=1h', 'bgwriter_lru_maxpages=0'] })
  const places = await postgresPlaces(server.url)
  return {
    ...places,
    async close() {
      await places.close()
      await server.stop()
    },
  }
}

describe.each(ENGINES)('a purge of the disk on %s', (name, begin) => {
  let engine: OpenEngine
  beforeAll(async () => {
    engine = await begin()
  })
  afterAll(() => engine.close())

  it('leaves no byte of deleted rows in the files, where a deletion alone leaves them', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await open(storage)
    const ids = await fill(vault)
    if (name === 'postgres') await queryServer((place.address() as { url: string }).url, 'checkpoint')
    const { gone, kept, found } = await forget(place, storage, vault, ids)
    // PostgreSQL tidies some pages while they are read.
    expect(found.length).toBeGreaterThan(gone.length / 2)
    expect(new Set(found.map(({ table }) => table)).size).toBeGreaterThan(2)

    const { done, remains } = await vault.purgeDisk({ full: true })
    expect(await findInFiles(place, gone)).toEqual([])
    const still = await findInFiles(place, kept)
    expect(still.length).toBeGreaterThan(kept.length * 0.9)
    expect(done.map(({ what }) => what)).toEqual(name === 'postgres' ? ['rewritten', 'checkpoint'] : ['rewritten', 'log-emptied'])
    // The log of PostgreSQL is not searched: it has them until its segments are recycled.
    expect(remains.map(({ what }) => what)).toEqual(
      name === 'postgres'
        ? ['write-ahead-log', 'replicas', 'statistics', 'server-log', 'file-system', 'backups']
        : ['file-system', 'temporary-file', 'backups'],
    )
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
    expect(await vault.maintenance()).toEqual([])
    await vault.close()
  })

  it('after a person was forgotten, leaves no byte of them in the files; a deletion of their records leaves transient values', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const { vault, ann, cells } = await openWithAnn(storage)
    const kinds = ['blob_pieces', 'blobs', 'files', 'notes', 'orders', 'people', 'subject_keys', 'tokens', 'transients']
    expect(tablesOf(cells)).toEqual(kinds)
    if (name === 'postgres') await queryServer((place.address() as { url: string }).url, 'checkpoint')
    expect(await findInFiles(place, cells)).toHaveLength(cells.length)
    await vault.subjects.forget(OWNER, 'person', ann.id, { reason: 'asked' })
    // Planted: what a forgotten person leaves where nothing is purged.
    expect((await findInFiles(place, cells)).length).toBeGreaterThan(0)
    await vault.purgeDisk({ full: true })
    expect(await findInFiles(place, cells)).toEqual([])
    expect(await vault.verifyRecords()).toMatchObject({ ok: true, forgottenCount: 0 })
    await vault.close()

    const other = engine.fresh()
    const blobs = other.open()
    const planted = await openWithAnn(blobs)
    const countBlobs = async () => Number((await blobs.aggregate('blobs', { kind: 'all' }, [{ kind: 'count' }]))[0])
    const before = await countBlobs()
    const session = planted.vault.as(OWNER)
    await session.delete('notes', planted.ann.notes)
    await session.delete('orders', planted.ann.orders)
    await session.delete('people', [planted.ann.id])
    await planted.vault.sweep()
    // Contents are removed after their records, beside the sweep.
    await expect.poll(countBlobs).toBeLessThan(before)
    await planted.vault.purgeDisk({ full: true })
    expect(tablesOf(await findInFiles(other, planted.cells))).toEqual(['subject_keys', 'transients'])
    await planted.vault.close()
  })

  it('waits for a transaction that writes, and says what an open one keeps', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await open(storage)
    let purging: Promise<unknown> | undefined
    let isOver = false
    const other = place.open()
    await other.prepare([MAINTENANCE])
    await other.transaction(
      async (inner) => {
        await inner.reserveIds('maintenance', 1).catch(() => {})
        purging = vault.purgeDisk().finally(() => {
          isOver = true
        })
        if (name === 'postgres') return void (await inner.find('maintenance', { kind: 'all' }, { order: 'asc', limit: 1 }))
        await new Promise((wake) => setTimeout(wake, 50))
        expect(isOver).toBe(false)
      },
      { takesTurns: true },
    )
    expect(await purging).toMatchObject({ done: expect.anything() })
    await expect(vault.purgeDisk({ full: 'yes' as never })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(vault.purgeDisk({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' })
    await vault.close()
  })
})
