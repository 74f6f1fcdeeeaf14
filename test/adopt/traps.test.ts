/** What goes wrong where an existing table is followed by triggers: each trap of the engines, and that adopting does not fall into it. */
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import type { Adoption } from '../../src/adopt/index.ts'
import { plainRows, vaultRows } from '../support/adopt/customers.ts'
import { type Host, onEachHost, openHost, TABLE } from '../support/adopt/host.ts'

let host: Host
afterEach(() => host.close())

const THREE = `insert into customers (id, name, email, phone) values (1, 'A', 'a@x', '1'), (2, 'B', 'b@x', '2'), (3, 'C', 'c@x', null)`

/** A table of three rows that is in `overlap`. */
async function adopted(engine: Host['engine'], before = ''): Promise<Adoption> {
  host = await openHost(engine)
  await host.script(`${THREE}; ${before}`)
  const adoption = await host.adopt()
  await adoption.run()
  return adoption
}

/** Drains, switches, and asserts that rows and records are equal. */
async function assertEqual(adoption: Adoption): Promise<void> {
  await adoption.run()
  const plain = await plainRows(host)
  await adoption.switchOver()
  expect(await vaultRows(host)).toEqual({ rows: plain, records: plain.size })
}

onEachHost('adopting', (engine) => {
  it('follows rows that exchange unique values', async () => {
    const adoption = await adopted(engine)
    await host.script(
      `update customers set email = null where id = 1; update customers set email = 'a@x' where id = 2; update customers set email = 'b@x' where id = 1`,
    )
    await assertEqual(adoption)
  })

  it('follows rows that exchange keys, and keeps their records', async () => {
    const adoption = await adopted(engine)
    const before = await host.all('select id, record_id from strongroom_customers_map order by id')
    await host.script(
      'update customers set id = 9 where id = 1; update customers set id = 1 where id = 2; update customers set id = 2 where id = 9',
    )
    await adoption.run()
    const after = await host.all('select id, record_id from strongroom_customers_map order by id')
    expect([after[0]?.[1], after[1]?.[1]]).toEqual([before[1]?.[1], before[0]?.[1]])
    await assertEqual(adoption)
  })

  it('gives a row that takes the key of a deleted one a record of its own', async () => {
    const adoption = await adopted(engine)
    const [[, old] = []] = await host.all('select id, record_id from strongroom_customers_map where id = 1')
    await host.script(`delete from customers where id = 1; insert into customers (id, name) values (1, 'Other')`)
    await adoption.run()
    const [[, now] = []] = await host.all('select id, record_id from strongroom_customers_map where id = 1')
    expect(now).not.toBe(old)
    await assertEqual(adoption)
  })

  it('lists rows that the vault refuses, without their values, and stops no other', async () => {
    host = await openHost(engine)
    await host.script(`${THREE}; insert into customers (id, email) values (4, ' A@X '), (5, '${'y'.repeat(101)}')`)
    const adoption = await host.adopt()
    const { findings, ok } = await adoption.plan()
    expect(ok).toBe(false)
    const key = (id: number) => (engine === 'sqlite' ? `[${id}]` : `["${id}"]`)
    const refusing = findings.filter(({ level }) => level === 'refused')
    expect(refusing.map(({ code, column, rows, keys }) => ({ code, column, rows, keys }))).toEqual([
      { code: 'unprocessable', column: 'email', rows: 1, keys: [key(5)] },
      { code: 'conflict', column: 'email', rows: 1, keys: [key(4)] },
    ])
    expect(JSON.stringify(findings)).not.toContain('yyy')
    const { refused } = await adoption.run()
    expect(refused.map(({ column, code }) => `${column} ${code}`).sort()).toEqual(['email conflict', 'email unprocessable'])
    await expect(adoption.switchOver()).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('2 rows'),
    })
    await host.script(`update customers set email = 'd@x' where id = 4; update customers set email = 'y' where id = 5`)
    await assertEqual(adoption)
  })

  it('leaves refused rows with their plaintext where it is asked to', async () => {
    host = await openHost(engine)
    await host.script(`${THREE}; insert into customers (id, email) values (4, 'A@X')`)
    const adoption = await host.adopt()
    await adoption.run()
    await adoption.switchOver({ leaveRefused: true })
    await adoption.finish()
    expect([...(await plainRows(host)).values()].filter((row) => row !== '[null,null,null]')).toEqual(['[null,"A@X",null]'])
    expect((await vaultRows(host)).records).toBe(3)
  })

  it('finds a row that was changed around the triggers, and reads it again', async () => {
    const adoption = await adopted(engine)
    // A planted fault: the capture loses updates.
    await host.script(
      engine === 'sqlite'
        ? 'drop trigger strongroom_customers_update'
        : 'alter table customers disable trigger strongroom_customers_update',
    )
    await host.script(`update customers set phone = 'lost' where id = 2; update strongroom_adopt set state = 'verify'`)
    expect((await vaultRows(host)).rows).not.toEqual(await plainRows(host))
    await adoption.run()
    await assertEqual(adoption)
  })

  it('demands that old instances have been quiet for as long as it is asked to', async () => {
    const adoption = await adopted(engine)
    await host.script(`update customers set phone = 'p' where id = 2`)
    await expect(adoption.switchOver({ quietSeconds: 60 })).rejects.toMatchObject({ code: 'failed_precondition' })
    expect(await adoption.status()).toMatchObject({ state: 'overlap', notes: 0 })
  })

  it('refuses other columns than those that it was begun with', async () => {
    await adopted(engine)
    await expect(host.adopt({ columns: ['email'] })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('walks a key of two columns, one of them text', async () => {
    host = await openHost(
      engine,
      `create table customers (part text, nr {big}, name text, email text, phone text, primary key (part, nr))`,
    )
    await host.script(
      `insert into customers values ('a', 1, 'A', 'a@x', null), ('a', 2, 'B', 'b@x', null), ('b''"', 1, 'C', 'c@x', null)`,
    )
    const adoption = await host.adopt({ maxRows: 2 })
    await adoption.run()
    await host.script(`update customers set email = 'd@x', nr = 7 where part = 'b''"'; delete from customers where nr = 2`)
    await adoption.run()
    await adoption.switchOver()
    await adoption.finish()
    await adoption.back()
    expect(await host.all('select part, nr, name, email from customers order by part')).toEqual([
      ['a', 1, 'A', 'a@x'],
      [`b'"`, 7, 'C', 'd@x'],
    ])
  })

  it('refuses a table without a primary key, and one that does not exist', async () => {
    host = await openHost(engine, `${TABLE}; create table loose (email text)`)
    await expect(host.adopt({ table: 'loose', vaultTable: 'customers' })).rejects.toMatchObject({ code: 'unsupported' })
    await expect(host.adopt({ table: 'none', vaultTable: 'customers' })).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('adopting on sqlite', () => {
  it('deletes the record of a row that REPLACE has removed, which leaves no note', async () => {
    const adoption = await adopted('sqlite')
    await host.script(
      `insert or replace into customers (id, name, email) values (7, 'R', 'a@x'); insert or replace into customers (id, name, email) values (8, 'R', 'q@x')`,
    )
    await host.script(`update or replace customers set email = 'q@x', phone = '9' where id = 2`)
    await assertEqual(adoption)
    expect([...(await plainRows(host)).keys()]).toEqual(['2', '3', '7'])
  })

  it('notes a column that a trigger of the application changes, and rows that go by a cascade', async () => {
    host = await openHost(
      'sqlite',
      `create table firms (id integer primary key); create table customers (id integer primary key, name text, email text, phone text, note text, firm integer references firms(id) on delete cascade);
      create trigger own_lower before update on customers when new.note = 'upper' begin update customers set email = upper(email) where id = new.id; end`,
    )
    await host.script(`insert into firms values (1); ${THREE}; update customers set firm = 1 where id = 3`)
    const adoption = await host.adopt()
    expect((await adoption.plan()).findings.map(({ code }) => code)).toContain('host_trigger')
    await adoption.run()
    await host.script(`update customers set note = 'upper' where id = 1; delete from firms`)
    await assertEqual(adoption)
    expect((await plainRows(host)).get('1')).toContain('A@X')
  })

  it('changes nothing of what the application is answered: rowids, changes, INSERT without a list of columns', async () => {
    await adopted('sqlite')
    if (host.address.engine !== 'sqlite') throw new Error('not SQLite')
    const application = new Database(host.address.filename)
    const { changes, lastInsertRowid } = application.prepare(`insert into customers values (null, 'N', 'n@x', null, null)`).run()
    expect([changes, Number(lastInsertRowid), application.prepare('select last_insert_rowid()').pluck().get()]).toEqual([1, 4, 4])
    application.close()
  })

  it('refuses NULL in a key, and finds values that would come back in another form', async () => {
    host = await openHost('sqlite', 'create table customers (id text primary key, name, email text, phone text)')
    await host.script(`insert into customers (id, name) values (null, 'a'), ('x', 12), ('y', x'ff')`)
    const { findings, ok } = await (await host.adopt()).plan()
    expect(ok).toBe(false)
    expect(findings.map(({ code, rows }) => [code, rows])).toEqual([
      ['null_key', 1],
      ['unprocessable', 2],
    ])
  })

  it('leaves no value in the file and its log after a clean finish', async () => {
    host = await openHost('sqlite')
    await host.script(
      `insert into customers (id, name, email) with recursive s(i) as (select 1 union all select i + 1 from s where i < 400) select i, 'plainsecret' || i, 'plainsecret' || i from s`,
    )
    const adoption = await host.adopt()
    await adoption.run()
    await adoption.switchOver()
    expect(await countInFiles(host, 'plainsecret')).toBeGreaterThan(0)
    const { residue } = await adoption.finish({ clean: true })
    expect(await countInFiles(host, 'plainsecret')).toBe(0)
    expect(residue.join()).toContain('backups')
  })
})

/** How often a text is in the file of a database and in its log. */
async function countInFiles({ address }: Host, text: string): Promise<number> {
  const { existsSync, readFileSync } = await import('node:fs')
  const { filename } = address as { filename: string }
  const files = [filename, `${filename}-wal`].filter((file) => existsSync(file))
  return files.map((file) => readFileSync(file, 'latin1').split(text).length - 1).reduce((left, right) => left + right)
}

describe('adopting on postgres', () => {
  it('notes a column that a BEFORE trigger of the application changes', async () => {
    const adoption = await adopted(
      'postgres',
      `create function upper_mail() returns trigger language plpgsql as $$ begin new.email := upper(new.email); return new; end $$;
      create trigger app before update on customers for each row execute function upper_mail()`,
    )
    await host.script(`update customers set note = 'x' where id = 1`)
    expect(await adoption.status()).toMatchObject({ notes: 1 })
    await assertEqual(adoption)
  })

  it('follows TRUNCATE, and rows that come after it', async () => {
    const adoption = await adopted('postgres')
    await host.script(`truncate customers; insert into customers (id, name) values (2, 'again')`)
    await assertEqual(adoption)
    expect((await vaultRows(host)).records).toBe(1)
  })

  it('notes rows that replication applies', async () => {
    const adoption = await adopted('postgres')
    await host.script(
      `begin; set local session_replication_role = replica; update customers set phone = 'r' where id = 1; insert into customers (id) values (8); commit`,
    )
    expect(await adoption.status()).toMatchObject({ notes: 2 })
    await assertEqual(adoption)
  })

  it('notes changes of a role that has no grant on the notes', async () => {
    const adoption = await adopted('postgres')
    const role = `app_${process.pid}`
    await host.script(`create role ${role}; grant select, update on customers to ${role}`)
    await host.script(`begin; set local role ${role}; update customers set phone = 'g' where id = 1; commit`)
    await assertEqual(adoption)
    await host.script(`drop owned by ${role}; drop role ${role}`)
  })

  it('follows a row that moves between partitions', async () => {
    host = await openHost(
      'postgres',
      `create table customers (id bigint primary key, name text, email text, phone text, note text) partition by range (id);
      create table customers_low partition of customers for values from (0) to (100); create table customers_high partition of customers for values from (100) to (200)`,
    )
    await host.script(THREE)
    const adoption = await host.adopt()
    await adoption.run()
    await host.script('update customers set id = 150 where id = 1')
    await assertEqual(adoption)
  })

  it('breaks no transaction and no prepared statement of the application', async () => {
    host = await openHost('postgres')
    await host.script(THREE)
    const { url } = host.address as { url: string }
    const application = new pg.Client({ connectionString: url })
    await application.connect()
    const prepared = { name: 'all', text: 'select * from customers where id = $1', values: [1] }
    await application.query(prepared)
    const adoption = await host.adopt()
    await adoption.capture()
    await application.query('begin isolation level repeatable read')
    await application.query(prepared)
    await adoption.run()
    await application.query(`update customers set email = 'rr@x' where id = 1`)
    await application.query('commit')
    expect((await application.query(prepared)).rows[0]).toMatchObject({ email: 'rr@x' })
    await application.end()
    await assertEqual(adoption)
  })

  it('does not hold readers and writers for long where a transaction is open, and says who holds it', async () => {
    host = await openHost('postgres')
    await host.script(THREE)
    const adoption = await host.adopt()
    await adoption.run()
    const { switched, waited } = await host
      .transaction(async (_, run) => {
        await run(`update customers set note = 'long' where id = 1`)
        const switching = adoption.switchOver()
        const began = performance.now()
        await host.script(`update customers set note = 'other' where id = 2`)
        return { switched: switching, waited: performance.now() - began }
      })
      .then(async ({ switched: switching, waited: ms }) => ({ switched: await switching, waited: ms }))
    expect(switched.tries).toBeGreaterThan(0)
    expect(waited).toBeLessThan(2000)
  })

  it('refuses a role that row security hides rows from', async () => {
    host = await openHost('postgres')
    const role = `rls_${process.pid}`
    await host.script(
      `alter table customers enable row level security; create role ${role} login password 'p' in role pg_read_all_data; grant all on schema public to ${role}; grant all on schema strongroom to ${role}; grant all on all tables in schema strongroom to ${role}; grant all on all sequences in schema strongroom to ${role}`,
    )
    const { url } = host.address as { url: string }
    const own = new URL(url)
    own.username = role
    own.password = 'p'
    const pool = new pg.Pool({ connectionString: own.href, max: 1 })
    const { findings, ok } = await (await host.adopt({ database: pool })).plan()
    expect(ok).toBe(false)
    expect(findings.map(({ code }) => code)).toEqual(['row_security', 'not_owner'])
    await pool.end()
    await host.script(`drop owned by ${role}; drop role ${role}`)
  })

  it('lists what uses a column, empties it, and does not drop it', async () => {
    host = await openHost('postgres')
    await host.script(`${THREE}; create view mails as select id, email from customers`)
    const adoption = await host.adopt()
    expect((await adoption.plan()).findings).toMatchObject([
      { code: 'dependant', column: 'email', message: expect.stringContaining('view mails') },
    ])
    await adoption.run()
    await adoption.switchOver()
    await expect(adoption.finish({ dropColumns: true })).rejects.toMatchObject({ message: expect.stringContaining('view mails') })
    expect(await host.all('select email from mails where email is not null')).toEqual([])
  })

  it('leaves no value in the table and its statistics after a clean finish', async () => {
    host = await openHost('postgres')
    await host.script(
      `insert into customers (id, name, email) select i, 'common-secret', 'secret' || i from generate_series(1, 500) i; analyze customers`,
    )
    const adoption = await host.adopt()
    await adoption.run()
    await adoption.switchOver()
    const seen = `select count(*) from pg_stats where tablename = 'customers' and (most_common_vals::text like '%secret%' or histogram_bounds::text like '%secret%')`
    expect(await host.all(seen)).toEqual([[2]])
    await adoption.finish({ clean: true })
    expect(await host.all(seen)).toEqual([[0]])
  })
})
