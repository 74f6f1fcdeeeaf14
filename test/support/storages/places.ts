/** Places for vaults on each storage engine, without a test runner: the tests and the laws open them. Each engine closes what it opened. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { postgresStorage } from '../../../src/adapters/postgres/postgres-storage.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { openStorage, type PostgresAddress, type SqliteAddress } from './open-storage.ts'

/** The address of a storage of each engine; a storage in memory has none. */
interface Addresses {
  readonly memory: undefined
  readonly sqlite: SqliteAddress
  readonly postgres: PostgresAddress
}

export type EngineName = keyof Addresses

/** Where one vault is stored. */
export interface Place<Name extends EngineName = EngineName> {
  /** Another handle on the same storage. The engine closes it at its end. */
  open(): StorageHandle
  /** For another process, or for a look at the files and tables below the storage. */
  address(): Addresses[Name]
  /** Closes all handles and deletes what is stored, for runs that open thousands. */
  remove(): Promise<void>
}

/** One engine. */
export interface Engine<Name extends EngineName = EngineName> {
  readonly name: Name
  /** A place where nothing has been stored. */
  fresh(): Place<Name>
}

/** An engine that the caller closes. */
export interface OpenEngine<Name extends EngineName = EngineName> extends Engine<Name> {
  /** Closes all handles and deletes all places. */
  close(): Promise<void>
}

/** Storages in memory. */
export function memoryPlaces(): OpenEngine<'memory'> {
  return {
    name: 'memory',
    fresh() {
      const storage = memoryStorage()
      return { open: () => storage, address: () => undefined, remove: () => storage.close() }
    },
    close: async () => {},
  }
}

/** Storages in SQLite files, each in a folder of its own. Without a driver, with the default one. */
export function sqlitePlaces(driver?: SqliteAddress['driver']): OpenEngine<'sqlite'> {
  const handles = createHandles()
  let directory: string | undefined
  return {
    name: 'sqlite',
    fresh() {
      directory ??= mkdtempSync(join(tmpdir(), 'strongroom-test-'))
      const filename = join(mkdtempSync(join(directory, 'place-')), 'vault.db')
      // Tests kill processes, which loses nothing, and take the power away only in the law of that name.
      const address = { engine: 'sqlite', filename, synchronous: 'normal', ...(driver === undefined ? {} : { driver }) } as const
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
    async close() {
      await handles.close()
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Storages in a new PostgreSQL database, each in a schema of its own. `url` is a superuser's address. */
export async function postgresPlaces(url: string): Promise<OpenEngine<'postgres'>> {
  const database = await freshDatabase(url)
  const pool = new pg.Pool({ connectionString: database.url, max: 8 })
  const handles = createHandles()
  return {
    name: 'postgres',
    fresh() {
      const schema = `v_${randomBytes(6).toString('hex')}`
      const own = handles.group()
      return {
        open: () => own.keep(postgresStorage({ pool, schema })),
        address: () => ({ engine: 'postgres', url: database.url, schema }),
        async remove() {
          await own.close()
          await pool.query(`drop schema if exists ${schema} cascade`)
        },
      }
    },
    async close() {
      await handles.close()
      await pool.end()
      await database.drop()
    },
  }
}

/** All three engines, closed together. */
export interface Places {
  readonly memory: OpenEngine<'memory'>
  readonly sqlite: OpenEngine<'sqlite'>
  readonly postgres: OpenEngine<'postgres'>
  close(): Promise<void>
}

/** Opens all three engines for a law. `url` is a superuser's address of a PostgreSQL. */
export async function openPlaces(url: string): Promise<Places> {
  const engines = { memory: memoryPlaces(), sqlite: sqlitePlaces(), postgres: await postgresPlaces(url) }
  return {
    ...engines,
    async close() {
      for (const engine of Object.values(engines)) await engine.close()
    },
  }
}

/** The engine of the case with this number: each of these in turn, by default memory, SQLite and PostgreSQL. */
export function engineInTurn(
  places: Places,
  number: number,
  names: readonly EngineName[] = ['memory', 'sqlite', 'postgres'],
): OpenEngine {
  return places[names[number % names.length] ?? 'memory']
}

/** Runs work on a place of its own, and deletes the place. */
export async function onFresh<Name extends EngineName, Result>(
  engine: Engine<Name>,
  work: (place: Place<Name>) => Promise<Result>,
): Promise<Result> {
  const place = engine.fresh()
  try {
    return await work(place)
  } finally {
    await place.remove()
  }
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
