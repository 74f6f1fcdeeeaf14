/** Drops tables with their sequences, columns and indexes, in one transaction. What is missing is passed over. */
import { type RawBuilder, sql } from 'kysely'
import type { DropTarget } from '../../core/ports/storage.ts'
import { patient, withPatience } from './lock-tables.ts'
import { possibleIndexNames, sequenceName } from './postgres-sql-dialect.ts'
import type { SqlContext } from './row-queries.ts'
import type { Executor } from './transaction-executor.ts'

/** Waits `waitMs` at most for each lock. */
export async function dropTargets(
  executor: Executor,
  { schema, dialect }: Pick<SqlContext, 'schema' | 'dialect'>,
  { targets, waitMs }: { readonly targets: readonly DropTarget[]; readonly waitMs?: number | undefined },
): Promise<void> {
  const statements = targets.flatMap((target) => statementsOf(schema, target))
  if (statements.length === 0) return
  await executor.transaction((inner) =>
    withPatience(
      inner,
      dialect,
      async () => {
        for (const statement of statements) await inner.run(patient(dialect, statement))
      },
      waitMs,
    ),
  )
}

function statementsOf(schema: string, target: DropTarget): readonly RawBuilder<unknown>[] {
  const named = (names: readonly string[]) => sql.join(names.map((name) => sql.id(schema, name)))
  switch (target.kind) {
    case 'tables':
      if (target.tables.length === 0) return []
      return [
        sql`drop table if exists ${named(target.tables)}`,
        sql`drop sequence if exists ${named(target.tables.map(sequenceName))}`,
      ]
    case 'columns': {
      if (target.columns.length === 0) return []
      const parts = sql.join(target.columns.map((column) => sql`drop column if exists ${sql.id(column)}`))
      return [sql`alter table if exists ${sql.id(schema, target.table)} ${parts}`]
    }
    case 'index':
      return [sql`drop index if exists ${named(possibleIndexNames(target.table, target.index))}`]
  }
}
