/** An application with a table of customers in plaintext, on a real database of either engine, and a vault beside the table. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { describe, inject } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { type Adoption, type AdoptOptions, adoptTable } from '../../../src/adopt/index.ts'
import { column, createVault, defineSchema, type Schema, type SchemaDefinition, type Vault } from '../../../src/index.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

/** The vault of customers. */
export const CUSTOMERS = defineSchema({
  customers: {
    name: column.string({ token: 'random' }),
    email: column.string({ unique: true, normalize: ['trim', 'lowercase'], token: 'random', maxLength: 100 }),
    phone: column.string({ token: 'random' }),
  },
})

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

/** Opens the vault of an address, as every process of the application does. */
export function openHostVault(
  address: StorageAddress,
  schema: Schema<SchemaDefinition> = CUSTOMERS,
): Promise<Vault<SchemaDefinition>> {
  return createVault<SchemaDefinition>({
    id: 'adopted',
    schema,
    storage: openStorage(address),
    keys: localKeys({ key: TEST_SECRET }),
  })
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

/** Every row of the table, as text by key. */
export async function plainRows(host: Pick<Host, 'all'>): Promise<Map<string, string>> {
  const rows = await host.all('select id, name, email, phone from customers order by id')
  return new Map(rows.map(([id, ...cells]) => [String(id), JSON.stringify(cells)]))
}

/** Every row as the vault has it, found by the side table; and the number of records in the vault. */
export async function vaultRows(host: Host): Promise<{ readonly rows: Map<string, string>; readonly records: number }> {
  const session = host.vault.as(OWNER)
  const byId = new Map<string, string>()
  for await (const { records } of session.pages('customers', { limit: 1000, redaction: 'PLAIN_TEXT' }))
    for (const { id, fields } of records)
      byId.set(id, JSON.stringify([fields.name ?? null, fields.email ?? null, fields.phone ?? null]))
  const map = await host.all('select id, record_id from strongroom_customers_map order by id')
  return { rows: new Map(map.map(([id, record]) => [String(id), byId.get(String(record)) ?? 'no record'])), records: byId.size }
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
