/** The expressions PostgreSQL needs when the shared SQL body builds a statement. */
import { type Expression, PostgresAdapter, PostgresQueryCompiler, type RawBuilder, sql } from 'kysely'
import { createCompiler, type SqlDialect } from '../sql/sql-dialect.ts'
import { textIndexOf } from './text-indexes.ts'
import { TYPE_NAMES, toWireArray, toWireCell } from './wire-cells.ts'

/**
 * Every name in a statement is qualified with its schema, because `search_path` belongs to the host. Functions too: in a schema where others may create,
 * one of theirs whose parameters fit better, such as `unnest(bigint[])`, would be called in place of the server's, with the rights of this role.
 */
export function createPostgresSqlDialect(schema: string): SqlDialect {
  return {
    compiler: createCompiler(
      () => new PostgresAdapter(),
      () => new PostgresQueryCompiler(),
    ).withSchema(schema),
    tableName: (name) => sql.id(schema, name),
    inList: (column, type, list) => sql`(${column} = any(${list}::${sql.raw(TYPE_NAMES[type])}[]))`,
    bindList: toWireArray,
    partialIndex: (shape, column) => textIndexOf(shape.table, column),
    bindCell: toWireCell,
    readColumn(column, type) {
      // base64 is the shortest text form of bytes, and no setting of the session changes it.
      if (type === 'bytes') return sql`pg_catalog.encode(${column}, 'base64')`
      if (type === 'real') return bytesOfReal(column)
      // As text, no type parser of a host can round an integer to a double.
      return type === 'integer' ? sql`${column}::pg_catalog.text` : sql`${column}`
    },
    aggregateParts(kind, column, type) {
      if (column === undefined) return [sql`pg_catalog.count(*)`]
      switch (kind) {
        case 'count':
          return [sql`pg_catalog.count(${column})`]
        case 'sum':
          return [sql`pg_catalog.sum(${column})::pg_catalog.text`]
        case 'min':
        case 'max': {
          const extreme = sql.id('pg_catalog', kind)
          // Bytes have no min before PostgreSQL 18; their hexadecimal text sorts alike.
          if (type === 'bytes')
            return [
              sql`pg_catalog.encode(pg_catalog.decode(${extreme}(pg_catalog.encode(${column}, 'hex') collate "C"), 'hex'), 'base64')`,
            ]
          if (type === 'real') return [bytesOfReal(sql`${extreme}(${column})`)]
          return [type === 'integer' ? sql`${extreme}(${column})::pg_catalog.text` : sql`${extreme}(${column})`]
        }
      }
    },
  }
}

/** The bytes of a double: its text has only the digits that `extra_float_digits` of the session leaves it. */
function bytesOfReal(real: Expression<unknown>): RawBuilder<unknown> {
  return sql`pg_catalog.encode(pg_catalog.float8send(${real}), 'base64')`
}
