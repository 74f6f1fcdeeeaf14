/** The storage engines under test. Each opens fresh storages for one suite, and closes and removes them at its end. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { postgresStorage } from '../../../src/adapters/postgres/postgres-storage.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import type { PostgresAddress, SqliteAddress } from './open-storage.ts'
import { openStorage } from './open-storage.ts'

/** The address of a storage of each engine; a storage in memory has none. */
interface Addresses {
  readonly memory: undefined
  readonly sqlite: SqliteAddress
  readonly postgres: PostgresAddress
}

export type EngineName = keyof Addresses

/** Where one vault is stored. Use it inside a test or a hook. */
export interface Place<Name extends EngineName = EngineName> {
  /** Another handle on the same storage. The engine closes it when the suite ends. */
  open(): StorageHandle
  /** For another process, or for a look at the files and tables below the storage. */
  address(): Addresses[Name]
  /** Closes all handles and deletes what is stored, for suites that open thousands. */
  remove(): Promise<void>
}

/** One engine under test. */
export interface Engine<Name extends EngineName = EngineName> {
  readonly name: Name
  /** A place where nothing has been stored. */
  fresh(): Place<Name>
}

/** Storages in memory. */
export function memoryEngine(): Engine<'memory'> {
  return {
    name: 'memory',
    fresh() {
      const storage = memoryStorage()
      return { open: () => storage, address: () => undefined, remove: () => storage.close() }
    },
  }
}

/** Storages in SQLite files, each in a folder of its own. Call it in a `describe`, or at the top of a file. */
export function sqliteEngine(): Engine<'sqlite'> {
  const handles = createHandles()
  let directory: string | undefined
  afterAll(async () => {
    await handles.close()
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
  })
  return {
    name: 'sqlite',
    fresh() {
      directory ??= mkdtempSync(join(tmpdir(), 'strongroom-test-'))
      const address = { engine: 'sqlite', filename: join(mkdtempSync(join(directory, 'place-')), 'vault.db') } as const
      const own = handles.group()
      return {
        open: () => own.keep(openStorage(address)),
        address: () => address,
        async remove() {
          await own.close()
          rmSync(dirname(address.filename), { recursive: true, force: true })
        },
      }
    },
  }
}

/** Storages in a PostgreSQL database of the suite, each in a schema of its own. Call it in a `describe`, or at the top of a file. */
export function postgresEngine(): Engine<'postgres'> {
  const handles = createHandles()
  let database: { readonly pool: pg.Pool; readonly url: string; drop(): Promise<void> } | undefined
  beforeAll(async () => {
    const { url, drop } = await freshDatabase(inject('postgresUrl'))
    database = { url, drop, pool: new pg.Pool({ connectionString: url, max: 8 }) }
  })
  afterAll(async () => {
    await handles.close()
    await database?.pool.end()
    await database?.drop()
  })
  const ready = () => {
    if (database === undefined) throw new Error('Open a storage inside a test or a hook, not inside describe.')
    return database
  }
  return {
    name: 'postgres',
    fresh() {
      const schema = `v_${randomBytes(6).toString('hex')}`
      const own = handles.group()
      return {
        open: () => own.keep(postgresStorage({ pool: ready().pool, schema })),
        address: () => ({ engine: 'postgres', url: ready().url, schema }),
        async remove() {
          await own.close()
          await ready().pool.query(`drop schema if exists ${schema} cascade`)
        },
      }
    },
  }
}

/** Every engine by name, to set one up inside `describe.each`. */
export const ENGINES: { readonly [Name in EngineName]: () => Engine<Name> } = {
  memory: memoryEngine,
  sqlite: sqliteEngine,
  postgres: postgresEngine,
}

/** Describes the tests once for each engine. What they open is closed and removed at the end. */
export function onEachStorage(title: string, body: (engine: Engine) => void): void {
  for (const [name, setUp] of Object.entries(ENGINES)) describe(`${title} on ${name}`, () => body(setUp()))
}

/** Handles that are open, in groups that can be closed before the others. */
function createHandles() {
  const groups = new Set<Set<StorageHandle>>()
  const closeAll = (group: ReadonlySet<StorageHandle>) => Promise.all([...group].map((storage) => storage.close()))
  return {
    group() {
      const group = new Set<StorageHandle>()
      groups.add(group)
      return {
        keep(storage: StorageHandle): StorageHandle {
          group.add(storage)
          return storage
        },
        async close(): Promise<void> {
          groups.delete(group)
          await closeAll(group)
        },
      }
    },
    async close(): Promise<void> {
      await Promise.all([...groups].map(closeAll))
    },
  }
}
