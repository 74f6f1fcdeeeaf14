/** Scans that begin on the connection of the writers: each has the answer of one state of the file, whatever is committed while it runs. */
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { toTableShape } from '../../../src/adapters/sql/table-shapes.ts'
import { aggregateRows } from '../../../src/adapters/sqlite/aggregates.ts'
import { command, createDriverConnection, type Purpose, type TableWork } from '../../../src/adapters/sqlite/connection.ts'
import { betterSqliteDatabase, type DriverName } from '../../../src/adapters/sqlite/drivers.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { createScanners } from '../../../src/adapters/sqlite/scanners.ts'
import type { Aggregate, PhysicalTable, Storage } from '../../../src/core/ports/storage.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()
const SEED = 'scans-beside-writers'
/** Several slices. */
const ROWS = 30_000
const EACH = 1000
const OWN = new Error('a writer that gives up')

const ACCOUNTS: PhysicalTable = {
  name: 'accounts',
  columns: [
    { name: 'balance', type: 'integer' },
    { name: 'kind', type: 'integer' },
  ],
  indexes: [{ columns: ['kind'], unique: false }],
}
const EVERY = { kind: 'all' } as const
const TOTALS: readonly Aggregate[] = [{ kind: 'sum', column: 'balance' }, { kind: 'count' }]

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

async function filled(filename: string) {
  const storage = sqliteStorage({ filename, synchronous: 'normal' })
  await storage.prepare([ACCOUNTS])
  const rows = Array.from({ length: ROWS }, (_, at) => ({ id: at + 1, balance: EACH, kind: at % 100 }))
  await storage.insert('accounts', rows)
  return storage
}

/** Moves a sum from one account to another, which mostly is in another slice. The sum of all stays the same. */
async function move(random: SeededRandom, storage: Storage, fails: boolean): Promise<void> {
  const [from, to] = [1 + random.below(ROWS / 2), 1 + ROWS / 2 + random.below(ROWS / 2)]
  await storage.transaction(async (inner) => {
    for (const [id, change] of [
      [from, -7],
      [to, 7],
    ] as const) {
      const [row] = await inner.get('accounts', [id])
      if (row === undefined) throw new Error(`account ${id} is missing`)
      await inner.update('accounts', [{ id, version: row.version, set: { balance: Number(row.balance) + change } }])
      if (random.chance(0.5)) await nextTurn()
    }
    if (fails) throw OWN
  })
}

/** The same from another process, unless a writer of this one holds the file. */
function moveElsewhere(random: SeededRandom, other: Database.Database): void {
  try {
    other.transaction(() => {
      const change = other.prepare('update accounts set balance = balance + ?, version = version + 1 where id = ?')
      change.run(-7, 1 + random.below(ROWS / 2))
      change.run(7, 1 + ROWS / 2 + random.below(ROWS / 2))
    })()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY'))) throw error
  }
}

describe('scans beside writers', () => {
  it(`have the totals of one state, during transactions and commits of this process and of others (seed ${SEED})`, async () => {
    const random = seededRandom(SEED)
    const filename = nextFile()
    await using storage = await filled(filename)
    const other = new Database(filename, { timeout: 0 })
    const running: Promise<unknown>[] = []
    for (let turn = 0; turn < 150; turn++) {
      const own = random.fork(`turn ${turn}`)
      if (own.chance(0.7)) {
        const moved = move(own, storage, own.chance(0.2)).catch((error: unknown) => {
          if (error !== OWN) throw error
        })
        running.push(moved)
      }
      if (own.chance(0.4)) {
        const totals = storage.aggregate('accounts', EVERY, TOTALS)
        running.push(totals.then((found) => expect(found).toEqual([ROWS * EACH, ROWS])))
      }
      if (own.chance(0.4)) {
        const page = { order: 'asc', limit: ROWS } as const
        const rows = storage.find('accounts', { kind: 'in', column: 'kind', values: [3, 77] }, page)
        running.push(rows.then((found) => expect(found).toHaveLength(ROWS / 50)))
      }
      if (own.chance(0.4)) moveElsewhere(own, other)
      if (own.chance(0.7)) await nextTurn()
      else await Promise.resolve()
    }
    await Promise.all(running)
    expect(await storage.aggregate('accounts', EVERY, TOTALS)).toEqual([ROWS * EACH, ROWS])
    other.close()
  })
})

describe.skipIf(process.platform === 'win32')('a total of a file that was taken away', () => {
  it.each(['better-sqlite3', 'node:sqlite'] as const)(
    'is not read in part from the file in its place, with %s',
    async (driver) => {
      const [filename, copy] = [nextFile(), nextFile()]
      await (await filled(filename)).close()
      copyFileSync(filename, copy)
      await using storage = sqliteStorage({ filename, driver })
      await storage.prepare([ACCOUNTS])
      renameSync(copy, filename)
      const gone = expect.objectContaining({ code: 'unavailable' })
      await expect(storage.aggregate('accounts', EVERY, TOTALS)).rejects.toEqual(gone)
      await expect(storage.find('accounts', EVERY, { order: 'asc', limit: 5000 })).rejects.toEqual(gone)
    },
  )

  it('makes no file in its place', async () => {
    const filename = nextFile()
    await using storage = await filled(filename)
    rmSync(filename)
    await expect(storage.aggregate('accounts', EVERY, TOTALS)).rejects.toEqual(expect.objectContaining({ code: 'unavailable' }))
    expect(existsSync(filename)).toBe(false)
  })
})

describe('a row whose id was changed to one that no row can have', () => {
  const filter = { kind: 'in', column: 'kind', values: [3, 77] } as const
  const ids = Array.from({ length: ROWS }, (_, at) => at + 1).filter((id) => id !== 4 && [3, 77].includes((id - 1) % 100))

  async function damaged(driver: DriverName) {
    const filename = nextFile()
    await (await filled(filename)).close()
    const other = new Database(filename)
    other.exec('update accounts set id = 9007199254740993 where id = 4')
    other.close()
    const storage = sqliteStorage({ filename, driver })
    await storage.prepare([ACCOUNTS])
    return storage
  }

  it('is found by a list of an index, with its neighbors', async () => {
    await using storage = await damaged('better-sqlite3')
    const found = await storage.find('accounts', filter, { order: 'asc', limit: ROWS })
    expect(found.map(({ id }) => id)).toEqual([...ids, 2 ** 53])
  })

  it.each(['better-sqlite3', 'node:sqlite'] as const)(
    'does not keep a page of its neighbors from being read with %s',
    async (driver) => {
      await using storage = await damaged(driver)
      const found = await storage.find('accounts', filter, { order: 'asc', limit: 5 })
      expect(found.map(({ id }) => id)).toEqual(ids.slice(0, 5))
    },
  )
})

/** The scanners of a file, and how often work ran on the connection of its writers. */
async function watchedScanners() {
  const filename = nextFile()
  await (await filled(filename)).close()
  const open: Database.Database[] = []
  const connect = (purpose: Purpose) => {
    const database = new Database(filename)
    open.push(database)
    return createDriverConnection(betterSqliteDatabase(database), purpose)
  }
  const writer = connect('writing')
  let runs = 0
  const writing = {
    ...writer,
    run<T>(work: TableWork<T>): T {
      runs++
      return writer.run(work)
    },
  }
  const others = { writing, reading: connect('reading') }
  // A clock that does not move: on a busy machine the first read could use up the time of the connection.
  const scanners = createScanners(
    () => betterSqliteDatabase(new Database(filename)),
    others,
    () => 0,
  )
  const total = aggregateRows({ shape: toTableShape(ACCOUNTS), filter: EVERY }, TOTALS)
  return {
    scanners,
    writer,
    total,
    runs: () => runs,
    async close() {
      await scanners.close()
      for (const database of open) database.close()
    },
  }
}

const ADDED = command('insert into accounts (version, balance, kind) values (1, 1, 1)')
const BEGIN = command('begin immediate')
const COMMIT = command('commit')
const ALL = [ROWS * EACH, ROWS]

describe('a scan by the cache of the writers', () => {
  it('runs on their connection until something is committed, and then on the snapshot it began with', async () => {
    const { scanners, writer, total, runs, close } = await watchedScanners()
    await scanners.useCache(async (run) => {
      expect(await run(total)).toEqual(ALL)
      expect(runs()).toBe(1)
      writer.run(ADDED)
      expect(await run(total)).toEqual(ALL)
      expect(await run(total)).toEqual(ALL)
      // Once, to find out.
      expect(runs()).toBe(2)
    })
    expect(await scanners.useCache(async (run) => run(total))).toEqual([ROWS * EACH + 1, ROWS + 1])
    expect(runs()).toBe(3)
    await close()
  })

  it('runs on its snapshot while a writer has a transaction open, and does not keep one from beginning', async () => {
    const { scanners, writer, total, runs, close } = await watchedScanners()
    writer.run(BEGIN)
    writer.run(ADDED)
    await scanners.useCache(async (run) => {
      expect(await run(total)).toEqual(ALL)
      expect(runs()).toBe(0)
      writer.run(COMMIT)
      expect(await run(total)).toEqual(ALL)
    })
    await scanners.useCache(async (run) => {
      await run(total)
      writer.run(BEGIN)
      writer.run(ADDED)
      expect(await run(total)).toEqual([ROWS * EACH + 1, ROWS + 1])
      writer.run(COMMIT)
      expect(await run(total)).toEqual([ROWS * EACH + 1, ROWS + 1])
    })
    await close()
  })
})
