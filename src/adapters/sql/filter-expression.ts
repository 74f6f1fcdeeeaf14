/** Turns a filter into a WHERE expression, and into the key and values under which its compiled statement is found again. */
import { type Expression, type SqlBool, sql } from 'kysely'
import type { Filter } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import type { PartialIndex, SqlDialect } from './sql-dialect.ts'
import { columnType, type TableShape } from './table-shapes.ts'

/** Filters that differ only in values have equal keys; `values` are in the order in which the expression binds them. */
export interface FilterForm {
  readonly key: string
  readonly values: readonly unknown[]
}

/** Returns positions 0, 1, 2 … as parameters; statements are compiled over positions, not values. */
export interface Slots {
  next(): number
}

export function createSlots(): Slots {
  let used = 0
  return { next: () => used++ }
}

/** The key and bound values of a filter. */
export function filterForm(dialect: SqlDialect, shape: TableShape, filter: Filter): FilterForm {
  const values: unknown[] = []
  return { key: formKey(dialect, shape, filter, values), values }
}

function formKey(dialect: SqlDialect, shape: TableShape, filter: Filter, values: unknown[]): string {
  switch (filter.kind) {
    case 'all':
      return '*'
    case 'and':
    case 'or': {
      let key = filter.kind === 'and' ? '&(' : '|('
      for (const part of filter.filters) key += formKey(dialect, shape, part, values)
      return `${key})`
    }
    case 'not':
      return `!${formKey(dialect, shape, filter.filter, values)}`
    case 'compare': {
      const value = dialect.bindCell(columnType(shape, filter.column), filter.value)
      if (filter.operator !== '<>' && partialIndex(dialect, shape, filter.column) !== undefined) values.push(value)
      values.push(value)
      return `${filter.operator}"${filter.column}"`
    }
    case 'in': {
      const list = dialect.bindList(columnType(shape, filter.column), filter.values)
      if (partialIndex(dialect, shape, filter.column) !== undefined) values.push(list)
      values.push(list)
      return `@"${filter.column}"`
    }
    case 'isNull':
      return `0"${filter.column}"`
    default:
      return unreachable(filter)
  }
}

/** The WHERE expression of a filter, each value replaced by its slot. */
export function filterExpression(dialect: SqlDialect, shape: TableShape, filter: Filter, slots: Slots): Expression<SqlBool> {
  const build = (part: Filter): Expression<SqlBool> => filterExpression(dialect, shape, part, slots)
  switch (filter.kind) {
    case 'all':
      return sql<SqlBool>`(1 = 1)`
    case 'and':
      return filter.filters.length === 0 ? sql<SqlBool>`(1 = 1)` : joined(filter.filters.map(build), 'and')
    case 'or':
      return filter.filters.length === 0 ? sql<SqlBool>`(1 = 0)` : joined(filter.filters.map(build), 'or')
    case 'not':
      return sql<SqlBool>`(not ${build(filter.filter)})`
    case 'compare':
      return compareExpression(dialect, shape, filter, slots)
    case 'in': {
      const column = sql.id(filter.column)
      const index = partialIndex(dialect, shape, filter.column)
      const parts = index?.partAmong(column, sql.val(slots.next()))
      const listed = dialect.inList(column, columnType(shape, filter.column), sql.val(slots.next()))
      return parts === undefined ? listed : sql<SqlBool>`(${parts} and ${listed})`
    }
    case 'isNull': {
      columnType(shape, filter.column)
      const column = sql.id(filter.column)
      return sql<SqlBool>`(${partialIndex(dialect, shape, filter.column)?.part(column) ?? column} is null)`
    }
    default:
      return unreachable(filter)
  }
}

/** Behind the same comparison of the parts that an index holds, if one holds parts: that follows from it, and finds the rows. */
function compareExpression(
  dialect: SqlDialect,
  shape: TableShape,
  { column: name, operator }: Extract<Filter, { readonly kind: 'compare' }>,
  slots: Slots,
): Expression<SqlBool> {
  const column = sql.id(name)
  const index = operator === '<>' ? undefined : partialIndex(dialect, shape, name)
  const parts =
    index &&
    sql`${index.part(column)} ${sql.raw(operator === '=' ? '=' : `${operator}=`)} ${index.part(sql.val(slots.next()))} and `
  const value = sql.val(slots.next())
  const shown = operator === '=' ? (dialect.equalTo?.(value) ?? value) : value
  return sql<SqlBool>`(${parts ?? sql``}${column} ${sql.raw(operator)} ${shown})`
}

function partialIndex(dialect: SqlDialect, shape: TableShape, column: string): PartialIndex | undefined {
  return dialect.partialIndex?.(shape, column)
}

/** Joins in halves: engines limit the depth of an expression, and a list of a thousand must not be a thousand deep. */
function joined(parts: readonly Expression<SqlBool>[], word: 'and' | 'or'): Expression<SqlBool> {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  const middle = parts.length >> 1
  return sql<SqlBool>`(${joined(parts.slice(0, middle), word)} ${sql.raw(word)} ${joined(parts.slice(middle), word)})`
}
