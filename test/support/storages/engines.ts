/** Runs the same tests on every storage: memory, a SQLite file, a real PostgreSQL. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { postgresStorage } from '../../../src/adapters/postgres/postgres-storage.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/sqlite-storage.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'

/** Where one vault lives: `open` may be called again on the same place, by another handle. */
export interface Place {
  open(): StorageHandle
}

/** One engine under test. */
export interface Engine {
  readonly name: 'memory' | 'sqlite' | 'postgres'
  /** A place nothing has been stored in. */
  fresh(): Place
}

/** Describes the tests once for each engine; what they open is closed and removed at the end. */
export function onEachStorage(title: string, body: (engine: Engine) => void): void {
  describe(`${title} on memory`, () => {
    body({
      name: 'memory',
      fresh() {
        const storage = memoryStorage()
        return { open: () => storage }
      },
    })
  })
  describe(`${title} on sqlite`, () => {
    const opened: StorageHandle[] = []
    let directory = ''
    beforeAll(() => {
      directory = mkdtempSync(join(tmpdir(), 'strongroom-test-'))
    })
    afterAll(async () => {
      await Promise.all(opened.map((storage) => storage.close()))
      rmSync(directory, { recursive: true, force: true })
    })
    body({
      name: 'sqlite',
      fresh() {
        const filename = join(directory, `${randomBytes(6).toString('hex')}.db`)
        return { open: () => kept(opened, sqliteStorage({ filename })) }
      },
    })
  })
  describe(`${title} on postgres`, () => {
    const opened: StorageHandle[] = []
    let pool: pg.Pool | undefined
    let drop = async (): Promise<void> => {}
    beforeAll(async () => {
      const database = await freshDatabase(inject('postgresUrl'))
      pool = new pg.Pool({ connectionString: database.url, max: 8 })
      drop = database.drop
    })
    afterAll(async () => {
      await Promise.all(opened.map((storage) => storage.close()))
      await pool?.end()
      await drop()
    })
    body({
      name: 'postgres',
      fresh() {
        const schema = `v_${randomBytes(6).toString('hex')}`
        return {
          open() {
            if (pool === undefined) throw new Error('open a storage inside a test, not while describing it')
            return kept(opened, postgresStorage({ pool, schema }))
          },
        }
      },
    })
  })
}

function kept(opened: StorageHandle[], storage: StorageHandle): StorageHandle {
  opened.push(storage)
  return storage
}
