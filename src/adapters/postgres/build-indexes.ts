/** Builds indexes of existing tables while others write them: each by a statement of its own, outside transactions. The index of a build that fails is dropped. */
import { type RawBuilder, sql } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { PhysicalIndex, PhysicalTable } from '../../core/ports/storage.ts'
import { attempt, type Reason } from '../../core/util/attempt.ts'
import { duplicatesError } from '../errors/storage-errors.ts'
import type { RawRow } from './driver-connection.ts'
import { patient } from './lock-tables.ts'
import { postgresCause, sqlState } from './postgres-errors.ts'
import { indexedExpressions, indexName, stableHash } from './postgres-sql-dialect.ts'
import { missingIndexes, type Preparation, readStoredObjects } from './prepare-tables.ts'
import type { Session } from './transaction-executor.ts'

/** The tables, and whether the session stays with one connection of the server: a pooler can give each statement another one. */
interface Build extends Pick<Preparation, 'schema' | 'dialect' | 'tables'> {
  readonly keepsSession: boolean
}

/** How long a build waits for transactions that were open when it began, and for another build of the table, in milliseconds. */
const WAIT_MS = 300_000

/** Limits of the session: a build lasts as long as it must. */
const LIMITS = [
  ['statement_timeout', '0'],
  ['lock_timeout', String(WAIT_MS)],
  ['default_transaction_read_only', 'off'],
] as const

/** Between two looks whether another build of the table has ended, or two attempts, in milliseconds. */
const PAUSE_MS = 50

const between = async () => void (await new Promise((wake) => setTimeout(wake, PAUSE_MS * (0.5 + Math.random()))))

/** Builds or drops of the same index by others can be a deadlock, which the server ends, or change an entry of its catalog first. */
const LOST_RACES = ['40P01', 'XX000']
const MAX_ATTEMPTS = 10

/** Builds the indexes that the tables lack. Throws `failed_precondition` where duplicates prevent a unique one. Those that were built before it stay. */
export async function buildIndexes(session: Session, build: Build): Promise<void> {
  const { schema, dialect, keepsSession, tables } = build
  const run = (statement: RawBuilder<unknown>) => session.run(patient(dialect, statement))
  const stored = await readStoredObjects(session, build)
  if (keepsSession) for (const [name, value] of LIMITS) await run(sql`set ${sql.raw(name)} = ${sql.lit(value)}`)
  for (const table of tables) {
    const missing = missingIndexes(table, stored)
    if (keepsSession && missing.length > 0) await takeTurn(run, schema, table)
    for (const index of missing) await buildIndex(run, build, table, index)
  }
}

type Run = (statement: RawBuilder<unknown>) => Promise<readonly RawRow[]>

/**
 * Waits until no other session builds indexes of the table; the turn ends with the session. One that waited inside a statement would be waited for by
 * the build itself, and one that dropped what looks unfinished would drop what the other has finished meanwhile.
 */
async function takeTurn(run: Run, schema: string, { name }: PhysicalTable): Promise<void> {
  const key = sql.lit(stableHash(`strongroom indexes ${schema} ${name}`))
  const lock = sql`select pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended(${key}, 0))::pg_catalog.text`
  const taken = new VaultError('unavailable', `Another process builds indexes of table "${name}". Retry.`, { table: name })
  await attempt([{ is: (error) => error === taken, most: WAIT_MS / PAUSE_MS, between }], async () => {
    const [[isOurs] = []] = await run(lock)
    if (isOurs !== 'true') throw taken
  })
}

/** Through a pooler, which keeps no session, a statement waits for another process that builds the same index, and then passes over it, whether its build succeeded or failed. */
async function buildIndex(
  run: Run,
  { schema, dialect }: Pick<Build, 'schema' | 'dialect'>,
  ...[table, index]: readonly [PhysicalTable, PhysicalIndex]
): Promise<void> {
  const name = indexName(table, index)
  const kind = sql.raw(index.unique ? 'unique index' : 'index')
  const make = sql`create ${kind} concurrently if not exists ${sql.id(name)} on ${dialect.tableName(table.name)} (${indexedExpressions(table, index)})`
  const sentence = `An index of table "${table.name}" was not built: others kept building it too. Retry.`
  const lost = new VaultError('unavailable', sentence, { table: table.name })
  const isLost = (error: unknown) => error === lost || LOST_RACES.includes(sqlState(error) ?? '')
  const again: Reason = { is: isLost, most: MAX_ATTEMPTS, between, lastWord: () => lost }
  try {
    await attempt([again], async () => {
      await run(make)
      if (await isValid(run, schema, name)) return
      await dropInvalid(run, schema, name)
      throw lost
    })
  } catch (error) {
    await dropInvalid(run, schema, name).catch(() => {})
    throw sqlState(error) === '23505' ? duplicatesError(table.name, index.columns, postgresCause(error)) : error
  }
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
