/** Connections that end, fall silent or are reset at the worst moment: bounded errors, no lost chain, and the next call works. */
import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { type PostgresOptions, postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PhysicalTable, StorageHandle } from '../../../src/core/ports/storage.ts'
import { type FaultyProxy, onceWith, startFaultyProxy } from '../../support/postgres/faulty-proxy.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const NOTES: PhysicalTable = {
  name: 'notes',
  columns: [{ name: 'title', type: 'text' }],
  indexes: [{ columns: ['title'], unique: true }],
}

const database = await freshDatabase(inject('postgresUrl'))
const admin = new pg.Pool({ connectionString: database.url })
let proxy: FaultyProxy
const endings: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  proxy = await startFaultyProxy(database.url)
})
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
  await proxy.stop()
})
afterAll(async () => {
  await admin.end()
  await database.drop()
})

/** A limit of a statement that is short to wait for, and long enough for one that prepares a table on a busy machine. */
const STATEMENT_MS = 1000
/** How long a connection can leave a statement without an answer then. */
const SILENCE_MS = 2 * STATEMENT_MS

let schemas = 0
/** Options of a storage in a schema of its own, behind the proxy. */
function behindProxy(options: Partial<PostgresOptions> = {}): PostgresOptions {
  return { connectionString: proxy.url, schema: `lost_${++schemas}`, ...options }
}

function open(options: PostgresOptions): StorageHandle {
  const storage = postgresStorage(options)
  endings.push(() => storage.close())
  return storage
}

/** A pool of the application behind the proxy, without any limits of its own. */
function applicationPool(config: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: proxy.url, max: 4, ...config })
  pool.on('error', () => {})
  endings.push(() => pool.end())
  return pool
}

const withoutPool = ({ schema, timeouts }: PostgresOptions): PostgresOptions => ({
  pool: applicationPool(),
  ...(schema === undefined ? {} : { schema }),
  ...(timeouts === undefined ? {} : { timeouts }),
})

/** What a server sends that an operator stops, as one message; or that ends a connection for another reason. */
function fatal(state = '57P01'): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${state}\0Mterminating connection due to administrator command\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(4 + fields.length, 1)
  return Buffer.concat([head, fields])
}

/** Ends the bytes of a server that is ready for the first statement. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

describe('a FATAL in the same packet as the first ReadyForQuery', () => {
  for (const kind of ['own', 'application'] as const) {
    it(`on a pool of the ${kind} is an error of the call, not of the process`, async () => {
      const options = behindProxy()
      const storage = open(kind === 'own' ? options : withoutPool(options))
      let times = 0
      proxy.intercept({
        fromServer: (bytes) => {
          if (times > 0 || !bytes.subarray(-6).equals(READY)) return 'pass'
          times++
          return { insteadThenCut: Buffer.concat([bytes, fatal()]) }
        },
      })
      // An error without a listener fails the whole run, whatever this call throws.
      await expect(storage.transaction((inner) => inner.prepare([NOTES]))).rejects.toMatchObject({ code: 'unavailable' })
      expect(times).toBe(1)
      await storage.prepare([NOTES])
    })
  }
})

it('a connection that the server ended because it was idle says what to change', async () => {
  const storage = open(behindProxy())
  await storage.prepare([NOTES])
  proxy.intercept({ fromServer: () => ({ insteadThenCut: fatal('57P05') }) })
  const message = expect.stringContaining('raise idle_session_timeout')
  await expect(storage.get('notes', [1])).rejects.toMatchObject({ code: 'unavailable', message })
  proxy.intercept({})
  expect(await storage.get('notes', [1])).toEqual([undefined])
})

/** How the client learns that a COMMIT was lost, and what the network did to it. */
const LOSSES = {
  'a reset': { fate: 'reset', options: {} },
  'a reset, with a statement_timeout of the role': { fate: 'reset', options: {}, settings: '-c statement_timeout=500' },
  'a reset, with a lock_timeout of the role': { fate: 'reset', options: {}, settings: '-c lock_timeout=300' },
  'silence, and a limit of the storage': { fate: 'silence', options: { timeouts: { statementMs: 500 } } },
  'silence, and a query_timeout of the driver': { fate: 'silence', options: {}, query: 'query_timeout=500' },
} as const

describe('a transaction that the server keeps open after its connection is lost', () => {
  for (const [name, loss] of Object.entries(LOSSES)) {
    it(`by ${name} holds up no later call`, async () => {
      const url = new URL(proxy.url)
      if ('settings' in loss) url.searchParams.set('options', loss.settings)
      const query = 'query' in loss ? `${url.search === '' ? '?' : '&'}${loss.query}` : ''
      const storage = open(behindProxy({ connectionString: url.href + query, maxConnections: 4, ...loss.options }))
      const vault = await openPeople(storage)
      const session = vault.as(OWNER)
      const { records } = await session.insert('people', [{ fields: { name: 'Ada' } }])
      const id = records[0]?.id ?? ''

      proxy.intercept({ fromClient: onceWith('commit\0', loss.fate) })
      const lost = vault.transaction((inner) => inner.as(OWNER).insert('people', [{ fields: { name: 'Bob' } }]))
      await expect(lost).rejects.toMatchObject({ code: 'outcome_unknown' })
      const { rows } = await admin.query(
        "select count(*) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()",
      )
      expect(rows).toEqual([{ count: '1' }])

      for (let turn = 0; turn < 4; turn++) {
        await session.insert('people', [{ fields: { name: `after ${turn}` } }])
        expect((await session.getOne('people', id)).id).toBe(id)
      }
      await Promise.all([0, 1, 2, 3].map(() => vault.transaction(async (inner) => inner.as(OWNER).getOne('people', id))))
      proxy.dropLost()
      expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    })
  }
})

/** Text of the one statement that stores an insert with its event. */
const ONE_STATEMENT = 'patched as ('

describe('an insert and its event in one statement whose connection is lost', () => {
  /** A vault whose next insert is one statement, because the head of its chain is known; its text is sent for the first time. */
  async function openKnowing() {
    const vault = await openPeople(open(behindProxy({ maxConnections: 2 })))
    const session = vault.as(OWNER)
    await session.insert('people', [{ fields: { name: 'Ada' } }])
    const names = async (): Promise<unknown[]> =>
      (await session.get('people', { redaction: 'PLAIN_TEXT' })).records.map(({ fields }) => fields.name)
    return { vault, session, names }
  }

  it('before it arrives is of unknown outcome, and the vault works on', async () => {
    const { vault, session, names } = await openKnowing()
    proxy.intercept({ fromClient: onceWith(ONE_STATEMENT, 'reset') })
    await expect(session.insert('people', [{ fields: { name: 'lost' } }])).rejects.toMatchObject({ code: 'outcome_unknown' })
    proxy.mend()
    await session.insert('people', [{ fields: { name: 'after' } }])
    expect(await names()).toEqual(['Ada', 'after'])
    proxy.dropLost()
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('after it committed is found by its event, and the insert succeeds once', async () => {
    const { vault, session, names } = await openKnowing()
    let isSent = false
    let cuts = 0
    proxy.intercept({
      fromClient(bytes) {
        isSent ||= bytes.includes(ONE_STATEMENT)
        return 'pass'
      },
      fromServer(bytes) {
        // The answer of a statement that has committed.
        if (!isSent || cuts > 0 || !bytes.includes('SELECT 1\0')) return 'pass'
        cuts++
        return 'reset'
      },
    })
    await session.insert('people', [{ fields: { name: 'found' } }])
    expect(cuts).toBe(1)
    proxy.mend()
    expect(await names()).toEqual(['Ada', 'found'])
    proxy.dropLost()
    const { ok, eventCount } = await vault.verifyAudit()
    expect({ ok, eventCount }).toEqual({ ok: true, eventCount: 3 })
  })

  it('by the server, which ends it, is of unknown outcome, and stores nothing', async () => {
    const storage = open(behindProxy())
    await storage.prepare([NOTES])
    const holder = await admin.connect()
    await holder.query(`begin; lock table lost_${schemas}.notes in exclusive mode`)
    const changes = { updates: [], inserts: [{ table: 'notes', rows: [{ id: 1, title: 'one' }] }] }
    const ended = storage.commit(changes).catch((error: unknown) => error)
    const waiting = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%patched as (%'`
    while ((await admin.query(waiting)).rowCount === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(await ended).toMatchObject({ code: 'outcome_unknown' })
    await holder.query('rollback')
    holder.release()
    expect(await storage.get('notes', [1])).toEqual([undefined])
    expect(await storage.commit(changes)).toBe(true)
  })
})

describe('a network that falls silent, and close', () => {
  for (const kind of ['own', 'application'] as const) {
    it(`makes a statement on a pool of the ${kind} unavailable, and its connection is replaced`, async () => {
      const options = behindProxy({ timeouts: { statementMs: STATEMENT_MS } })
      const storage = open(kind === 'own' ? options : withoutPool(options))
      await storage.prepare([NOTES])
      for (const call of [() => storage.get('notes', [1]), () => storage.transaction((inner) => inner.get('notes', [1]))]) {
        proxy.intercept({ fromClient: onceWith('', 'pass, then silence') })
        await expect(call()).rejects.toMatchObject({ code: 'unavailable', cause: { message: 'PostgreSQL reported ETIMEDOUT' } })
        expect(await call()).toEqual([undefined])
      }
      proxy.dropLost()
    })
  }

  it('is noticed on a connection that was idle for longer than the limit', async () => {
    const storage = open(behindProxy({ maxConnections: 1, timeouts: { statementMs: STATEMENT_MS } }))
    await storage.prepare([NOTES])
    await pause(1.5 * SILENCE_MS)
    proxy.intercept({ fromClient: onceWith('', 'silence') })
    await expect(storage.get('notes', [1])).rejects.toMatchObject({ code: 'unavailable' })
    proxy.dropLost()
  })

  it('is noticed within the limit of each storage on one pool', async () => {
    const pool = applicationPool({ max: 1 })
    const [patient, hasty] = [
      open({ pool, schema: 'patient' }),
      open({ pool, schema: 'hasty', timeouts: { statementMs: STATEMENT_MS } }),
    ]
    await hasty.prepare([NOTES])
    await patient.prepare([NOTES])
    proxy.intercept({ fromClient: onceWith('', 'silence') })
    await expect(hasty.get('notes', [1])).rejects.toMatchObject({ code: 'unavailable' })
    expect(await patient.get('notes', [1])).toEqual([undefined])
    proxy.dropLost()
  })

  it('while connecting makes a call on an unlimited pool of the application unavailable', async () => {
    const storage = open(withoutPool(behindProxy({ timeouts: { connectMs: 300 } })))
    proxy.intercept({ fromClient: () => 'silence' })
    await expect(storage.prepare([NOTES])).rejects.toMatchObject({ code: 'unavailable' })
    await proxy.stop()
  })

  it('does not hold up close', async () => {
    const storage = postgresStorage(behindProxy({ timeouts: { closeMs: 300 } }))
    await storage.prepare([NOTES])
    proxy.intercept({ fromClient: () => 'silence' })
    const reading = storage.get('notes', [1])
    const failed = expect(reading).rejects.toMatchObject({ code: 'unavailable' })
    await storage.close()
    await failed
    proxy.dropLost()
  })

  it('does not make close forget calls that wait for a connection', async () => {
    const storage = postgresStorage(behindProxy({ maxConnections: 1 }))
    await storage.prepare([NOTES])
    const calls = Array.from({ length: 5 }, (_, n) => storage.insert('notes', [{ id: n, title: `${n}` }]))
    await storage.close()
    expect(await Promise.all(calls)).toHaveLength(5)
  })

  it('does not keep the process from ending', async () => {
    proxy.intercept({ fromClient: onceWith('lost_marker', 'silence') })
    const program = `
      import { postgresStorage } from ${JSON.stringify(new URL('../../../src/adapters/postgres/index.ts', import.meta.url).href)}
      const storage = postgresStorage({ connectionString: ${JSON.stringify(proxy.url)}, schema: 'lost_marker', timeouts: { closeMs: 300 } })
      storage.prepare([]).catch((error) => console.log(error.code))
      await storage.close()`
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--import',
      './scripts/resolve-sources.ts',
      '--input-type=module-typescript',
      '-e',
      program,
    ])
    expect(stdout).toContain('unavailable')
  })
})

/** The limits inside a transaction of a storage, as a trigger there sees them. */
async function limitsInside(options: PostgresOptions): Promise<unknown> {
  const storage = open(options)
  await storage.prepare([NOTES])
  await admin.query(`
    create or replace function ${options.schema}.note_limits() returns trigger language plpgsql as $$ begin
      new.title := current_setting('statement_timeout') || ' ' || current_setting('idle_in_transaction_session_timeout');
      return new;
    end $$;
    create or replace trigger note_limits before insert on ${options.schema}.notes
      for each row execute function ${options.schema}.note_limits()`)
  await storage.transaction(async (inner) => {
    await inner.delete('notes', { ids: [1] })
    await inner.insert('notes', [{ id: 1, title: '' }])
  })
  const [row] = await storage.get('notes', [1])
  return String(row?.title).split(' ')
}

describe('limits of the server', () => {
  const lockTitle = async (schema: string, id: number): Promise<pg.PoolClient> => {
    const client = await admin.connect()
    await client.query('begin')
    await client.query(`insert into ${schema}.notes (id, version, title) values (${id}, 1, 'taken')`)
    return client
  }

  for (const kind of ['own', 'application'] as const) {
    it(`end a statement that waits in a transaction on a pool of the ${kind}`, async () => {
      const options = behindProxy({ timeouts: { statementMs: STATEMENT_MS } })
      const storage = open(kind === 'own' ? options : withoutPool(options))
      await storage.prepare([NOTES])
      const holder = await lockTitle(options.schema ?? '', 1)
      const waiting = storage.transaction((inner) => inner.insert('notes', [{ id: 2, title: 'taken' }]))
      await expect(waiting).rejects.toMatchObject({ code: 'unavailable', cause: { message: 'PostgreSQL reported 57014' } })
      await holder.query('rollback')
      holder.release()
    })

    it(`end a transaction that pauses on a pool of the ${kind}`, async () => {
      const options = behindProxy({ timeouts: { idleInTransactionMs: 1000 } })
      const storage = open(kind === 'own' ? options : withoutPool(options))
      await storage.prepare([NOTES])
      const work = storage.transaction(async (inner) => {
        await inner.insert('notes', [{ id: 1, title: 'a' }])
        const isOpen = "select 1 from pg_stat_activity where state = 'idle in transaction' and datname = current_database()"
        await expect.poll(async () => (await admin.query(isOpen)).rows.length).toBe(0)
        await inner.insert('notes', [{ id: 2, title: 'b' }])
      })
      await expect(work).rejects.toMatchObject({ code: 'unavailable', cause: { message: 'PostgreSQL reported 25P03' } })
      expect(await storage.get('notes', [1])).toEqual([undefined])
    })
  }

  it('do not end the making of tables, and a host keeps its own', async () => {
    const options = behindProxy({ timeouts: { statementMs: 1 } })
    await open(options)
      .prepare([NOTES])
      .catch(() => {})
    const client = await admin.connect()
    await client.query("begin; set local statement_timeout = '7s'; set local lock_timeout = '8s'")
    await open(behindProxy()).joinTransaction(client).prepare([NOTES])
    const { rows } = await client.query("select current_setting('statement_timeout') s, current_setting('lock_timeout') l")
    await client.query('rollback')
    client.release()
    expect(rows).toEqual([{ s: '7s', l: '8s' }])
  })

  it('yield to what the connection string or the application sets, unless they are given', async () => {
    const options = '?options=-c%20statement_timeout%3D7s%20-c%20idle_in_transaction_session_timeout%3D8s'
    const timeouts = { statementMs: 5000, idleInTransactionMs: 6000 }
    const pool = applicationPool({ connectionString: proxy.url + options })
    const address = { connectionString: proxy.url + options }
    expect(await limitsInside(behindProxy())).toEqual(['1min', '1min'])
    expect(await limitsInside(behindProxy(address))).toEqual(['7s', '8s'])
    expect(await limitsInside(behindProxy({ ...address, timeouts }))).toEqual(['5s', '6s'])
    expect(await limitsInside(behindProxy({ ...address, timeouts, preparedStatements: false }))).toEqual(['5s', '6s'])
    expect(await limitsInside({ pool, schema: 'lost_pool' })).toEqual(['7s', '8s'])
    expect(await limitsInside({ pool, schema: 'lost_pool', timeouts })).toEqual(['5s', '6s'])
    expect(await limitsInside(withoutPool(behindProxy()))).toEqual(['1min', '1min'])
    const { rows } = await pool.query("select current_setting('statement_timeout') s")
    expect(rows).toEqual([{ s: '7s' }])
  })

  it('must be whole numbers of milliseconds', () => {
    for (const timeouts of [
      { connectMs: 0 },
      { statementMs: -1 },
      { closeMs: 1.5 },
      { idleInTransactionMs: Number.NaN },
      { other: 5 },
    ]) {
      expect(() => postgresStorage({ connectionString: database.url, timeouts })).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      )
    }
  })
})
