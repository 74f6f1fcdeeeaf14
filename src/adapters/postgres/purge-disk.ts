/** Takes the bytes of deleted rows out of the tables of PostgreSQL, as far as the owner of tables can: VACUUM, or tables written anew. */
import { type RawBuilder, sql } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { DiskNote, DiskPurge, DiskReport } from '../../core/ports/storage.ts'
import { attempt, jitteredMs, type Reason } from '../../core/util/attempt.ts'
import type { RawRow } from './driver-connection.ts'
import { patient } from './lock-tables.ts'
import type { PoolExecutor } from './pool-executor.ts'
import { mapPostgresError, postgresCause, sqlState } from './postgres-errors.ts'
import type { SqlContext } from './row-queries.ts'
import { storedTables } from './stored-tables.ts'

/** Milliseconds that one attempt waits for the lock of a table: while it waits, new readers and writers of the table wait behind it. */
const LOCK_MS = 250
/** Attempts for a table: with their pauses about half a minute. */
const MAX_ATTEMPTS = 40
const PAUSE = { firstMs: 8, maxMs: 1024 }

/** Runs one statement, as long as it takes. */
type Run = (statement: RawBuilder<unknown>) => Promise<readonly RawRow[]>

/**
 * Removes dead rows of all tables of the schema, so that their space is used again. With `full`, writes each table with its indexes and long values
 * anew, while its readers and writers wait. Throws `unavailable` if others keep a lock of a table, `failed_precondition` for `full` where sessions are shared.
 */
export async function purgeTables(executor: PoolExecutor, context: SqlContext, { full, onStep }: DiskPurge): Promise<DiskReport> {
  if (full && !context.named)
    throw new VaultError(
      'failed_precondition',
      'VACUUM FULL needs a session of its own, to limit its wait for locks. Open the storage on the server itself, without preparedStatements: false.',
    )
  return executor.session(async (session) => {
    const run: Run = (statement) => session.run(patient(context.dialect, statement))
    const ask: Run = (statement) => mapped(run(statement))
    const names = (await mapped(storedTables(session, context))).map(({ name }) => name)
    if (context.named) await ask(sql`set statement_timeout = 0; set lock_timeout = ${sql.lit(LOCK_MS)}`)
    const own = await ownTables(ask, context, names)
    const open = Number((await ask(OPEN_TRANSACTIONS))[0]?.[0])
    const total = own.length + 1
    for (const [done, name] of own.entries()) {
      await onStep({ done, total })
      const vacuum = sql`vacuum (${sql.raw(full ? 'full, analyze' : 'analyze')}) ${context.dialect.tableName(name)}`
      await mapped(attempt([LOCKED], () => run(vacuum)))
    }
    await onStep({ done: own.length, total })
    const isWritten = await checkpoint(run)
    await onStep({ done: total, total })
    return report({ full, isWritten, open, tables: own.length, others: names.filter((name) => !own.includes(name)) })
  })
}

async function mapped<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw mapPostgresError(error, {})
  }
}

const LOCKED: Reason = {
  is: (error) => ['55P03', '40P01'].includes(sqlState(error) ?? ''),
  most: MAX_ATTEMPTS,
  between: async (count) => void (await new Promise((wake) => setTimeout(wake, jitteredMs(count, PAUSE, Math.random())))),
  lastWord: (error) =>
    new VaultError(
      'unavailable',
      'A table could not be locked for VACUUM: other transactions kept using it for half a minute. Retry when fewer do.',
      {},
      { cause: postgresCause(error) },
    ),
}

/** The tables that this role can vacuum: PostgreSQL passes over others with a warning only. */
async function ownTables(run: Run, { schema }: SqlContext, names: readonly string[]): Promise<readonly string[]> {
  if (names.length === 0) return []
  const rows =
    await run(sql`select c.relname::pg_catalog.text from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${sql.lit(schema)} and c.relname in (${sql.join(names.map((name) => sql.lit(name)))})
      and (pg_catalog.pg_has_role(c.relowner, 'USAGE')
        or exists (select from pg_catalog.pg_database d where d.datname = pg_catalog.current_database() and pg_catalog.pg_has_role(d.datdba, 'USAGE')))
    order by 1`)
  return rows.map(([name]) => String(name))
}

/** Counts what was open before the first VACUUM and may read rows that are dead: they are kept. Sessions of other roles are seen by pg_read_all_stats only. */
const OPEN_TRANSACTIONS = sql`select (select count(*) from pg_catalog.pg_stat_activity
    where pid <> pg_catalog.pg_backend_pid() and (backend_xmin is not null or backend_xid is not null)
      and (datname = pg_catalog.current_database() or backend_type = 'walsender'))
  + (select count(*) from pg_catalog.pg_replication_slots where xmin is not null)
  + (select count(*) from pg_catalog.pg_prepared_xacts where database = pg_catalog.current_database())`

/** Has pages in memory written to the files. Returns false where the role may not. */
async function checkpoint(run: Run): Promise<boolean> {
  try {
    await run(sql`checkpoint`)
    return true
  } catch (error) {
    if (sqlState(error) !== '42501') throw mapPostgresError(error, {})
    return false
  }
}

interface Purged {
  readonly full: boolean
  readonly isWritten: boolean
  /** Transactions that were open. */
  readonly open: number
  /** Tables that were vacuumed, and the names of those of other owners. */
  readonly tables: number
  readonly others: readonly string[]
}

function report({ full, isWritten, open, tables, others }: Purged): DiskReport {
  const done: DiskNote[] = [
    full
      ? { what: 'rewritten', text: `VACUUM FULL wrote ${tables} tables anew, with their indexes and long values.` }
      : { what: 'vacuumed', text: `VACUUM removed dead rows of ${tables} tables. Their space is used again.` },
  ]
  const remains: DiskNote[] = []
  if (isWritten) done.push({ what: 'checkpoint', text: 'Pages in memory were written to the files.' })
  else remains.push(NO_CHECKPOINT)
  if (!full) remains.push(PAGES)
  if (others.length > 0)
    remains.push({ what: 'other-owner', text: `Tables of another role: ${others.join(', ')}. Purge as their owner.` })
  if (open > 0)
    remains.push({
      what: 'row-versions',
      text: `Rows that older transactions may still read: ${open} transactions, replication slots or replicas were open. Purge again when they have ended.`,
    })
  return { done, remains: [...remains, ...BEYOND_TABLES] }
}

const NO_CHECKPOINT: DiskNote = {
  what: 'checkpoint',
  text: 'Files, until the server writes its pages with the next checkpoint: this role may not ask for one (pg_checkpoint).',
}
const PAGES: DiskNote = {
  what: 'pages',
  text: 'Free space of tables and indexes, until other rows overwrite it. Purge with full, which rewrites tables under a lock, to remove it.',
}
const BEYOND_TABLES: readonly DiskNote[] = [
  { what: 'write-ahead-log', text: 'The write-ahead log, until its segments are recycled, and its archive.' },
  { what: 'replicas', text: 'Replicas that have not replayed yet, and their write-ahead logs.' },
  {
    what: 'statistics',
    text: 'Samples of cells in pg_statistic, also earlier ones, until autovacuum and new rows overwrite them.',
  },
  { what: 'server-log', text: 'The log of the server, if it has statements with their parameters.' },
  {
    what: 'file-system',
    text: 'Blocks that the file system took back are not overwritten, and SSDs and snapshots keep copies. Encrypt the disk.',
  },
  { what: 'backups', text: 'Backups and dumps have the rows that they had.' },
]
