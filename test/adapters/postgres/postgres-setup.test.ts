/** Databases and roles as an operator may leave them: other defaults, no privileges, no server. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, expect, inject, it } from 'vitest'
import { type PostgresOptions, postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PhysicalTable, StorageHandle } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { startPostgres } from '../../support/postgres/server.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const NOTES: PhysicalTable = {
  name: 'notes',
  columns: [{ name: 'title', type: 'text' }],
  indexes: [{ columns: ['title'], unique: true }],
}

const database = await freshDatabase(inject('postgresUrl'))
const admin = new pg.Pool({ connectionString: database.url })
const role = `role_${randomBytes(4).toString('hex')}`
await admin.query(`create role ${role} login password 'right'`)
const endings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})
afterAll(async () => {
  await admin.query(`drop owned by ${role}; drop role ${role}`)
  await admin.end()
  await database.drop()
})

function open(options: Partial<PostgresOptions> = {}): StorageHandle {
  const storage = postgresStorage({ connectionString: database.url, ...options })
  endings.push(() => storage.close())
  return storage
}

/** The address of the database with other parts. */
function address(parts: Partial<Pick<URL, 'username' | 'password' | 'pathname' | 'port' | 'hostname'>>): string {
  return Object.assign(new URL(database.url), parts).href
}

const asRole = address({ username: role, password: 'right' })

/** The defaults of a database that a transaction begins with unless it says otherwise. */
const DEFAULTS: Readonly<Record<string, readonly string[]>> = {
  'repeatable read': ['default_transaction_isolation=repeatable read'],
  serializable: ['default_transaction_isolation=serializable'],
  'read only': ['default_transaction_read_only=on'],
  'serializable and read only': [
    'default_transaction_isolation=serializable',
    'default_transaction_read_only=on',
    'default_transaction_deferrable=on',
  ],
}

for (const [name, settings] of Object.entries(DEFAULTS)) {
  for (const kind of ['own', 'application'] as const) {
    it(`four processes found and use a vault on a pool of the ${kind} in a database that is ${name} by default`, async () => {
      const { url, drop } = await freshDatabase(inject('postgresUrl'))
      endings.push(drop)
      const name = new URL(url).pathname.slice(1)
      for (const setting of settings) {
        const [key, value] = setting.split('=')
        await admin.query(`alter database ${name} set ${key} = '${value}'`)
      }
      const storages = [0, 1, 2, 3].map(() => {
        if (kind === 'own') return open({ connectionString: url })
        const pool = new pg.Pool({ connectionString: url, max: 3 })
        endings.push(() => pool.end())
        return postgresStorage({ pool })
      })
      const vaults = await Promise.all(storages.map((storage) => openPeople(storage)))
      const inserted = await Promise.all(
        vaults.flatMap((vault) =>
          [0, 1, 2, 3].map(async () => (await vault.as(OWNER).insert('people', [{ fields: { name: 'Ada' } }])).records[0]?.id),
        ),
      )
      expect(new Set(inserted).size).toBe(16)
      // Without the audit a write is one statement, which begins no transaction.
      const [storage] = storages
      await storage?.prepare([NOTES])
      const [id = 0] = (await storage?.reserveIds('notes', 1)) ?? []
      await storage?.insert('notes', [{ id, title: 'alone' }])
      expect(await storage?.update('notes', [{ id, version: 1, set: { title: 'changed' } }])).toEqual([true])
      expect(await storage?.delete('notes', { ids: [id] })).toEqual([id])
      for (const vault of vaults) expect(await vault.verifyAudit()).toMatchObject({ ok: true, eventCount: 16 })
    })
  }
}

it('a statement that is alone and fails to serialize runs at the isolation of the vault, on a pool of the application too', async () => {
  const { url, drop } = await freshDatabase(inject('postgresUrl'))
  endings.push(drop)
  const pool = new pg.Pool({ connectionString: url })
  endings.push(() => pool.end())
  await pool.query(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'serializable'`)
  const shared = new pg.Pool({ connectionString: url })
  endings.push(() => shared.end())
  for (const storage of [open({ connectionString: url }), postgresStorage({ pool: shared })]) {
    await storage.prepare([NOTES])
    // As a server does under so much contention that no attempt succeeds.
    await pool.query(`create or replace function refuse() returns trigger language plpgsql as $$ begin
      if current_setting('transaction_isolation') <> 'read committed' then raise exception 'lost' using errcode = '40001'; end if;
      return new; end $$; create or replace trigger refusing before insert on strongroom.notes for each row execute function refuse()`)
    const [id = 0] = await storage.reserveIds('notes', 1)
    await storage.insert('notes', [{ id, title: `alone ${id}` }])
    expect(
      await storage.commit({ updates: [], inserts: [{ table: 'notes', rows: [{ id: id + 1, title: `alone ${id + 1}` }] }] }),
    ).toBe(true)
  }
})

it('an index of another table does not stand for one of the vault that has its name', async () => {
  const { url, drop } = await freshDatabase(inject('postgresUrl'))
  endings.push(drop)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  endings.push(() => client.end())
  await open({ connectionString: url }).prepare([NOTES])
  const { rows } = await client.query(
    `select indexname from pg_indexes where schemaname = 'strongroom' and indexname <> 'notes_pkey'`,
  )
  const name = rows[0].indexname
  await client.query(
    `drop index strongroom.${name}; create table strongroom.others (a int); create index ${name} on strongroom.others (a)`,
  )
  await expect(open({ connectionString: url }).prepare([NOTES])).rejects.toMatchObject({
    cause: { message: 'PostgreSQL reported 42P07' },
  })
})

/** Why a vault cannot be opened: the code, a part of the sentence, and what PostgreSQL or the system reported. */
interface Obstacle {
  readonly options: Partial<PostgresOptions>
  readonly code: string
  readonly says: string
  readonly reported: string
}

const OBSTACLES: Readonly<Record<string, Obstacle>> = {
  'a role without CREATE on the database': {
    options: { connectionString: asRole, schema: 'not_there' },
    code: 'failed_precondition',
    says: 'Grant it CREATE on the database',
    reported: '42501',
  },
  'a role without CREATE on the schema': {
    options: { connectionString: asRole, schema: 'foreign' },
    code: 'failed_precondition',
    says: 'Make it the owner of the schema',
    reported: '42501',
  },
  'a wrong password': {
    options: { connectionString: address({ username: role, password: 'wrong' }) },
    code: 'failed_precondition',
    says: 'refused the password',
    reported: '28P01',
  },
  'an unknown role': {
    options: { connectionString: address({ username: 'not_there' }) },
    code: 'failed_precondition',
    says: 'refused the password',
    reported: '28P01',
  },
  'a missing database': {
    options: { connectionString: address({ pathname: '/not_there' }) },
    code: 'failed_precondition',
    says: 'does not exist. Create it',
    reported: '3D000',
  },
  'a server that is down': {
    options: { connectionString: address({ port: '1' }) },
    code: 'unavailable',
    says: 'No PostgreSQL server accepts connections',
    reported: 'ECONNREFUSED',
  },
  'an unknown host': {
    options: { connectionString: address({ hostname: 'not-there.invalid' }) },
    code: 'unavailable',
    says: 'host of the PostgreSQL server',
    reported: 'E',
  },
}

for (const [name, { options, code, says, reported }] of Object.entries(OBSTACLES)) {
  it(`${name} stops a vault from being opened, and the error says what to do`, async () => {
    await admin.query('create schema if not exists "foreign"')
    await expect(openPeople(open(options))).rejects.toMatchObject({
      name: 'VaultError',
      code,
      message: expect.stringContaining(says),
      cause: { message: expect.stringContaining(`PostgreSQL reported ${reported}`) },
    })
  })
}

it('a role that owns its schema needs no other privilege', async () => {
  await admin.query(`create schema for_role authorization ${role}`)
  const vault = await openPeople(open({ connectionString: asRole, schema: 'for_role' }))
  await vault.as(OWNER).insert('people', [{ fields: { name: 'Ada' } }])
  expect(await vault.verifyAudit()).toMatchObject({ ok: true })
})

it('a privilege or a login that is withdrawn later is unavailable, and works again once granted', async () => {
  await admin.query(`create schema lent; grant usage, create on schema lent to ${role}`)
  const storage = open({ connectionString: asRole, schema: 'lent', maxConnections: 1 })
  await storage.prepare([NOTES])
  await admin.query(`revoke usage on schema lent from ${role}`)
  await expect(storage.find('notes', { kind: 'all' }, { order: 'asc', limit: 1 })).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('lacks a privilege'),
  })
  await admin.query(`grant usage on schema lent to ${role}; alter role ${role} password 'other'`)
  await storage.insert('notes', [{ id: 1, title: 'a' }])
  await admin.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '${role}'`)
  await expect.poll(() => storage.get('notes', [1]).catch((error) => error.message)).toContain('PostgreSQL refused the password')
  await admin.query(`alter role ${role} password 'right'`)
  expect(await storage.get('notes', [1])).toEqual([{ id: 1, version: 1, title: 'a' }])
})

it('a server without a free connection says so', async () => {
  const server = await startPostgres({ settings: ['max_connections=5', 'superuser_reserved_connections=0'] })
  endings.push(() => server.stop())
  const pool = new pg.Pool({ connectionString: server.url, max: 5 })
  const clients = await Promise.all([0, 1, 2, 3, 4].map(() => pool.connect()))
  await expect(open({ connectionString: server.url }).prepare([NOTES])).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('no free connection'),
  })
  for (const client of clients) client.release()
  await pool.end()
})

/** Defaults that change how the server writes numbers, bytes, names and times, and how it plans. */
const WRITTEN_OTHERWISE = [
  'extra_float_digits = -15',
  'bytea_output = escape',
  'quote_all_identifiers = on',
  'standard_conforming_strings = off',
  'array_nulls = off',
  'transform_null_equals = on',
  "datestyle = 'SQL, DMY'",
  "timezone = 'Asia/Kathmandu'",
  "search_path = ''",
  'plan_cache_mode = force_generic_plan',
]

it('a database whose defaults write everything otherwise returns the same cells', async () => {
  const { url, drop } = await freshDatabase(inject('postgresUrl'))
  endings.push(drop)
  for (const setting of WRITTEN_OTHERWISE) await admin.query(`alter database ${new URL(url).pathname.slice(1)} set ${setting}`)
  const columns = [
    { name: 'part', type: 'real' },
    { name: 'title', type: 'text' },
    { name: 'sealed', type: 'bytes' },
  ] as const
  const tables: PhysicalTable[] = [{ name: 'cells', columns, indexes: [{ columns: ['title'], unique: true }] }]
  const cells = { part: 0.1 + 0.2, title: "\\ it's", sealed: new Uint8Array([0, 92, 255]) }
  const storage = open({ connectionString: url })
  await storage.prepare(tables)
  const [id = 0] = await storage.reserveIds('cells', 1)
  await storage.insert('cells', [{ id, ...cells }])
  expect(await storage.get('cells', [id])).toEqual([{ id, version: 1, ...cells }])
  expect(await storage.aggregate('cells', { kind: 'all' }, [{ kind: 'max', column: 'part' }])).toEqual([cells.part])
  await open({ connectionString: url }).prepare(tables)
})

it('a database that lacks characters is refused before anything is created', async () => {
  const { url, drop } = await freshDatabase(inject('postgresUrl'), "encoding 'LATIN1' locale 'C'")
  endings.push(drop)
  const storage = open({ connectionString: url })
  const message = expect.stringContaining('the encoding LATIN1')
  await expect(storage.prepare([NOTES])).rejects.toMatchObject({ code: 'failed_precondition', message })
})

it('a vault that exists in a database that lacks characters goes on, and says what is lacking', async () => {
  const { url, drop } = await freshDatabase(inject('postgresUrl'), "encoding 'LATIN1' locale 'C'")
  endings.push(drop)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('create schema strongroom; create table strongroom.notes (id bigint constraint notes_pkey primary key)')
  await client.query('alter table strongroom.notes add column version bigint not null')
  await client.end()
  const storage = open({ connectionString: url })
  await storage.prepare([NOTES])
  await storage.insert('notes', [{ id: 1, title: 'é' }])
  const message = expect.stringContaining('lacks a character')
  await expect(storage.insert('notes', [{ id: 2, title: 'ж' }])).rejects.toMatchObject({ code: 'unavailable', message })
})
