/** The storage inside transactions of the application, through the driver and through Kysely. */
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { CamelCasePlugin, Kysely, SqliteDialect, type Transaction } from 'kysely'
import { describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import type { NewRow, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { ALL, EVERY, NOTES } from './notes-table.ts'
import { temporaryFolder } from './temporary-folder.ts'

interface Host {
  readonly name: string
  /** Runs work in a transaction of the host's own, with a row of its own beside it. */
  transaction(work: (host: unknown) => Promise<void>): Promise<void>
  ownRows(): number
  close(): Promise<void>
}

const nextFile = temporaryFolder()
const OWN_TABLE = 'create table if not exists orders (total integer)'
const OWN_ROW = 'insert into orders values (1)'

async function inTransaction(database: { exec(text: string): unknown }, work: (host: unknown) => Promise<void>): Promise<void> {
  database.exec('begin immediate')
  try {
    database.exec(OWN_ROW)
    await work(database)
    database.exec('commit')
  } catch (error) {
    database.exec('rollback')
    throw error
  }
}

function driverHost(filename: string): Host {
  const database = new Database(filename)
  database.exec(OWN_TABLE)
  // A host may read its integers as bigint; those of the storage must not change.
  database.defaultSafeIntegers(true)
  return {
    name: 'better-sqlite3',
    transaction: (work) => inTransaction(database, work),
    ownRows: () => Number(database.prepare('select count(*) from orders').pluck().get()),
    async close() {
      database.close()
    },
  }
}

function nodeHost(filename: string): Host {
  const database = new DatabaseSync(filename, { readBigInts: true })
  database.exec(OWN_TABLE)
  return {
    name: 'node:sqlite',
    transaction: (work) => inTransaction(database, work),
    ownRows: () => Number(database.prepare('select count(*) as rows from orders').get()?.rows),
    async close() {
      database.close()
    },
  }
}

function kyselyHost(filename: string): Host {
  const database = new Database(filename)
  database.exec(OWN_TABLE)
  const kysely = new Kysely<{ orders: { total: number } }>({
    dialect: new SqliteDialect({ database }),
    plugins: [new CamelCasePlugin()],
  })
  return {
    name: 'Kysely',
    transaction: (work) =>
      kysely.transaction().execute(async (transaction: Transaction<{ orders: { total: number } }>) => {
        await transaction.insertInto('orders').values({ total: 1 }).execute()
        await work(transaction)
      }),
    ownRows: () => Number(database.prepare('select count(*) from orders').pluck().get()),
    close: () => kysely.destroy(),
  }
}

for (const createHost of [driverHost, nodeHost, kyselyHost]) {
  describe(`joining a transaction of ${createHost.name}`, () => {
    async function joined(body: (storage: StorageHandle, host: Host) => Promise<void>): Promise<void> {
      const filename = nextFile()
      const driver = createHost === nodeHost ? 'node:sqlite' : 'better-sqlite3'
      const storage = sqliteStorage({ filename, driver })
      await storage.prepare([NOTES])
      const host = createHost(filename)
      try {
        await body(storage, host)
      } finally {
        await host.close()
        await storage.close()
      }
    }

    const row = (id: number, label: string): NewRow => ({ id, label, amount: 2n ** 62n + 1n, body: new Uint8Array([1, 0, 255]) })

    it('commits with the host and returns every cell as outside', async () => {
      await joined(async (storage, host) => {
        let inside: unknown
        await host.transaction(async (transaction) => {
          const inner = storage.joinTransaction(transaction)
          const [id = 0] = await inner.reserveIds('notes', 1)
          await inner.insert('notes', [row(id, 'with the host')])
          inside = await inner.get('notes', [id, 99])
          expect(await storage.find('notes', EVERY, ALL)).toEqual([])
        })
        const outside = await storage.find('notes', EVERY, ALL)
        expect(outside).toEqual([{ ...row(1, 'with the host'), version: 1 }])
        expect(inside).toEqual([outside[0], undefined])
        expect(Object.getPrototypeOf(outside[0]?.body)).toBe(Uint8Array.prototype)
        expect(host.ownRows()).toBe(1)
      })
    })

    it('rolls back with the host', async () => {
      await joined(async (storage, host) => {
        const undo = new Error('undo')
        const ending = host.transaction(async (transaction) => {
          await storage.joinTransaction(transaction).insert('notes', [row(1, 'rolled back')])
          throw undo
        })
        await expect(ending).rejects.toBe(undo)
        expect(await storage.find('notes', EVERY, ALL)).toEqual([])
        expect(host.ownRows()).toBe(0)
      })
    })

    it('supports every method of the port', async () => {
      await joined(async (storage, host) => {
        await host.transaction(async (transaction) => {
          const inner = storage.joinTransaction(transaction)
          await inner.prepare([NOTES, { ...NOTES, name: 'more_notes' }])
          await inner.insert(
            'more_notes',
            Array.from({ length: 60 }, (_, n) => ({ id: n + 1, label: `l${n}`, amount: n })),
          )
          expect(
            await inner.update('more_notes', [
              { id: 1, version: 1, set: { amount: 9 } },
              { id: 1, version: 1, set: {} },
            ]),
          ).toEqual([true, false])
          expect(await inner.delete('more_notes', { ids: [60, 59, 700] })).toEqual([59, 60])
          const aggregates = [{ kind: 'count' }, { kind: 'sum', column: 'amount' }] as const
          expect(await inner.aggregate('more_notes', EVERY, aggregates)).toEqual([58, 1662])
          expect(await inner.find('more_notes', { kind: 'in', column: 'label', values: ['l3', 'l4'] }, ALL)).toHaveLength(2)
          expect(await inner.scan('more_notes', EVERY, { shape: 'column', column: 'amount', limit: 3 })).toEqual({
            cells: [9, 1, 2],
            next: 3,
          })
          const long = { kind: 'compare', column: 'amount', operator: '>', value: 55 } as const
          expect((await inner.scan('more_notes', long, { shape: 'column', column: 'label', limit: 90 })).cells).toEqual([
            'l56',
            'l57',
          ])
          const clash = Array.from({ length: 30 }, (_, n) => ({ id: 100 + n, label: n === 27 ? 'l5' : `m${n}` }))
          await expect(inner.insert('more_notes', clash)).rejects.toMatchObject({
            code: 'conflict',
            details: [{ columns: ['label'], index: 27 }],
          })
          expect(await inner.aggregate('more_notes', EVERY, [{ kind: 'count' }])).toEqual([58])
        })
        expect(await storage.find('more_notes', EVERY, ALL).catch((error: { code: string }) => error.code)).toHaveLength(58)
      })
    })

    it('nests by savepoints, whose failure does not affect the host', async () => {
      await joined(async (storage, host) => {
        await host.transaction(async (transaction) => {
          const inner = storage.joinTransaction(transaction)
          const fails = (nested: Storage) => nested.insert('notes', [row(1, 'a')]).then(() => Promise.reject(new Error('undo')))
          const keeps = (nested: Storage) => nested.insert('notes', [row(2, 'b')])
          const endings = await Promise.allSettled([
            inner.transaction(fails),
            inner.transaction(keeps),
            inner.insert('notes', [row(3, 'c')]),
          ])
          expect(endings.map((ending) => ending.status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
        })
        expect((await storage.find('notes', EVERY, ALL)).map((found) => found.label)).toEqual(['b', 'c'])
      })
    })

    it('gives no id twice, whether or not the host commits', async () => {
      await joined(async (storage, host) => {
        const given: number[] = [...(await storage.reserveIds('notes', 995))]
        for (const fails of [true, false, true]) {
          const ending = host.transaction(async (transaction) => {
            given.push(...(await storage.joinTransaction(transaction).reserveIds('notes', 20)))
            if (fails) throw new Error('undo')
          })
          await ending.catch(() => undefined)
        }
        given.push(...(await storage.reserveIds('notes', 1500)))
        expect(new Set(given).size).toBe(given.length)
      })
    })
  })
}

describe('a host that cannot be joined', () => {
  it('is rejected with an error that names what can be joined', async () => {
    const filename = nextFile()
    const storage = sqliteStorage({ filename })
    const idle = new Database(filename)
    const elsewhere = new Database(nextFile())
    elsewhere.exec('begin')
    const inMemory = new DatabaseSync(':memory:')
    inMemory.exec('begin')
    for (const host of [undefined, null, {}, 'begin', new Kysely({ dialect: new SqliteDialect({ database: idle }) })]) {
      expect(() => storage.joinTransaction(host)).toThrow(/DatabaseSync of node:sqlite that is inside a transaction, or a Kysely/)
    }
    expect(() => storage.joinTransaction(idle)).toThrow(/not inside a transaction/)
    expect(() => storage.joinTransaction(elsewhere)).toThrow(/another file/)
    expect(() => storage.joinTransaction(inMemory)).toThrow(/another file/)
    for (const host of [idle, elsewhere, inMemory]) host.close()
    expect(() => storage.joinTransaction(idle)).toThrow(/not inside a transaction/)
    await storage.close()
  })

  it('is rejected if it is not of the driver of the storage', async () => {
    const filename = nextFile()
    const storage = sqliteStorage({ filename })
    // A connection that does not touch the file takes no locks.
    const idle = new DatabaseSync(filename)
    expect(() => storage.joinTransaction(idle)).toThrow(/DatabaseSync to join is not inside a transaction/)
    idle.exec('begin')
    expect(() => storage.joinTransaction(idle)).toThrow(/Open the storage with driver: 'node:sqlite'/)
    idle.close()
    await storage.close()
  })

  it('is rejected if the host ended its transaction first', async () => {
    const filename = nextFile()
    const storage = sqliteStorage({ filename })
    await storage.prepare([NOTES])
    const host = new Database(filename)
    host.exec('begin immediate')
    const inner = storage.joinTransaction(host)
    await inner.insert('notes', [{ id: 1 }])
    host.exec('rollback')
    await expect(inner.insert('notes', [{ id: 2 }])).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await storage.find('notes', EVERY, ALL)).toEqual([])
    host.close()
    await storage.close()
  })
})
