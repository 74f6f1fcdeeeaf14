/** Locks of a transaction: limits on the wait for them, and tables that no other transaction writes meanwhile. */
import { type RawBuilder, sql } from 'kysely'
import type { SqlDialect } from '../sql/sql-dialect.ts'
import type { PreparedQuery } from './driver-connection.ts'
import type { Executor } from './transaction-executor.ts'

/** How long to wait for a lock that another process or a long transaction holds, in milliseconds. */
const LOCK_TIMEOUT_MS = 30_000

/**
 * Runs work that takes locks or builds indexes, inside a transaction. A host's own transaction continues afterwards, under its own limits.
 * Unlike a SELECT, what is sent before the work fixes no state for a transaction that is stricter than READ COMMITTED: it reads what those that it waits for commit.
 */
export async function withPatience(
  executor: Executor,
  dialect: SqlDialect,
  work: () => Promise<void>,
  waitMs = LOCK_TIMEOUT_MS,
): Promise<void> {
  const run = (statement: RawBuilder<unknown>) => executor.run(patient(dialect, statement))
  const settings = await Promise.all(LIMITS.map((name) => run(sql`show ${sql.raw(name)}`)))
  const limits = [`${waitMs}ms`, '0']
  await Promise.all(LIMITS.map((name, index) => run(limitOf(name, String(limits[index])))))
  await work()
  await Promise.all(LIMITS.map((name, index) => run(limitOf(name, String(settings[index]?.[0]?.[0])))))
}

/** Limits of the wait for a lock, and of a statement: an index over many rows takes longer than any other statement may. */
const LIMITS = ['lock_timeout', 'statement_timeout'] as const

/** Sets a limit for the rest of the transaction. */
function limitOf(name: string, value: string): RawBuilder<unknown> {
  return sql`set local ${sql.raw(name)} = ${sql.lit(value)}`
}

/** A statement that the driver waits for without a limit of its own. */
export function patient({ compiler }: SqlDialect, statement: RawBuilder<unknown>): PreparedQuery {
  const { sql: text, parameters } = statement.compile(compiler)
  return { text, parameters, isUnlimited: true }
}

/** Waits until no other transaction has written these tables, and keeps others from writing them. Readers do not wait. */
export async function lockTables(
  executor: Executor,
  dialect: SqlDialect,
  { tables, waitMs }: { readonly tables: readonly string[]; readonly waitMs?: number | undefined },
): Promise<void> {
  if (tables.length === 0) return
  const names = sql.join(tables.map((table) => dialect.tableName(table)))
  const lock = async (): Promise<void> => {
    await executor.run(patient(dialect, sql`lock table ${names} in share row exclusive mode`))
  }
  await withPatience(executor, dialect, lock, waitMs)
}
