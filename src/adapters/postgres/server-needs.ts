/** What a vault needs of a server that calls itself PostgreSQL. Each need that is not met is named while a vault is opened. */
import { type RawBuilder, sql } from 'kysely'
import { isVaultError, type VaultError } from '../../core/errors.ts'
import type { SqlDialect } from '../sql/sql-dialect.ts'
import { postgresCause, sqlState } from './postgres-errors.ts'
import { setupError } from './setup-errors.ts'
import type { Executor } from './transaction-executor.ts'

/**
 * A server lacks a feature, does not have it in a transaction, cannot read its statement, has no such object or function, or keeps it from the role.
 * After a SAVEPOINT that failed, the statement inside is only said to be in a transaction that has failed.
 */
const LACKING = ['0A000', '25001', '42601', '42704', '42883', '42501', '25P02']

/** Needs of every call, and an expression that meets each. What else a vault needs is met where its tables are created. */
const NEEDS: readonly (readonly [name: string, expression: RawBuilder<unknown>])[] = [
  ['the function hashtextextended', sql`pg_catalog.hashtextextended('strongroom', 0)`],
  ['advisory locks (pg_try_advisory_xact_lock)', sql`pg_catalog.pg_try_advisory_xact_lock(0)`],
  ['COLLATE pg_catalog."C"', sql`'a' collate pg_catalog."C" < 'b'`],
  ['arrays (unnest)', sql`pg_catalog.unnest(array[1]::pg_catalog.int8[])`],
]

/**
 * Throws `unavailable`, which stops a vault from being opened, for a need that the server does not meet. Other failures are left to the statements that
 * follow.
 */
export async function assertNeedsMet(executor: Executor, { compiler }: SqlDialect): Promise<void> {
  async function failureOf(...expressions: readonly RawBuilder<unknown>[]): Promise<unknown> {
    const { sql: text } = sql`select ${sql.join(expressions)}`.compile(compiler)
    return executor.run({ text, parameters: [] }).then(
      () => undefined,
      (error: unknown) => error,
    )
  }
  if (needError(await failureOf(...NEEDS.map(([, expression]) => expression)), '') === undefined) return
  for (const [name, expression] of NEEDS) {
    const lack = needError(await failureOf(expression), name)
    if (lack !== undefined) throw lack
  }
}

/** The error for a need that a statement did not meet; undefined if it failed for another reason. */
export function needError(error: unknown, name: string): VaultError | undefined {
  if (isVaultError(error) || !LACKING.includes(sqlState(error) ?? '')) return undefined
  const sentence = `The server lacks ${name}, which a vault needs, or keeps it from this role. Grant it, or use a server that has it.`
  return setupError(sentence, postgresCause(error))
}
