/** An application with a table of customers in plaintext, on a real database of either engine, and a vault beside the table. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { describe, inject } from 'vitest'
import { type Adoption, type AdoptOptions, adoptTable } from '../../../src/adopt/index.ts'
import type { Schema, SchemaDefinition, Vault } from '../../../src/index.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import type { StorageAddress } from '../storages/open-storage.ts'
import { CUSTOMERS, openHostVault } from './customers.ts'

/** The application's table. `{big}` is the type of an integer key. */
export const TABLE = 'create table customers (id {big} primary key, name text, email text unique, phone text, note text)'

export type HostEngine = StorageAddress['engine']

export interface Host {
  readonly engine: HostEngine
  readonly address: StorageAddress
  readonly database: AdoptOptions<SchemaDefinition>['database']
  readonly vault: Vault<SchemaDefinition>
  /** Runs statements, in which `{big}` is the integer type of keys. */
  script(text: string): Promise<void>
  /** Returns the rows of a SELECT as JSON knows them. */
  all(text: string): Promise<unknown[][]>
  adopt(options?: Partial<AdoptOptions<SchemaDefinition>>): Promise<Adoption>
  /** Runs work in a transaction of the application, on a connection of its own. */
  transaction<T>(work: (handle: unknown, run: (text: string) => Promise<void>) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A new database with a table, and a vault in it. */
export async function openHost(engine: HostEngine, table = TABLE, schema: Schema<SchemaDefinition> = CUSTOMERS): Promise<Host> {
  const host = await (engine === 'sqlite' ? sqliteHost(schema) : postgresHost(schema))
  await host.script(table)
  return host
}

function sqliteHost(schema: Schema<SchemaDefinition>): Promise<Host> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-adopt-'))
  const filename = join(folder, 'app.db')
  const database = new Database(filename)
  const application = new Database(filename)
  application.pragma('foreign_keys = on')
  const integer = (text: string) => text.replaceAll('{big}', 'integer')
  return hostOf({
    engine: 'sqlite',
    address: { engine: 'sqlite', filename },
    database,
    schema,
    script: async (text) => void application.exec(integer(text)),
    all: async (text) => application.prepare(text).raw().all() as unknown[][],
    async transaction(work) {
      application.exec('begin immediate')
      try {
        const result = await work(application, async (text) => void application.exec(text))
        application.exec('commit')
        return result
      } catch (error) {
        if (application.inTransaction) application.exec('rollback')
        throw error
      }
    },
    async end() {
      database.close()
      application.close()
      rmSync(folder, { recursive: true, force: true })
    },
  })
}

async function postgresHost(schema: Schema<SchemaDefinition>): Promise<Host> {
  const fresh = await freshDatabase(inject('postgresUrl'))
  const pool = new pg.Pool({ connectionString: fresh.url, max: 3 })
  const application = new pg.Pool({ connectionString: fresh.url, max: 3 })
  const big = (text: string) => text.replaceAll('{big}', 'bigint')
  const types = {
    getTypeParser: (id: number) => (id === 20 || id === 23 ? Number : (pg.types.getTypeParser(id) as (raw: string) => unknown)),
  }
  return hostOf({
    engine: 'postgres',
    address: { engine: 'postgres', url: fresh.url },
    database: pool,
    schema,
    script: async (text) => void (await application.query(big(text))),
    all: async (text) => (await application.query({ text, rowMode: 'array', types })).rows,
    async transaction(work) {
      const client = await application.connect()
      try {
        await client.query('begin')
        const result = await work(client, async (text) => void (await client.query(text)))
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    async end() {
      await pool.end()
      await application.end()
      await fresh.drop()
    },
  })
}

interface Parts extends Omit<Host, 'vault' | 'adopt' | 'close'> {
  readonly schema: Schema<SchemaDefinition>
  end(): Promise<void>
}

async function hostOf({ schema, end, ...parts }: Parts): Promise<Host> {
  const vault = await openHostVault(parts.address, schema)
  return {
    ...parts,
    vault,
    adopt: (options = {}) =>
      adoptTable<SchemaDefinition>({ vault, schema, database: parts.database, table: 'customers', ...options }),
    async close() {
      await vault.close()
      await end()
    },
  }
}

/** Describes the same on both engines. */
export function onEachHost(name: string, work: (engine: HostEngine) => void): void {
  for (const engine of ['sqlite', 'postgres'] as const) describe(`${name} on ${engine}`, () => work(engine))
}

/** Names of triggers, functions, columns and tables that adopting has left. */
export async function leftovers(host: Host): Promise<unknown[]> {
  const text =
    host.engine === 'sqlite'
      ? `select name from sqlite_master where name like 'strongroom\\_%' escape '\\' and name not like 'strongroom\\_ids%' escape '\\' union select name from pragma_table_info('customers') where name not in ('id', 'name', 'email', 'phone', 'note')`
      : `select relname from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = 'public' and relname like 'strongroom\\_%'
         union select proname from pg_proc where proname like 'strongroom\\_%' union select tgname from pg_trigger where tgname like 'strongroom\\_%'`
  return (await host.all(text)).flat()
}
