/** Locks of a transaction: a limit on the wait for them, and tables that no other transaction writes meanwhile. */
import { type RawBuilder, sql } from 'kysely'
import type { SqlDialect } from '../sql/sql-dialect.ts'
import type { PreparedQuery } from './driver-connection.ts'
import type { Executor } from './transaction-executor.ts'

/** How long to wait for a lock that another process or a long transaction holds. */
const LOCK_TIMEOUT = '30s'

/**
 * Runs work that takes locks or builds indexes, inside a transaction: it has its own limit on locks, and none on statements. A host's
 * own transaction continues afterwards, under its own limits.
 */
export async function withLockTimeout(executor: Executor, dialect: SqlDialect, work: () => Promise<void>): Promise<void> {
  const run = (statement: RawBuilder<unknown>) => executor.run(unlimited(dialect, statement))
  const [[locks, statements] = []] = await run(
    sql`select current_setting('lock_timeout') as locks, current_setting('statement_timeout') as statements`,
  )
  await run(limits(LOCK_TIMEOUT, '0'))
  await work()
  await run(limits(String(locks), String(statements)))
}

/** Sets both limits for the rest of the transaction. */
function limits(locks: string, statements: string): RawBuilder<unknown> {
  return sql`select set_config('lock_timeout', ${sql.lit(locks)}, true) as locks,
    set_config('statement_timeout', ${sql.lit(statements)}, true) as statements`
}

/** A statement that may take longer than any other. */
export function unlimited(dialect: SqlDialect, statement: RawBuilder<unknown>): PreparedQuery {
  const { sql: text, parameters } = statement.compile(dialect.compiler)
  return { text, parameters, isUnlimited: true }
}

/** Waits until no other transaction has written these tables, and keeps others from writing them. Readers do not wait. */
export async function lockTables(executor: Executor, dialect: SqlDialect, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return
  const names = sql.join(tables.map((table) => dialect.tableName(table)))
  await withLockTimeout(executor, dialect, async () => {
    await executor.run(unlimited(dialect, sql`lock table ${names} in share row exclusive mode`))
  })
}
