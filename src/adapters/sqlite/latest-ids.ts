/** The order of ids: in a table that asks for it, a row is inserted only above every row that was committed before. Source: docs/decisions/0048. */
import { sql } from 'kysely'
import type { NewRow } from '../../core/ports/storage.ts'
import { outOfOrderError } from '../errors/storage-errors.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { ID_COUNTERS } from './prepare-tables.ts'
import { sqliteSqlDialect } from './sqlite-sql-dialect.ts'
import { rows, type Steps } from './table-work.ts'

/** The highest committed id by table, as one transaction found it. While it is open no other writer commits, so it looks once. */
export type LatestIds = Map<string, number>

/** The highest id of the rows committed before this transaction; 0 without any. */
export function* latestId(shape: TableShape, known: LatestIds): Steps<number> {
  const found = known.get(shape.name)
  if (found !== undefined) return found
  const [row] = yield* rows(latestStatement(shape), [shape.name], ['latest'])
  const latest = Number(row?.[0] ?? 0)
  known.set(shape.name, latest)
  return latest
}

/** Throws `conflict` on `id` if one of the rows is not above all that were committed before. Nothing is stored then. */
export function* assertInOrder(shape: TableShape, newRows: readonly NewRow[], known: LatestIds): Steps<void> {
  const lowest = newRows.reduce((least, { id }) => Math.min(least, id), Number.POSITIVE_INFINITY)
  if (!known.has(shape.name)) {
    // Looking at all ids is quicker, and nearly always enough.
    const [row] = yield* rows(highestStatement(shape), [], ['highest'])
    const highest = Number(row?.[0] ?? Number.NEGATIVE_INFINITY)
    if (highest < lowest) {
      known.set(shape.name, highest)
      return
    }
  }
  if (lowest <= (yield* latestId(shape, known))) throw outOfOrderError(shape.name)
}

const highestStatements = new WeakMap<TableShape, SqlStatement>()

function highestStatement(shape: TableShape): SqlStatement {
  const found = highestStatements.get(shape)
  if (found !== undefined) return found
  const text = sql`select max("id") as "highest" from ${sql.id(shape.name)}`
  const statement = { text: text.compile(sqliteSqlDialect.compiler).sql }
  highestStatements.set(shape, statement)
  return statement
}

const latestStatements = new WeakMap<TableShape, SqlStatement>()

/** Ids that were never reserved do not count: one that was changed in the database would keep every later row out. */
function latestStatement(shape: TableShape): SqlStatement {
  const found = latestStatements.get(shape)
  if (found !== undefined) return found
  const text = sql`select max("id") as "latest" from ${sql.id(shape.name)}
    where "id" < (select "next" from ${sql.id(ID_COUNTERS)} where "name" = ${sql.val(0)})`
  const statement = { text: text.compile(sqliteSqlDialect.compiler).sql }
  latestStatements.set(shape, statement)
  return statement
}
