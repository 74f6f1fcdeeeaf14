/** Ids in the order of commits: in a table that asks for it, a row that is committed later has a higher id, whichever handle or process wrote it. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import type { PhysicalTable, StorageHandle } from '../../../src/core/ports/storage.ts'
import { column } from '../../../src/index.ts'
import { builtProcess } from '../../support/cli/built-command.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { ALL, EVERY, NOTES } from './notes-table.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()
const run = promisify(execFile)
const ORDERED: PhysicalTable = { ...NOTES, isOrdered: true }
const OUT_OF_ORDER = { code: 'conflict', details: [{ table: 'notes', columns: ['id'] }] }

async function withHandles(body: (one: StorageHandle, two: StorageHandle, filename: string) => Promise<void>): Promise<void> {
  const filename = nextFile()
  const handles = [sqliteStorage({ filename }), sqliteStorage({ filename })] as const
  try {
    for (const handle of handles) await handle.prepare([ORDERED])
    await body(...handles, filename)
  } finally {
    for (const handle of handles) await handle.close()
  }
}

async function reservedInside(storage: StorageHandle, count = 1): Promise<readonly number[]> {
  return storage.transaction(async (inner) => {
    const ids = await inner.reserveIds('notes', count)
    await inner.insert(
      'notes',
      ids.map((id) => ({ id })),
    )
    return ids
  })
}

describe('an ordered table', () => {
  afterEach(() => vi.restoreAllMocks())

  it('refuses ids that were reserved before another handle committed higher ones, and stores nothing', async () => {
    await withHandles(async (one, two) => {
      const [early = 0, next = 0] = await one.reserveIds('notes', 2)
      const [other = 0] = await two.reserveIds('notes', 1)
      await one.insert('notes', [{ id: early }])
      await two.insert('notes', [{ id: other }])
      await expect(one.insert('notes', [{ id: next }])).rejects.toMatchObject(OUT_OF_ORDER)
      await expect(one.insert('notes', [{ id: other + 1 }, { id: next }])).rejects.toMatchObject(OUT_OF_ORDER)
      const inserts = [{ table: 'notes', rows: [{ id: next }] }]
      await expect(one.commit({ updates: [], inserts })).rejects.toMatchObject(OUT_OF_ORDER)
      await expect(one.transaction((inner) => inner.insert('notes', [{ id: next }]))).rejects.toMatchObject(OUT_OF_ORDER)
      expect((await one.find('notes', EVERY, ALL)).map(({ id }) => id)).toEqual([early, other])
    })
  })

  it('refuses ids of the same handle that were reserved early and are stored late', async () => {
    await withHandles(async (one) => {
      const [early = 0] = await one.reserveIds('notes', 1)
      const [late = 0] = await one.reserveIds('notes', 1)
      await one.insert('notes', [{ id: late }])
      await expect(one.insert('notes', [{ id: early }])).rejects.toMatchObject(OUT_OF_ORDER)
    })
  })

  it('stores what shares one commit, or one transaction, in any order', async () => {
    await withHandles(async (one) => {
      const ids = await one.reserveIds('notes', 40)
      // The time does not change: on a busy machine the commit would end before all are in it.
      vi.spyOn(performance, 'now').mockReturnValue(performance.now())
      const writers = [...ids].reverse().map((id) => one.insert('notes', [{ id }]))
      expect((await Promise.allSettled(writers)).map(({ status }) => status)).toEqual(ids.map(() => 'fulfilled'))
      const more = await one.reserveIds('notes', 3)
      await one.transaction(async (inner) => {
        for (const id of [...more].reverse()) await inner.insert('notes', [{ id }])
      })
      expect(await one.find('notes', EVERY, ALL)).toHaveLength(43)
    })
  })

  it('gives ids above all committed ones inside a transaction, also where another handle has taken higher ones', async () => {
    await withHandles(async (one, two) => {
      const given: number[] = []
      for (let round = 0; round < 50; round++) {
        given.push(...(await reservedInside(round % 2 === 0 ? one : two, 1 + (round % 3))))
        if (round % 7 === 0) await one.reserveIds('notes', 2)
      }
      expect(given).toEqual([...given].sort((left, right) => left - right))
      // Turns between handles give up what is left of small blocks, not of whole ones.
      expect(given.at(-1)).toBeLessThan(10_000)
    })
  })

  it('looks again after a writer that began a group was rolled back', async () => {
    await withHandles(async (one, two) => {
      const [early = 0] = await one.reserveIds('notes', 1)
      const undo = new Error('undo')
      const failing = one.transaction(async (inner) => {
        await inner.reserveIds('notes', 1)
        throw undo
      })
      const waiting = one.insert('notes', [{ id: early }])
      await expect(failing).rejects.toBe(undo)
      await waiting
      expect((await reservedInside(two))[0]).toBeGreaterThan(early)
    })
  })

  it('goes on where a row was given an id that no handle reserved, such as the highest of all', async () => {
    await withHandles(async (one, _, filename) => {
      await reservedInside(one)
      const direct = new Database(filename)
      direct.prepare('insert into notes (id, version) values (?, 1), (?, 1)').run(2 ** 48 - 1, 2 ** 52)
      direct.close()
      const [id = 0] = await one.reserveIds('notes', 1)
      await one.insert('notes', [{ id }])
      expect((await reservedInside(one))[0]).toBeGreaterThan(id)
    })
  })

  it('gives ids in order inside a transaction of the application', async () => {
    await withHandles(async (one, two, filename) => {
      await one.reserveIds('notes', 1)
      const [other = 0] = await reservedInside(two)
      const host = new Database(filename)
      host.exec('begin immediate')
      const inner = one.joinTransaction(host)
      const [id = 0] = await inner.reserveIds('notes', 1)
      await inner.insert('notes', [{ id }])
      host.exec('commit')
      host.close()
      expect(id).toBeGreaterThan(other)
      expect((await reservedInside(two))[0]).toBeGreaterThan(id)
    })
  })
})

describe('records of several vaults on one file', () => {
  const schema = { notes: { text: column.string({ unique: true, token: 'random' }) } }

  it.each(['on', 'off'] as const)('are listed in the order in which they were stored (audit: %s)', async (audit) => {
    const filename = nextFile()
    const vaults = []
    for (let n = 0; n < 3; n++) vaults.push(await openLoose(sqliteStorage({ filename }), schema, { audit }))
    const stored: string[] = []
    for (let n = 0; n < 60; n++) {
      const owner = vaults[(n * n) % 3]?.session
      const fields = { text: `TEST_SECRET ${n}` }
      const options = n % 5 === 0 ? { upsert: 'text' } : {}
      const answer = await owner?.insert('notes', [{ fields }], options)
      stored.push(answer?.records[0]?.id ?? '')
    }
    const listed = await vaults[0]?.session.get('notes', { limit: 100 })
    expect(listed?.records.map(({ id }) => id)).toEqual(stored)
    for (const { vault } of vaults) await vault.close()
  })

  it('all reach a reader that asks for what comes after the last id it has, while calls of one vault overtake each other', async () => {
    const filename = nextFile()
    const vaults = []
    for (let n = 0; n < 2; n++) vaults.push(await openLoose(sqliteStorage({ filename }), schema))
    const reader = sqliteStorage({ filename })
    const [table = ''] = recordTables(filename)
    await reader.prepare([{ name: table, columns: [], indexes: [] }])
    const writing = vaults.flatMap(({ session }, v) =>
      Array.from({ length: 40 }, async (_, n) => {
        const size = n % 4 === 0 ? 30 : 1
        const fields = Array.from({ length: size }, (_, k) => ({ fields: { text: `TEST_SECRET ${v} ${n} ${k}` } }))
        await session.insert('notes', fields, n % 5 === 0 ? { upsert: 'text' } : {})
      }),
    )
    let isWriting = true
    const end = Promise.all(writing).finally(() => {
      isWriting = false
    })
    const seen: number[] = []
    for (let isLast = false; !isLast; ) {
      isLast = !isWriting
      const rows = await reader.find(table, EVERY, { order: 'asc', limit: 100_000, after: seen.at(-1) ?? 0, columns: [] })
      seen.push(...rows.map(({ id }) => id))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await end
    expect(seen).toEqual((await reader.find(table, EVERY, { ...ALL, columns: [] })).map(({ id }) => id))
    expect(seen).toHaveLength(2 * (10 * 30 + 30))
    await reader.close()
    for (const { vault } of vaults) await vault.close()
  })

  it('have every writer proceed where two processes are busy', async () => {
    const filename = nextFile()
    const script = builtProcess(join(import.meta.dirname, 'inserting-process.ts'))
    await (await openLoose(sqliteStorage({ filename }), schema)).vault.close()
    const outputs = await Promise.all(['left', 'right'].map((name) => run(process.execPath, [script, filename, name, '300'])))
    for (const { stdout } of outputs) expect(JSON.parse(stdout)).toEqual({ stored: 300 })
  })
})

function recordTables(filename: string): string[] {
  const database = new Database(filename)
  const names = database
    .prepare<[], string>("select name from sqlite_schema where name like 'records%' and type = 'table'")
    .pluck()
    .all()
  database.close()
  return names
}
