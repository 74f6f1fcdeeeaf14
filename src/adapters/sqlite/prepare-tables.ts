/** Makes physical tables exist: creates tables, columns and indexes that are missing, and never drops or retypes; and drops those that are named. */
import { type RawBuilder, sql } from 'kysely'
import { isVaultError } from '../../core/errors.ts'
import type { DropTarget, PhysicalColumn, PhysicalIndex, PhysicalTable, PhysicalType } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import { duplicatesError, retypedError, tooManyColumnsError } from '../errors/storage-errors.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import { toTableShape } from '../sql/table-shapes.ts'
import { atomically, change, rows, type Steps, type TableWork } from './connection.ts'
import { sqliteSqlDialect } from './sqlite-sql-dialect.ts'

/** The table of id counters: where the next block of row ids begins. */
export const ID_COUNTERS = 'strongroom_ids'

const DECLARED: Readonly<Record<PhysicalType, string>> = { integer: 'INTEGER', real: 'REAL', text: 'TEXT', bytes: 'BLOB' }

/** A change to the file's tables, and the index it makes, if any. */
interface Ddl {
  readonly statement: SqlStatement
  readonly index?: PhysicalIndex
}

/** True when nothing is missing. Throws `failed_precondition` if a column has another type. Only reads. */
export function tablesExistWork(tables: readonly PhysicalTable[]): TableWork<boolean> {
  return {
    shape: undefined,
    *begin() {
      for (const table of [COUNTERS_TABLE, ...tables]) if ((yield* missingParts(table)).length > 0) return false
      return true
    },
  }
}

/** Creates everything that is missing, or nothing. */
export function prepareWork(tables: readonly PhysicalTable[]): TableWork<void> {
  return {
    shape: undefined,
    begin: () => atomically(makeTables([COUNTERS_TABLE, ...tables])),
  }
}

/** Drops what exists of these, or nothing. */
export function dropWork(targets: readonly DropTarget[]): TableWork<void> {
  return {
    shape: undefined,
    begin: () => atomically(dropTargets(targets)),
  }
}

const FORGET_COUNTER: SqlStatement = { text: `delete from "${ID_COUNTERS}" where "name" = ?` }

function* dropTargets(targets: readonly DropTarget[]): Steps<void> {
  for (const target of targets) {
    switch (target.kind) {
      case 'tables':
        for (const name of target.tables) {
          yield* change(compiled(sql`drop table if exists ${sql.id(name)}`), [])
          if ((yield* storedColumns(ID_COUNTERS)).size > 0) yield* change(FORGET_COUNTER, [name])
        }
        break
      case 'columns':
        yield* dropColumns(target.table, target.columns)
        break
      case 'index':
        yield* change(dropIndex(indexName({ name: target.table }, target.index)), [])
        break
      default:
        unreachable(target)
    }
  }
}

const COLUMNS_OF_INDEX: SqlStatement = { text: 'select name from pragma_index_info(?)' }

/** SQLite drops no column of an index, and writes each row anew without the cell. */
function* dropColumns(table: string, columns: readonly string[]): Steps<void> {
  const stored = yield* storedColumns(table)
  const dropped = columns.filter((column) => stored.has(column))
  if (dropped.length === 0) return
  for (const [index] of yield* rows(INDEXES_OF, [table], ['name'])) {
    const indexed = yield* rows(COLUMNS_OF_INDEX, [index], ['name'])
    if (indexed.some(([name]) => dropped.includes(String(name)))) yield* change(dropIndex(String(index)), [])
  }
  for (const column of dropped) yield* change(compiled(sql`alter table ${sql.id(table)} drop column ${sql.id(column)}`), [])
}

function dropIndex(name: string): SqlStatement {
  return compiled(sql`drop index if exists ${sql.id(name)}`)
}

/** `next` is the first id not given out yet; `id` and `version` only make it a table like all others. */
const COUNTERS_TABLE: PhysicalTable = {
  name: ID_COUNTERS,
  columns: [
    { name: 'name', type: 'text' },
    { name: 'next', type: 'integer' },
  ],
  indexes: [{ columns: ['name'], unique: true }],
}

function* makeTables(tables: readonly PhysicalTable[]): Steps<void> {
  for (const table of tables) {
    for (const { statement, index } of yield* missingParts(table)) {
      try {
        yield* change(statement, [])
      } catch (error) {
        if (index === undefined || !isVaultError(error, 'conflict')) throw error
        throw duplicatesError(table.name, index.columns, error.cause instanceof Error ? error.cause : undefined)
      }
    }
  }
}

const COLUMNS_OF: SqlStatement = { text: 'select name, type from pragma_table_info(?)' }
const INDEXES_OF: SqlStatement = { text: 'select name from pragma_index_list(?)' }

/** Columns of a table at most, in every build of SQLite that does not say otherwise. */
const MAX_COLUMNS = 2000

function* missingParts(table: PhysicalTable): Steps<readonly Ddl[]> {
  const count = toTableShape(table).columns.length
  if (count > MAX_COLUMNS) throw tooManyColumnsError('SQLite', table.name, { count, max: MAX_COLUMNS })
  const stored = yield* storedColumns(table.name)
  const indexed = new Set<string>()
  for (const [name] of yield* rows(INDEXES_OF, [table.name], ['name'])) indexed.add(String(name))
  const indexes = table.indexes
    .filter((index) => !indexed.has(indexName(table, index)))
    .map((index) => ({ statement: createIndex(table, index), index }))
  if (stored.size === 0) return [{ statement: createTable(table) }, ...indexes]
  return [...missingColumns(table, stored), ...indexes]
}

/** The types of the columns of a table by name; none if there is no such table. */
function* storedColumns(table: string): Steps<ReadonlyMap<string, string>> {
  const columns = yield* rows(COLUMNS_OF, [table], ['name', 'type'])
  return new Map(columns.map(([name, type]) => [String(name), String(type)]))
}

function missingColumns(table: PhysicalTable, stored: ReadonlyMap<string, string>): readonly Ddl[] {
  const missing: Ddl[] = []
  for (const column of toTableShape(table).columns) {
    const type = stored.get(column.name)
    const own = column.name === 'id' || column.name === 'version'
    if (type === undefined && !own) missing.push({ statement: addColumn(table, column) })
    else if (type !== DECLARED[column.type]) throw retypedError(table.name, column.name, type ?? 'nothing', column.type)
  }
  return missing
}

/** Derived from the table and columns alone, so that every process finds the same index. */
export function indexName(table: Pick<PhysicalTable, 'name'>, index: PhysicalIndex): string {
  return `${table.name}.${index.columns.join('.')}.${index.unique ? 'unique' : 'index'}`
}

/** STRICT: a cell of another type than its column's is refused instead of converted. */
function createTable(table: PhysicalTable): SqlStatement {
  const own = table.columns.map((column) => sql`, ${declared(column)}`)
  return compiled(
    sql`create table ${sql.id(table.name)} ("id" INTEGER primary key, "version" INTEGER not null${sql.join(own, sql``)}) strict`,
  )
}

function addColumn(table: PhysicalTable, column: PhysicalColumn): SqlStatement {
  return compiled(sql`alter table ${sql.id(table.name)} add column ${declared(column)}`)
}

function createIndex(table: PhysicalTable, index: PhysicalIndex): SqlStatement {
  const kind = sql.raw(index.unique ? 'unique index' : 'index')
  const columns = sql.join(index.columns.map((column) => sql.id(column)))
  return compiled(sql`create ${kind} ${sql.id(indexName(table, index))} on ${sql.id(table.name)} (${columns})`)
}

function declared(column: PhysicalColumn): RawBuilder<unknown> {
  return sql`${sql.id(column.name)} ${sql.raw(DECLARED[column.type])}`
}

function compiled(text: RawBuilder<unknown>): SqlStatement {
  return { text: text.compile(sqliteSqlDialect.compiler).sql }
}
