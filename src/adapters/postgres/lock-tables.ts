/** Locks of a transaction: a limit on the wait for them, and tables that no other transaction writes meanwhile. */
import { type RawBuilder, sql } from 'kysely'
import type { SqlDialect } from '../sql/sql-dialect.ts'
import type { Executor } from './transaction-executor.ts'

/** How long to wait for a lock that another process or a long transaction holds. */
const LOCK_TIMEOUT = '30s'

/** Runs work that takes locks, inside a transaction. A host's own transaction continues afterwards, under its own limit. */
export async function withLockTimeout(executor: Executor, dialect: SqlDialect, work: () => Promise<void>): Promise<void> {
  const run = (statement: RawBuilder<unknown>) => {
    const { sql: text, parameters } = statement.compile(dialect.compiler)
    return executor.run({ text, parameters })
  }
  const [[before] = []] = await run(sql`select current_setting('lock_timeout')`)
  await run(sql`select set_config('lock_timeout', ${sql.lit(LOCK_TIMEOUT)}, true)`)
  await work()
  await run(sql`select set_config('lock_timeout', ${sql.lit(String(before))}, true)`)
}

/** Waits until no other transaction has written these tables, and keeps others from writing them. Readers do not wait. */
export async function lockTables(executor: Executor, dialect: SqlDialect, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return
  const names = sql.join(tables.map((table) => dialect.tableName(table)))
  const { sql: text, parameters } = sql`lock table ${names} in share row exclusive mode`.compile(dialect.compiler)
  await withLockTimeout(executor, dialect, async () => {
    await executor.run({ text, parameters })
  })
}
