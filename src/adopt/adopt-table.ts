/** Adopts a table of the host's own database into a vault in that database, while the application runs. */
import { type ErrorCode, isVaultError, VaultError } from '../core/errors.ts'
import { guard } from '../core/util/boundary.ts'
import { readOptions } from '../core/util/options.ts'
import type { Caller, Schema, SchemaDefinition, Vault } from '../index.ts'
import { adoptedTable } from './adopted-table.ts'
import { type Adoption, createAdoption } from './adoption.ts'
import { assertSameColumns } from './backfill.ts'
import type { Engine } from './engine.ts'
import type { Adopting } from './job.ts'
import { type PostgresPool, postgresEngine } from './postgres-engine.ts'
import { type Slice, sliceOf } from './slices.ts'
import { type SqliteDatabase, sqliteEngine } from './sqlite-engine.ts'

/** What is adopted, and into what. */
export interface AdoptOptions<S extends SchemaDefinition> {
  /** The open vault. Its storage must be in the database of the host: the same file of SQLite, or a schema of the same PostgreSQL database. */
  readonly vault: Pick<Vault<S>, 'schema' | 'withTransaction'>
  /** The schema of the vault. */
  readonly schema: Schema<S>
  /**
   * The database of the host: a `Database` of better-sqlite3 that nothing else uses meanwhile, or a `pg.Pool` of a role that owns the table and
   * can write to the schema of the vault.
   */
  readonly database: SqliteDatabase | PostgresPool
  /** The table of the host; in PostgreSQL with its schema, if it is not the current one. */
  readonly table: string
  /** The table of the vault. Default: the one of the same name. */
  readonly vaultTable?: string
  /** Columns of the vault by those of the host, or a list of names that both have. Default: all names that both have. */
  readonly columns?: Readonly<Record<string, string>> | readonly string[]
  /** Who the audit trail says has done it. It needs all grants of the table. Default: the service account `adopt` as VAULT_OWNER. */
  readonly caller?: Caller
  /** Rows of a slice at most, 1 to the `maxRecords` of the vault. Default 1,000. */
  readonly maxRows?: number
}

const OPTIONS = ['vault', 'schema', 'database', 'table', 'vaultTable', 'columns', 'caller', 'maxRows'] as const
const CALLER: Caller = { actor: 'adopt', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] }
const DEFAULT_MAX_ROWS = 1000

/**
 * Returns an adoption of a table; nothing is changed yet. Throws `not_found` for a table that does not exist, `unsupported` for one without a
 * primary key, `invalid_request` for columns that do not fit, and where the vault is not in the database of the host.
 */
export async function adoptTable<S extends SchemaDefinition>(given: AdoptOptions<S>): Promise<Adoption> {
  const {
    vault,
    schema,
    database,
    table,
    vaultTable,
    columns,
    caller = CALLER,
    maxRows = DEFAULT_MAX_ROWS,
  } = readOptions(given, OPTIONS, {
    of: 'adoptTable',
  })
  const engine = engineOf(database)
  if (typeof table !== 'string' || table === '')
    throw new VaultError('invalid_request', 'adoptTable: Option "table" must be the name of a table of the application.')
  if (!Number.isInteger(maxRows) || maxRows < 1)
    throw new VaultError(
      'invalid_request',
      'adoptTable: Option "maxRows" must be an integer from 1, up to limits.maxRecords of the vault.',
    )
  const choice = { vaultTable: vaultTable ?? table.slice(table.lastIndexOf('.') + 1), columns }
  return guard('Adopt failed.', async () => {
    const adopting = await engine.transaction(async (connection) => {
      const shape = await engine.inspect(connection, table)
      const found: Adopting = { engine, table: adoptedTable(shape, choice, vault.schema), vault, caller, maxRows }
      const slice = await sliceOf(found, connection, 1)
      await assertSameDatabase(found, slice)
      await assertSameColumns(found, slice)
      return found
    })
    return createAdoption(adopting, schema)
  })
}

function engineOf(database: SqliteDatabase | PostgresPool): Engine {
  if (typeof database === 'object' && database !== null) {
    if ('pragma' in database && 'prepare' in database) return sqliteEngine(database)
    if ('connect' in database && 'query' in database) return postgresEngine(database)
  }
  throw new VaultError('invalid_request', 'adoptTable: Option "database" must be a Database of better-sqlite3, or a Pool of pg.')
}

/** What a read of the vault can fail with in the right database, too. */
const OTHER_REASONS: readonly ErrorCode[] = ['aborted', 'forbidden', 'storage_full', 'unavailable']

/** The vault's rows, the job and the notes commit in one transaction: that is what makes adopting safe to kill. */
async function assertSameDatabase({ table }: Adopting, { session }: Slice): Promise<void> {
  try {
    await session.perform('get', { table: table.vaultTable, options: { limit: 1, redaction: 'REDACTED' } })
  } catch (error) {
    if (isVaultError(error) && OTHER_REASONS.includes(error.code)) throw error
    throw new VaultError(
      'invalid_request',
      'The vault must be in the database of the table: the same file, or a schema of the same PostgreSQL database. Adopt there, and move the vault later.',
      [],
      error instanceof Error ? { cause: error } : {},
    )
  }
}
