/** Builds indexes of existing tables while others write them: each by a statement of its own, outside transactions. The index of a build that fails is dropped. */
import { type RawBuilder, sql } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { PhysicalIndex, PhysicalTable } from '../../core/ports/storage.ts'
import { duplicatesError } from '../errors/storage-errors.ts'
import type { RawRow } from './driver-connection.ts'
import { patient } from './lock-tables.ts'
import { postgresCause, sqlState } from './postgres-errors.ts'
import { indexedExpressions, indexName } from './postgres-sql-dialect.ts'
import { missingIndexes, type Preparation, readStoredObjects } from './prepare-tables.ts'
import type { Session } from './transaction-executor.ts'

/** The tables, and whether the session stays with one connection of the server: a pooler can give each statement another one. */
interface Build extends Pick<Preparation, 'schema' | 'dialect' | 'tables'> {
  readonly keepsSession: boolean
}

/** Limits of the session: a build lasts as long as it must, and waits so long for transactions that were open when it began. */
const LIMITS = [
  ['statement_timeout', '0'],
  ['lock_timeout', '300000'],
  ['default_transaction_read_only', 'off'],
] as const

/** Two builds on one table can be a deadlock, which the server ends. */
const MAX_ATTEMPTS = 10

/** Builds the indexes that the tables lack. Throws `failed_precondition` where duplicates prevent a unique one. Those that were built before it stay. */
export async function buildIndexes(session: Session, build: Build): Promise<void> {
  const { dialect, keepsSession, tables } = build
  const run = (statement: RawBuilder<unknown>) => session.run(patient(dialect, statement))
  const stored = await readStoredObjects(session, build)
  if (keepsSession) for (const [name, value] of LIMITS) await run(sql`set ${sql.raw(name)} = ${sql.lit(value)}`)
  for (const table of tables) {
    for (const index of missingIndexes(table, stored)) await buildIndex(run, build, table, index)
  }
}

type Run = (statement: RawBuilder<unknown>) => Promise<readonly RawRow[]>

/** A statement waits for another process that builds the same index, and then passes over it, whether its build succeeded or failed. */
async function buildIndex(
  run: Run,
  { schema, dialect }: Pick<Build, 'schema' | 'dialect'>,
  ...[table, index]: readonly [PhysicalTable, PhysicalIndex]
): Promise<void> {
  const name = indexName(table, index)
  const kind = sql.raw(index.unique ? 'unique index' : 'index')
  const make = sql`create ${kind} concurrently if not exists ${sql.id(name)} on ${dialect.tableName(table.name)} (${indexedExpressions(table, index)})`
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    try {
      await run(make)
    } catch (error) {
      await dropInvalid(run, schema, name).catch(() => {})
      if (sqlState(error) === '23505') throw duplicatesError(table.name, index.columns, postgresCause(error))
      if (sqlState(error) !== '40P01') throw error
    }
    if (await isValid(run, schema, name)) return
    await dropInvalid(run, schema, name)
  }
  const sentence = `An index of table "${table.name}" was not built: others kept building it too. Retry.`
  throw new VaultError('unavailable', sentence, { table: table.name })
}

async function dropInvalid(run: Run, schema: string, name: string): Promise<void> {
  if ((await isValid(run, schema, name)) === false) await run(sql`drop index concurrently if exists ${sql.id(schema, name)}`)
}

/** Whether the server uses an index; undefined if there is none. */
async function isValid(run: Run, schema: string, name: string): Promise<boolean | undefined> {
  const [row] = await run(sql`select i.indisvalid::pg_catalog.text from pg_catalog.pg_index i
    join pg_catalog.pg_class c on c.oid = i.indexrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${sql.lit(schema)} and c.relname = ${sql.lit(name)}`)
  return row === undefined ? undefined : row[0] === 'true'
}
