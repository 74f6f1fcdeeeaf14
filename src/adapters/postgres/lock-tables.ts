/** Locks of a transaction: limits on the wait for them, and tables that no other transaction writes meanwhile. */
import { type RawBuilder, sql } from 'kysely'
import type { SqlDialect } from '../sql/sql-dialect.ts'
import type { PreparedQuery } from './driver-connection.ts'
import type { Executor } from './transaction-executor.ts'

/** How long to wait for a lock that another process or a long transaction holds. */
const LOCK_TIMEOUT = '30s'
/** An index over many rows takes longer than any other statement may. */
const NO_TIMEOUT = '0'

/** Runs work that takes locks or builds indexes, inside a transaction. A host's own transaction continues afterwards, under its own limits. */
export async function withPatience(executor: Executor, dialect: SqlDialect, work: () => Promise<void>): Promise<void> {
  const run = (statement: RawBuilder<unknown>) => executor.run(patient(dialect, statement))
  const [[lockTimeout, statementTimeout] = []] = await run(
    sql`select pg_catalog.current_setting('lock_timeout') as locks, pg_catalog.current_setting('statement_timeout') as statements`,
  )
  await run(limits(LOCK_TIMEOUT, NO_TIMEOUT))
  await work()
  await run(limits(String(lockTimeout), String(statementTimeout)))
}

/** A statement that the driver waits for without a limit of its own. */
export function patient({ compiler }: SqlDialect, statement: RawBuilder<unknown>): PreparedQuery {
  const { sql: text, parameters } = statement.compile(compiler)
  return { text, parameters, isUnlimited: true }
}

/** Sets both limits for the rest of the transaction. */
function limits(lockTimeout: string, statementTimeout: string): RawBuilder<unknown> {
  return sql`select pg_catalog.set_config('lock_timeout', ${sql.lit(lockTimeout)}, true) as locks,
    pg_catalog.set_config('statement_timeout', ${sql.lit(statementTimeout)}, true) as statements`
}

/** Waits until no other transaction has written these tables, and keeps others from writing them. Readers do not wait. */
export async function lockTables(executor: Executor, dialect: SqlDialect, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return
  const names = sql.join(tables.map((table) => dialect.tableName(table)))
  await withPatience(executor, dialect, async () => {
    await executor.run(patient(dialect, sql`lock table ${names} in share row exclusive mode`))
  })
}
