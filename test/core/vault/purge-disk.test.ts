/** Erasing from disk: after a deletion the bytes of people are still in the files, and after a purge of the disk they are not. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { queryServer } from '../../support/postgres/query-server.ts'
import { type OpenEngine, type Place, postgresPlaces, sqlitePlaces } from '../../support/storages/places.ts'
import { findInFiles, readNeedles } from '../../support/storages/stored-bytes.ts'
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

const ENGINES: readonly (readonly [string, () => Promise<OpenEngine> | OpenEngine])[] = [
  ['better-sqlite3', () => sqlitePlaces('better-sqlite3')],
  ['node:sqlite', () => sqlitePlaces('node:sqlite')],
  ['postgres', () => postgresPlaces(inject('postgresUrl'))],
]

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

  it('waits for a transaction that writes, and says what an open one keeps', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await open(storage)
    let purging: Promise<unknown> | undefined
    let isOver = false
    await place.open().transaction(
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
