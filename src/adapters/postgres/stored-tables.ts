/** The tables that a schema has, as `prepare` created them, and the sequences of their ids: where they are, and how they are raised. */
import { type RawBuilder, sql } from 'kysely'
import { MAX_ROW_ID, type PhysicalType, type StoredTable } from '../../core/ports/storage.ts'
import { BLOCK_SIZE } from './id-blocks.ts'
import { sequenceName } from './postgres-sql-dialect.ts'
import type { SqlContext } from './row-queries.ts'
import type { Executor } from './transaction-executor.ts'
import { TYPE_OIDS } from './wire-cells.ts'

const TYPES = new Map(Object.entries(TYPE_OIDS).map(([type, oid]) => [oid, type as PhysicalType]))

/** Lists the tables. Another form of table, or one without a sequence, is the application's, and left out. */
export async function storedTables(executor: Pick<Executor, 'run'>, context: SqlContext): Promise<readonly StoredTable[]> {
  const columns = new Map<string, { readonly name: string; readonly oid: number }[]>()
  for (const [table, name, oid] of await run(executor, context, columnsQuery(context.schema))) {
    const of = columns.get(String(table)) ?? []
    columns.set(String(table), of)
    of.push({ name: String(name), oid: Number(oid) })
  }
  // A sequence is among them: it has columns, too.
  const ours = [...columns].filter(
    ([table, own]) => columns.has(sequenceName(table)) && own.some(isId) && own.every(({ oid }) => TYPES.has(oid)),
  )
  if (ours.length === 0) return []
  const nextIds = new Map<string, number>()
  // After the first statement, which fixed the state that is read: a sequence shows its newest value in any case, which is never too low.
  const sequences = sql.join(
    ours.map(([table]) => sql`select ${sql.lit(table)}, ${nextId()} from ${sequence(context, table)}`),
    sql` union all `,
  )
  for (const [table, next] of await run(executor, context, sequences)) nextIds.set(String(table), Number(next))
  return ours.map(([name, own]) => ({
    name,
    columns: own.flatMap((column) => {
      const type = TYPES.get(column.oid)
      return column.name === 'id' || column.name === 'version' || type === undefined ? [] : [{ name: column.name, type }]
    }),
    nextId: nextIds.get(name) ?? 1,
  }))
}

/** Moves the sequence of a table to `next`, unless it is above. A sequence that would pass the last id ends. */
export async function raiseSequence(executor: Executor, context: SqlContext, table: string, next: number): Promise<void> {
  const name = sql.lit(`"${context.schema}"."${sequenceName(table).replaceAll('"', '""')}"`)
  const max = sql.lit(MAX_ROW_ID)
  const wanted = sql`select greatest(${sql.lit(next)}::pg_catalog.int8, ${nextId()}) as n from ${sequence(context, table)}`
  await run(
    executor,
    context,
    sql`select pg_catalog.setval(${name}, least(n, ${max}), n <> least(n, ${max})) from (${wanted}) as s`,
  )
}

/** The first id of the block that `nextval` returns next. */
function nextId(): RawBuilder<unknown> {
  return sql`last_value + case when is_called then ${sql.lit(BLOCK_SIZE)} else 0 end`
}

function isId({ name }: { readonly name: string }): boolean {
  return name === 'id'
}

function sequence({ schema }: SqlContext, table: string): RawBuilder<unknown> {
  return sql`${sql.id(schema, sequenceName(table))}`
}

function columnsQuery(schema: string): RawBuilder<unknown> {
  return sql`select c.relname::pg_catalog.text, a.attname::pg_catalog.text, a.atttypid::pg_catalog.text
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = c.oid
    where n.nspname = ${sql.lit(schema)} and c.relkind in ('r', 'p', 'S') and a.attnum > 0 and not a.attisdropped
    order by c.relname collate pg_catalog."C", a.attnum`
}

async function run(executor: Pick<Executor, 'run'>, { dialect }: SqlContext, query: RawBuilder<unknown>) {
  const { sql: text, parameters } = query.compile(dialect.compiler)
  return executor.run({ text, parameters })
}
