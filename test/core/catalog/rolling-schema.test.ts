/** Rolling deploys: a process with an older schema works beside a newer one and follows it, and its writes are stopped where they would be wrong. */
import Database from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, inject, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { postgresStorage } from '../../../src/adapters/postgres/postgres-storage.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { CATALOG } from '../../../src/core/schema/system-tables.ts'
import { column, createVault, type SchemaDefinition, type Vault } from '../../../src/index.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { onEachStorage, sqliteEngine } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { asLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

type Audit = 'on' | 'off'

function open<const S extends SchemaDefinition>(storage: StorageHandle, tables: S, audit: Audit = 'on'): Promise<Vault<S>> {
  const keys = localKeys({ key: TEST_SECRET })
  return createVault({ id: 'v1', schema: checkSchema(tables), storage, audit, keys, schemaChanges: 'apply' })
}

const NAME = column.string({ redaction: 'PLAIN_TEXT', token: 'random' })
const NARROW = {
  things: { name: NAME, size: column.integer({ redaction: 'PLAIN_TEXT' }) },
  others: { text: column.string({ redaction: 'PLAIN_TEXT' }) },
}
const HARMLESS = {
  more: { a: column.string() },
  things: {
    note: column.string({ redaction: 'PLAIN_TEXT' }),
    rank: column.integer({ encrypted: false, redaction: 'PLAIN_TEXT' }),
    ...NARROW.things,
  },
  others: NARROW.others,
}
const withName = (name: (typeof NARROW)['things']['name']) => ({ ...NARROW, things: { ...NARROW.things, name } })
const UNIQUE = withName(column.string({ redaction: 'PLAIN_TEXT', token: 'random', unique: true }))
const SEARCHABLE = withName(column.string({ redaction: 'PLAIN_TEXT', token: 'random', searchable: true }))
const REQUIRED = withName(column.string({ redaction: 'PLAIN_TEXT', token: 'random', required: true }))
const withMust = (must: ReturnType<typeof column.string>) => ({ ...NARROW, things: { ...NARROW.things, must } })

/** A rule that another process adds, and what an older process is refused from then on; undefined if it works on. */
const TIGHTER: readonly (readonly [rule: string, tables: SchemaDefinition, fields: object, code: string | undefined])[] = [
  ['unique: a value that exists', UNIQUE, { name: 'x' }, 'conflict'],
  ['unique: another value', UNIQUE, { name: 'y' }, undefined],
  ['searchable', SEARCHABLE, { name: 'y' }, undefined],
  ['required: no value', REQUIRED, { size: 1 }, 'unprocessable'],
  ['required: a value', REQUIRED, { name: 'y' }, undefined],
  ['unique, and new', withMust(column.string({ unique: true })), { name: 'y' }, undefined],
  ['searchable, and new', withMust(column.string({ searchable: true })), { name: 'y' }, undefined],
]

for (const audit of ['on', 'off'] as const) {
  onEachStorage(`a process with an older schema, audit ${audit},`, (engine) => {
    it('opens beside a wider schema, works with what it knows, and loses nothing', async () => {
      const place = engine.fresh()
      const newer = (await open(place.open(), HARMLESS, audit)).as(OWNER)
      const { records } = await newer.insert('things', [{ fields: { name: 'x', size: 1, note: 'kept', rank: 7 } }])
      const id = records[0]?.id ?? ''
      const older = (await open(place.open(), NARROW, audit)).as(OWNER)
      expect((await older.getOne('things', id)).fields).toEqual({ name: 'x', size: 1 })
      await older.updateOne('things', id, { name: 'y' })
      const { records: inserted } = await older.insert('things', [{ fields: { name: 'z', size: 2 } }])
      for (const session of [newer, (await open(place.open(), HARMLESS, audit)).as(OWNER)]) {
        expect((await session.getOne('things', id)).fields).toEqual({ name: 'y', size: 1, note: 'kept', rank: 7 })
        const read = await session.getOne('things', inserted[0]?.id ?? '')
        expect(read.fields).toEqual({ name: 'z', size: 2, note: null, rank: null })
      }
    })

    it('gives a new column of its own numbers that no other process gave', async () => {
      const place = engine.fresh()
      const one = (await open(place.open(), HARMLESS, audit)).as(OWNER)
      const other = { ...NARROW, things: { ...NARROW.things, extra: column.string({ redaction: 'PLAIN_TEXT' }) } }
      const two = (await open(place.open(), other, audit)).as(OWNER)
      const { records } = await one.insert('things', [{ fields: { name: 'x', note: 'of one' } }])
      const id = records[0]?.id ?? ''
      await two.updateOne('things', id, { extra: 'of two' })
      expect((await one.getOne('things', id)).fields).toMatchObject({ name: 'x', note: 'of one' })
      expect((await two.getOne('things', id)).fields).toMatchObject({ name: 'x', extra: 'of two' })
    })

    it('deletes the stored tokens of columns that it does not know', async () => {
      const place = engine.fresh()
      const older = (await open(place.open(), NARROW, audit)).as(OWNER)
      const token = column.string({ token: { kind: 'formatPreserving', format: { preset: 'digits' } } })
      const storage = place.open()
      const newer = asLoose((await open(storage, withMust(token), audit)).as(OWNER))
      const { records } = await newer.insert(
        'things',
        [1, 2].map((n) => ({ fields: { name: `${n}`, must: '1234567890' } })),
      )
      const count = async () => (await storage.aggregate('tokens', { kind: 'all' }, [{ kind: 'count' }]))[0]
      expect(await count()).toBe(2)
      await older.deleteOne('things', records[0]?.id ?? '')
      expect(await count()).toBe(1)
      await older.delete('things', '*')
      expect(await count()).toBe(0)
    })

    it('writes on while another process adds tables and columns', async () => {
      const place = engine.fresh()
      const older = (await open(place.open(), NARROW, audit)).as(OWNER)
      await older.insert('things', [{ fields: { name: 'x' } }])
      await open(place.open(), HARMLESS, audit)
      const { records } = await older.insert('things', [{ fields: { name: 'y' } }])
      await older.updateOne('things', records[0]?.id ?? '', { size: 3 })
      expect((await older.get('things')).records.length).toBe(2)
    })

    it.each(TIGHTER)('follows another process that makes a column %s', async (_rule, tables, fields, code) => {
      const place = engine.fresh()
      const vault = await open(place.open(), NARROW, audit)
      const older = asLoose(vault.as(OWNER))
      const { id } = await older.insertOne('things', { name: 'x' })
      const newer = await open(place.open(), tables, audit)
      // The third process opens only now, with the older schema.
      const late = asLoose((await open(place.open(), NARROW, audit)).as(OWNER))
      let count = 1
      for (const session of [older, late]) {
        const inserted = session.insertOne('things', { ...fields, ...(code === undefined && { name: `y${count}` }) })
        if (code === undefined) await inserted.then(() => count++)
        else await expect(inserted).rejects.toMatchObject({ code })
        await session.updateOne('things', id, { size: count })
      }
      expect((await older.get('things')).records.length).toBe(count)
      expect((await newer.verifyRecords()).findings).toEqual([])
      await older.delete('things', [id])
    })

    it('is stopped when another process adds a column that is required', async () => {
      const place = engine.fresh()
      const vault = await open(place.open(), NARROW, audit)
      const older = vault.as(OWNER)
      await open(place.open(), withMust(column.string({ required: true })), audit)
      const late = (await open(place.open(), NARROW, audit)).as(OWNER)
      const refused = {
        code: 'failed_precondition',
        message: expect.stringContaining(
          'column "must" of table "things" is required, and the schema of this process leaves it out. Restart the process with a schema that has it.',
        ),
        details: [{ table: 'things', column: 'must' }],
      }
      for (const session of [older, late]) {
        await expect(session.insert('things', [{ fields: { name: 'y' } }])).rejects.toMatchObject(refused)
        await session.insert('others', [{ fields: { text: 'fine' } }])
      }
      const inside = vault.transaction(async (within) => {
        await within.as(OWNER).insert('others', [{ fields: { text: 'rolled back' } }])
        await within.as(OWNER).insert('things', [{ fields: { name: 'y' } }])
      })
      await expect(inside).rejects.toMatchObject(refused)
      expect((await older.get('others')).records.length).toBe(2)
      expect((await older.get('things')).records.length).toBe(0)
    })

    it('commits a write in flight before digests are filled, and writes them after', async () => {
      const place = engine.fresh()
      const vault = await open(place.open(), NARROW, audit)
      await vault.as(OWNER).insert('things', [{ fields: { name: 'first' } }])
      let written = () => {}
      const isWritten = new Promise<void>((resolve) => {
        written = resolve
      })
      let commit = () => {}
      const mayCommit = new Promise<void>((resolve) => {
        commit = resolve
      })
      const writing = vault.transaction(async (within) => {
        await within.as(OWNER).insert('things', [{ fields: { name: 'in flight' } }])
        written()
        await mayCommit
      })
      await isWritten
      const opening = open(place.open(), UNIQUE, audit)
      // Far longer than an opening that does not wait takes.
      await new Promise((resolve) => setTimeout(resolve, 300))
      commit()
      await writing
      const newer = asLoose((await opening).as(OWNER))
      const found = await newer.get('things', { where: { name: 'in flight' } })
      expect(found.records.length).toBe(1)
      await expect(newer.insert('things', [{ fields: { name: 'in flight' } }])).rejects.toMatchObject({ code: 'conflict' })
      await expect(vault.as(OWNER).insert('things', [{ fields: { name: 'in flight' } }])).rejects.toMatchObject({
        code: 'conflict',
      })
    })

    it.each([
      ['an insert', UNIQUE],
      ['an update', REQUIRED],
    ] as const)(
      'runs %s again that was sealed before another call of the process read the newer schema',
      async (what, tables) => {
        const place = engine.fresh()
        const { storage, interpose } = interposedStorage(place.open())
        const session = (await open(storage, NARROW, audit)).as(OWNER)
        const { records } = await session.insert('things', [{ fields: { name: 'a' } }, { fields: { name: 'b' } }])
        const [first = '', second = ''] = records.map(({ id }) => id)
        const newer: Vault[] = []
        const isDone = interpose({
          isDue: ({ method }) => method === 'begin' || method === 'commit',
          async work() {
            newer.push(await open<SchemaDefinition>(place.open(), tables, audit))
            await session.updateOne('things', second, { name: 'B' })
          },
        })
        if (what === 'an insert') await session.insert('things', [{ fields: { name: 'A' } }])
        else await expect(session.updateOne('things', first, { name: null })).rejects.toMatchObject({ code: 'unprocessable' })
        expect(isDone()).toBe(true)
        const names = (await session.get('things')).records.map(({ fields }) => fields.name)
        expect(names).toEqual(what === 'an insert' ? ['a', 'B', 'A'] : ['a', 'B'])
        const again = session.insert('things', [{ fields: { name: 'A' } }])
        if (what === 'an insert') await expect(again).rejects.toMatchObject({ code: 'conflict' })
        else await again
        expect(await newer[0]?.verifyRecords()).toMatchObject({ ok: true })
      },
    )

    it('stores no record without its digest while another process makes a column unique', async () => {
      const place = engine.fresh()
      const writers = await Promise.all(Array.from({ length: 3 }, () => open(place.open(), NARROW, audit)))
      await writers[0]?.as(OWNER).insert(
        'things',
        Array.from({ length: 600 }, (_, i) => ({ fields: { name: `n${i}` } })),
      )
      let isOver = false
      const working = writers.map(async (vault, writer) => {
        for (let i = 0; i < 20 || (i < 400 && !isOver); i++)
          await vault.as(OWNER).insert('things', [{ fields: { name: `w${writer}-${i}` } }])
      })
      await new Promise((resolve) => setTimeout(resolve, 50))
      const newer = asLoose((await open(place.open(), UNIQUE, audit)).as(OWNER))
      isOver = true
      await Promise.all(working)
      const names: string[] = []
      for (let offset = 0; ; offset += 1000) {
        const { records } = await newer.get('things', { offset, limit: 1000 })
        for (const { fields } of records) names.push(String(fields.name))
        if (records.length < 1000) break
      }
      for (let start = 0; start < names.length; start += 500) {
        const asked = names.slice(start, start + 500)
        expect((await newer.get('things', { where: { name: asked }, limit: 1000 })).records.length).toBe(asked.length)
      }
    })
  })
}

describe('a host transaction of a process with an older schema', () => {
  const refused = { code: 'conflict' }

  for (const audit of ['on', 'off'] as const) {
    const sqlite = sqliteEngine()
    it(`follows the newer one on sqlite, audit ${audit}`, async () => {
      const place = sqlite.fresh()
      const vault = await open(place.open(), NARROW, audit)
      await vault.as(OWNER).insert('things', [{ fields: { name: 'x' } }])
      await open(place.open(), UNIQUE, audit)
      const host = new Database(place.address().filename)
      host.exec('begin immediate')
      const within = vault.withTransaction(host).as(OWNER)
      await expect(within.insert('things', [{ fields: { name: 'x' } }])).rejects.toMatchObject(refused)
      await within.insert('others', [{ fields: { text: 'fine' } }])
      host.exec('commit')
      host.close()
      expect((await vault.as(OWNER).get('others')).records.length).toBe(1)
    })

    it.each(['read committed', 'repeatable read'])(
      `follows the newer one on postgres at %s, audit ${audit}`,
      async (isolation) => {
        const database = await freshDatabase(inject('postgresUrl'))
        const pool = new pg.Pool({ connectionString: database.url, max: 8 })
        const vault = await open(postgresStorage({ pool }), NARROW, audit)
        await vault.as(OWNER).insert('things', [{ fields: { name: 'x' } }])
        await open(postgresStorage({ pool }), UNIQUE, audit)
        const client = await pool.connect()
        await client.query(`begin isolation level ${isolation}`)
        const within = vault.withTransaction(client).as(OWNER)
        await expect(within.insert('things', [{ fields: { name: 'x' } }])).rejects.toMatchObject(refused)
        await within.insert('others', [{ fields: { text: 'fine' } }])
        await client.query('commit')
        client.release()
        expect((await vault.as(OWNER).get('others')).records.length).toBe(1)
        await pool.end()
        await database.drop()
      },
    )
  }
})

describe('a transaction of the application on postgres that began before another process changed the schema', () => {
  for (const isolation of ['repeatable read', 'serializable']) {
    it.each([
      ['off', 'has written nothing', 'things'],
      ['off', 'has written nothing', 'others'],
      ['on', 'begins an audit chain', 'things'],
    ] as const)(`is stopped at ${isolation}, audit %s, where it %s, in table %s`, async (audit, _what, table) => {
      const database = await freshDatabase(inject('postgresUrl'))
      const pool = new pg.Pool({ connectionString: database.url, max: 8 })
      const vault = await open(postgresStorage({ pool }), NARROW, audit)
      const client = await pool.connect()
      await client.query(`begin isolation level ${isolation}`)
      // A transaction at these levels reads the state of its first statement.
      await client.query('select 1 from pg_class limit 1')
      await open(postgresStorage({ pool }), UNIQUE, audit)
      const within = asLoose(vault.withTransaction(client).as(OWNER))
      const fields = table === 'things' ? { name: 'x' } : { text: 'x' }
      await expect(within.insert(table, [{ fields }])).rejects.toMatchObject({ code: 'aborted' })
      await client.query('rollback')
      // A new transaction reads the change, and follows it.
      await client.query(`begin isolation level ${isolation}`)
      const again = asLoose(vault.withTransaction(client).as(OWNER)).insert(table, [{ fields }])
      await again
      await client.query('commit')
      client.release()
      expect((await asLoose(vault.as(OWNER)).get(table)).records).toHaveLength(1)
      await pool.end()
      await database.drop()
    })
  }
})

it('a transaction of the application at read committed that has written does not keep another process from changing the schema of other tables', async () => {
  const database = await freshDatabase(inject('postgresUrl'))
  const pool = new pg.Pool({ connectionString: database.url, max: 8 })
  const vault = await open(postgresStorage({ pool }), NARROW, 'off')
  const client = await pool.connect()
  await client.query('begin isolation level read committed')
  const within = vault.withTransaction(client).as(OWNER)
  await within.insert('others', [{ fields: { text: 'before' } }])
  await open(postgresStorage({ pool }), UNIQUE, 'off')
  await within.insert('others', [{ fields: { text: 'after' } }])
  await client.query('commit')
  client.release()
  expect((await vault.as(OWNER).get('others')).records).toHaveLength(2)
  await pool.end()
  await database.drop()
})

it('a process that begins an audit chain while another one changes the catalog follows it, on postgres', async () => {
  const database = await freshDatabase(inject('postgresUrl'))
  const pool = new pg.Pool({ connectionString: database.url, max: 8 })
  const sound = postgresStorage({ pool })
  let opening: Promise<unknown> | undefined
  const within = (storage: Storage): Storage => ({
    ...storage,
    async find(table, filter, page) {
      const rows = await storage.find(table, filter, page)
      // The process has inserted the head of its chain, has looked at the catalog, and commits next. The other one waits, and raises this head, too.
      if (table === CATALOG.name && opening === undefined) {
        opening = open(postgresStorage({ pool }), UNIQUE)
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
      return rows
    },
  })
  const slow: StorageHandle = { ...sound, transaction: (work) => sound.transaction((storage) => work(within(storage))) }
  const session = (await open(slow, NARROW)).as(OWNER)
  await session.insert('others', [{ fields: { text: 'begins a chain' } }])
  await opening
  expect(opening).toBeDefined()
  await session.insert('things', [{ fields: { name: 'x' } }])
  await expect(session.insert('things', [{ fields: { name: 'x' } }])).rejects.toMatchObject({ code: 'conflict' })
  await pool.end()
  await database.drop()
})
