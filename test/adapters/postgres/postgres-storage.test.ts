/** Cases specific to PostgreSQL: concurrent preparation, text with NUL, caught errors, deadlocks, savepoints, pools of the application. */
import pg from 'pg'
import { afterAll, afterEach, describe, expect, inject, it } from 'vitest'
import { type PostgresOptions, postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PhysicalTable, PhysicalType, StorageHandle } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { queryServer } from '../../support/postgres/query-server.ts'

const database = await freshDatabase(inject('postgresUrl'))
afterAll(() => database.drop())

const CARDS: PhysicalTable = {
  name: 'cards',
  columns: [
    { name: 'body', type: 'bytes' },
    { name: 'owner', type: 'text' },
    { name: 'amount', type: 'integer' },
    { name: 'rate', type: 'real' },
  ],
  indexes: [
    { columns: ['owner'], unique: true },
    { columns: ['amount'], unique: false },
  ],
}

let schemas = 0
const opened: StorageHandle[] = []
afterEach(async () => {
  for (const handle of opened.splice(0)) await handle.close()
})

function open(schema: string, options: Partial<PostgresOptions> = { connectionString: database.url }): StorageHandle {
  const storage = postgresStorage({ schema, ...options })
  opened.push(storage)
  return storage
}

async function prepared(options?: Partial<PostgresOptions>): Promise<StorageHandle> {
  const storage = open(`own_${schemas++}`, options)
  await storage.prepare([CARDS])
  return storage
}

function asSuperuser<T extends object>(text: string): Promise<T[]> {
  return queryServer<T>(database.url, text)
}

describe('preparing', () => {
  it('creates twenty tables once when eight processes prepare them at once', async () => {
    const tables = Array.from({ length: 20 }, (_, i) => ({ ...CARDS, name: `t${i}` }))
    const handles = Array.from({ length: 8 }, () => open('raced'))
    await Promise.all(handles.map((handle) => handle.prepare(tables)))
    for (const handle of handles) expect(await handle.get('t19', [1])).toEqual([undefined])
    const [made] = await asSuperuser<{ count: string }>(
      `select count(*) from pg_class where relnamespace = 'raced'::regnamespace`,
    )
    // each table with its sequence and three indexes
    expect(Number(made?.count)).toBe(20 * (1 + 1 + 3))
  })

  it('runs no statement that changes anything when nothing is missing', async () => {
    await prepared()
    const schema = `own_${schemas - 1}`
    // A role that may not change anything is refused by the server the moment it tries.
    await asSuperuser(`create role looker login password 'look'`)
    const looking = new URL(database.url)
    Object.assign(looking, { username: 'looker', password: 'look' })
    await open(schema, { connectionString: looking.href }).prepare([CARDS])
    const missing = open(schema, { connectionString: looking.href }).prepare([{ ...CARDS, name: 'not_there' }])
    await expect(missing).rejects.toMatchObject({ code: 'failed_precondition', cause: { message: 'PostgreSQL reported 42501' } })
    await asSuperuser('drop role looker')
  })

  it('stores numbers before texts and texts before bytes in a new table, and adds later columns at its end', async () => {
    const columnsOf = (types: readonly PhysicalType[]) => types.map((type, at) => ({ name: `${type}_${at}`, type }))
    const types = ['bytes', 'text', 'real', 'bytes', 'integer', 'text'] as const
    const storage = open('ordered')
    await storage.prepare([{ name: 'mixed', columns: columnsOf(types), indexes: [] }])
    const grown = { name: 'mixed', columns: columnsOf([...types, 'integer']), indexes: [] }
    await storage.prepare([grown])
    const stored = await asSuperuser<{ name: string }>(
      "select attname as name from pg_attribute where attrelid = 'ordered.mixed'::regclass and attnum > 0 order by attnum",
    )
    const names = ['id', 'version', 'real_2', 'integer_4', 'text_1', 'text_5', 'bytes_0', 'bytes_3', 'integer_6']
    expect(stored.map(({ name }) => name)).toEqual(names)
    const row = {
      id: 1,
      bytes_0: new Uint8Array([1]),
      text_1: 'a',
      real_2: 0.5,
      bytes_3: null,
      integer_4: 4,
      text_5: 'b',
      integer_6: 6,
    }
    await storage.insert('mixed', [row])
    expect(await storage.get('mixed', [1])).toEqual([{ ...row, version: 1 }])
  })

  it('gives indexes distinct names if truncation or joining would make them equal', async () => {
    const long = 'c'.repeat(60)
    const columns = ['a_b', 'a', 'b', `${long}1`, `${long}2`].map((name) => ({ name, type: 'integer' }) as const)
    const indexes = [['a_b'], ['a', 'b'], [`${long}1`], [`${long}2`]].map((names) => ({ columns: names, unique: true }))
    const storage = open('names')
    await storage.prepare([{ name: 't'.repeat(63), columns, indexes }])
    await storage.prepare([{ name: 't'.repeat(63), columns, indexes }])
    await storage.insert('t'.repeat(63), [{ id: 1, a_b: 1, a: 1, b: 1, [`${long}1`]: 1, [`${long}2`]: 1 }])
    const conflict = storage.insert('t'.repeat(63), [{ id: 2, [`${long}2`]: 1 }])
    await expect(conflict).rejects.toMatchObject({ code: 'conflict', details: [{ columns: [`${long}2`], index: 0 }] })
  })

  it('rejects a name that PostgreSQL would truncate', async () => {
    await expect(open('cut').prepare([{ ...CARDS, name: 'é'.repeat(32) }])).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('rejects a schema name that needs quoting', () => {
    for (const schema of ['', 'A', 'a"b', 'a.b', '1a', 'a'.repeat(64)]) {
      expect(() => postgresStorage({ connectionString: database.url, schema })).toThrow(/schema name of a PostgreSQL storage/)
    }
  })

  it('gives no id twice after the transaction that created the table rolled back', async () => {
    const storage = open('rolled_back')
    const work = storage.transaction(async (storage) => {
      await storage.prepare([CARDS])
      await storage.reserveIds('cards', 10)
      throw new Error('undo')
    })
    await expect(work).rejects.toThrow('undo')
    await storage.prepare([CARDS])
    const given = new Set<number>()
    for (let i = 0; i < 3; i++) for (const id of await storage.reserveIds('cards', 700)) given.add(id)
    expect(given.size).toBe(2100)
  })
})

describe('text', () => {
  it('keeps NUL and U+0001 exactly, also in filters', async () => {
    const storage = await prepared()
    const owners = [
      '',
      '\u0000',
      '\u0000\u0000',
      '\u0000\u0001',
      '\u0001',
      '\u0001\u0000',
      '\u0001\u0001',
      '\u0001\u0002',
      '\u0002',
      'a\u0000b',
    ]
    await storage.insert(
      'cards',
      owners.map((owner, i) => ({ id: i + 1, owner })),
    )
    const rows = await storage.get(
      'cards',
      owners.map((_, i) => i + 1),
    )
    expect(rows.map((row) => row?.owner)).toEqual(owners)
    for (const [position, value] of owners.entries()) {
      const page = { order: 'asc', limit: 20 } as const
      const same = await storage.find('cards', { kind: 'in', column: 'owner', values: [value] }, page)
      const less = await storage.find('cards', { kind: 'compare', column: 'owner', operator: '<', value }, page)
      expect(same.map((row) => row.id)).toEqual([position + 1])
      expect(less.map((row) => row.owner)).toEqual(owners.filter((owner) => owner < value))
    }
    const again = storage.insert('cards', [{ id: 50 }, { id: 51, owner: '\u0000\u0001' }])
    await expect(again).rejects.toMatchObject({ code: 'conflict', details: [{ table: 'cards', columns: ['owner'], index: 1 }] })
  })
})

describe('transactions', () => {
  it('reject with internal when work caught the error of a failed statement', async () => {
    const storage = await prepared()
    const work = storage.transaction(async (storage) => {
      await storage.insert('cards', [{ id: 1, owner: 'a' }])
      await storage.insert('cards', [{ id: 2, owner: 'a' }]).catch(() => {})
    })
    await expect(work).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('so it was rolled back') })
    expect(await storage.get('cards', [1, 2])).toEqual([undefined, undefined])
  })

  it('reject a nested one likewise, and the outer one continues', async () => {
    const storage = await prepared()
    await storage.transaction(async (storage) => {
      await storage.insert('cards', [{ id: 1, owner: 'a' }])
      const nested = storage.transaction(async (storage) => {
        await storage.insert('cards', [{ id: 2 }])
        await storage.insert('cards', [{ id: 3, owner: 'a' }]).catch(() => {})
      })
      await expect(nested).rejects.toMatchObject({ code: 'internal' })
      await storage.insert('cards', [{ id: 4, owner: 'b' }])
    })
    const rows = await storage.get('cards', [1, 2, 3, 4])
    expect(rows.map((row) => row?.owner)).toEqual(['a', undefined, undefined, 'b'])
  })

  it('separate concurrent nested ones, and statements beside them', async () => {
    const storage = await prepared()
    await storage.transaction(async (storage) => {
      const nested = (id: number) =>
        storage.transaction(async (storage) => {
          await storage.insert('cards', [{ id }])
          await storage.transaction((storage) => storage.insert('cards', [{ id: id + 10 }]))
          if (id % 2 === 0) throw new Error('undo this one')
        })
      const outcomes = await Promise.allSettled([
        nested(1),
        nested(2),
        storage.insert('cards', [{ id: 9 }]),
        nested(3),
        nested(4),
      ])
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'rejected'])
    })
    const rows = await storage.find('cards', { kind: 'all' }, { order: 'asc', limit: 20 })
    expect(rows.map((row) => row.id)).toEqual([1, 3, 9, 11, 13])
  })

  it('run again after a deadlock until both commit, whatever error the work throws', async () => {
    const storage = await prepared()
    await storage.insert('cards', [
      { id: 1, amount: 0 },
      { id: 2, amount: 0 },
    ])
    let runs = 0
    const firsts = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const both = Promise.all(firsts.map(({ promise }) => promise))
    const raise = (own: number, order: readonly number[]) =>
      storage.transaction(async (storage) => {
        runs++
        for (const id of order) {
          // The run after the deadlock can read a row before the other transaction commits it.
          for (let isRaised = false; !isRaised; ) {
            const [row] = await storage.get('cards', [id])
            const patch = { id, version: row?.version ?? 0, set: { amount: Number(row?.amount) + 1 } }
            const [matched] = await storage.update('cards', [patch]).catch(() => Promise.reject(new Error('reworded')))
            isRaised = matched === true
          }
          firsts[own]?.resolve()
          await both
        }
      })
    const outcomes = await Promise.allSettled([raise(0, [1, 2]), raise(1, [2, 1])])
    // the one that was rolled back runs again, and finds each row as the other left it
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect(runs).toBeGreaterThan(2)
    expect((await storage.get('cards', [1, 2])).map((row) => row?.amount)).toEqual([2, 2])
  })

  it('update the same rows in opposite orders without a deadlock', async () => {
    const storage = await prepared()
    const ids = Array.from({ length: 100 }, (_, i) => i + 1)
    await storage.insert(
      'cards',
      ids.map((id) => ({ id, owner: `${id}` })),
    )
    let runs = 0
    const update = (order: readonly number[], version: number) =>
      storage.transaction(async (storage) => {
        runs++
        // Patches of a unique column are statements of their own, in the order given.
        await storage.update(
          'cards',
          order.map((id) => ({ id, version, set: { owner: `${id}` } })),
        )
      })
    for (let round = 0; round < 10; round++) await Promise.all([update(ids, round), update(ids.toReversed(), round)])
    expect(runs).toBe(20)
  })

  it('return the same as row-by-row updates if one patch takes a unique value of another', async () => {
    const storage = await prepared()
    await storage.insert('cards', [
      { id: 1, owner: 'a' },
      { id: 2, owner: 'b' },
    ])
    const handOn = [
      { id: 2, version: 1, set: { owner: 'c' } },
      { id: 1, version: 1, set: { owner: 'b' } },
    ]
    expect(await storage.update('cards', handOn)).toEqual([true, true])
    const early = [
      { id: 2, version: 2, set: { owner: 'b' } },
      { id: 1, version: 2, set: { owner: 'd' } },
    ]
    await expect(storage.update('cards', early)).rejects.toMatchObject({
      code: 'conflict',
      details: [{ columns: ['owner'], index: 0 }],
    })
    expect((await storage.get('cards', [1, 2])).map((row) => row?.owner)).toEqual(['b', 'c'])
  })
})

describe('a nested transaction that is not awaited', () => {
  it('rolls back when its parent ends, and neither uses nor takes a client afterwards', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 })
    const storage = await prepared({ pool })
    const [wrote, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let last: Promise<unknown> = Promise.resolve()
    const [late] = await storage.transaction(async (storage) => {
      await storage.insert('cards', [{ id: 1 }])
      const nested = storage.transaction((storage) =>
        storage.transaction(async (storage) => {
          await storage.insert('cards', [{ id: 2 }])
          wrote.resolve()
          await over.promise
          last = storage.insert('cards', [{ id: 3 }])
          await last
        }),
      )
      await wrote.promise
      return [expect(nested).rejects.toMatchObject({ code: 'internal' })]
    })
    await late
    await storage.transaction(async (storage) => {
      await storage.insert('cards', [{ id: 4 }])
      over.resolve()
      await expect.poll(() => last.catch(() => 'refused')).toBe('refused')
    })
    expect((await storage.get('cards', [1, 2, 3, 4])).map((row) => row?.id)).toEqual([1, undefined, undefined, 4])
    expect(pool.idleCount).toBe(1)
    await pool.end()
  })
})

describe('pools', () => {
  it('need no session: without prepared statements nothing is prepared on the server', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 })
    const storage = await prepared({ pool, preparedStatements: false })
    await storage.insert('cards', [{ id: 1 }])
    await storage.transaction((storage) => storage.insert('cards', [{ id: 2 }, { id: 3 }]))
    expect((await storage.get('cards', [1, 2, 3])).map((row) => row?.version)).toEqual([1, 1, 1])
    expect((await pool.query('select name from pg_prepared_statements')).rows).toEqual([])
    const named = open(`own_${schemas - 1}`, { pool })
    await named.prepare([CARDS])
    await named.get('cards', [1])
    expect((await pool.query('select name from pg_prepared_statements')).rows).toHaveLength(1)
    await pool.end()
  })

  it('can have any type parsers, which are neither used nor changed', async () => {
    const odd = { getTypeParser: () => () => 'odd' }
    const pool = new pg.Pool({ connectionString: database.url, types: odd })
    const storage = await prepared({ pool })
    const row = { id: 1, body: Uint8Array.of(0, 255, 7), owner: 'o', amount: 2n ** 62n, rate: 0.1 }
    await storage.insert('cards', [row])
    const [read] = await storage.get('cards', [1])
    expect(read).toEqual({ ...row, version: 1 })
    expect(Object.getPrototypeOf(read?.body)).toBe(Uint8Array.prototype)
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 'odd' }])
    await pool.end()
  })

  it('are left open if the application made them, and reject work after close', async () => {
    const pool = new pg.Pool({ connectionString: database.url })
    for (const options of [{ pool }, { connectionString: database.url }]) {
      const storage = await prepared(options)
      await storage.close()
      await storage.close()
      await expect(storage.get('cards', [1])).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('closed'),
      })
    }
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await pool.end()
  })

  it('keep their connections after a statement that failed by its data', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 })
    const storage = await prepared({ pool })
    const backend = async () => (await pool.query('select pg_backend_pid() as id')).rows
    const before = await backend()
    await storage.insert('cards', [{ id: 1 }])
    await expect(storage.insert('cards', [{ id: 1 }])).rejects.toMatchObject({ code: 'conflict', details: [{ columns: ['id'] }] })
    await expect(storage.transaction((storage) => storage.insert('cards', [{ id: 1 }]))).rejects.toMatchObject({
      code: 'conflict',
    })
    expect(await backend()).toEqual(before)
    await pool.end()
  })
})
