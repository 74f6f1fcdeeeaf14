/** The statements both engines share, and their WHERE of a filter: built and compiled by Kysely once per shape and then only bound. */
import { type Compilable, type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Aggregate, Filter, Page } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import { append } from '../../core/util/lists.ts'
import { aggregateError, damagedIdError } from '../errors/storage-errors.ts'
import type { PartialIndex, SqlDialect } from './sql-dialect.ts'
import { columnType, projectedShape, type TableShape } from './table-shapes.ts'

/** One compiled statement. The object is the same for every call of one shape, so an engine may cache its prepared form by it. */
export interface SqlStatement {
  readonly text: string
}

/** A compiled statement and the values of this call. */
export interface BoundStatement {
  readonly statement: SqlStatement
  readonly parameters: readonly unknown[]
}

export interface SqlStatements {
  /** `select` the requested columns, in the order of `projectedShape(shape, page.columns).columns`. */
  find(shape: TableShape, filter: Filter, page: Page): BoundStatement
  /** `select` all parts of all aggregates, in order: see `SqlDialect.aggregateParts`. */
  aggregate(shape: TableShape, filter: Filter, aggregates: readonly Aggregate[]): BoundStatement
  /** `delete … returning id`. */
  deleteWhere(shape: TableShape, filter: Filter): BoundStatement
  /** `update … set <columns>, version = version + 1 where id, version and <expected>`; bind the columns in order, then id, version and the expected cells. */
  update(shape: TableShape, columns: readonly string[], expected?: readonly string[]): SqlStatement
  /** A statement of the engine's own, compiled once under its key. Every parameter in it must be a slot. */
  once(key: string, build: (slots: Slots) => Compilable): SqlStatement
}

/** Cached statements at most. Filters come from callers, so their number is unbounded. */
const MAX_STATEMENTS = 1000

export function createSqlStatements(dialect: SqlDialect): SqlStatements {
  const once = createOnce()
  const lastFinds = new WeakMap<TableShape, FoundStatement>()

  function findStatement(asked: AskedFind, shown: TableShape, form: string): SqlStatement {
    const { shape, page } = asked
    const { order } = page
    const isAfter = page.after !== undefined
    const skips = Boolean(page.offset)
    const last = lastFinds.get(shape)
    const isSame = last?.form === form && last.shown === shown && last.order === order
    if (isSame && last.isAfter === isAfter && last.skips === skips) return last.statement
    const key = `find ${shape.key} ${shown === shape ? '' : shown.key} ${order}${isAfter ? ' after' : ''}${skips ? ' skip' : ''} ${form}`
    const statement = once(key, (slots) => buildFind(dialect, asked, slots))
    lastFinds.set(shape, { form, shown, order, isAfter, skips, statement })
    return statement
  }

  return {
    once,
    find(shape, filter, page) {
      const form = filterForm(dialect, shape, filter)
      const shown = projectedShape(shape, page.columns)
      const parameters = [...form.values]
      if (page.after !== undefined) parameters.push(dialect.bindCell('integer', afterId(shape, page.after)))
      parameters.push(page.limit)
      if (page.offset) parameters.push(page.offset)
      return { statement: findStatement({ shape, filter, page }, shown, form.key), parameters }
    },
    aggregate(shape, filter, aggregates) {
      const form = filterForm(dialect, shape, filter)
      const key = `aggregate ${shape.key} ${aggregates.map(aggregateKey).join()} ${form.key}`
      const statement = once(key, (slots) => buildAggregate(dialect, { shape, filter, aggregates }, slots))
      return { statement, parameters: form.values }
    },
    deleteWhere(shape, filter) {
      const form = filterForm(dialect, shape, filter)
      const statement = once(`delete ${shape.key} ${form.key}`, (slots) =>
        dialect.compiler
          .deleteFrom(aliased(dialect, shape))
          .where(filterExpression(dialect, shape, filter, slots))
          .returning('id'),
      )
      return { statement, parameters: form.values }
    },
    update(shape, columns, expected = []) {
      const key = `update ${shape.key} ${columns.map(quoted).join()} ${expected.map(quoted).join()}`
      return once(key, (slots) => buildUpdate(dialect, { shape, columns, expected }, slots))
    },
  }
}

/** What is found, as `find` is asked for it. */
interface AskedFind {
  readonly shape: TableShape
  readonly filter: Filter
  readonly page: Page
}

/** The last statement of a table, and what it depends on: finds of a table are mostly alike, and making the key of a statement costs as much as all else here. */
interface FoundStatement {
  readonly form: string
  readonly shown: TableShape
  readonly order: Page['order']
  readonly isAfter: boolean
  readonly skips: boolean
  readonly statement: SqlStatement
}

function createOnce(): SqlStatements['once'] {
  const kept = new Map<string, SqlStatement>()
  return (key, build) => {
    const found = kept.get(key)
    if (found !== undefined) return found
    const statement = { text: compileInOrder(build) }
    const oldest = kept.size >= MAX_STATEMENTS ? kept.keys().next().value : undefined
    if (oldest !== undefined) kept.delete(oldest)
    kept.set(key, statement)
    return statement
  }
}

function quoted(name: string): string {
  return `"${name}"`
}

function aggregateKey(aggregate: Aggregate): string {
  return aggregate.column === undefined ? aggregate.kind : `${aggregate.kind}${quoted(aggregate.column)}`
}

/** Kysely parses bare table names for dots and aliases; an aliased identifier is taken as it is. */
export function aliased(dialect: SqlDialect, shape: TableShape) {
  return dialect.tableName(shape.name).as('t')
}

function buildFind(dialect: SqlDialect, { shape, filter, page }: AskedFind, slots: Slots): Compilable {
  let query = dialect.compiler
    .selectFrom(aliased(dialect, shape))
    .select(selectColumns(dialect, projectedShape(shape, page.columns)))
  if (filter.kind !== 'all') query = query.where(filterExpression(dialect, shape, filter, slots))
  if (page.after !== undefined) {
    query = query.where(sql<SqlBool>`${sql.id('id')} ${sql.raw(page.order === 'asc' ? '>' : '<')} ${sql.val(slots.next())}`)
  }
  query = query.orderBy('id', page.order === 'asc' ? 'asc' : 'desc').limit(countSlot(slots))
  return page.offset ? query.offset(countSlot(slots)) : query
}

/** The id after which a page begins. A number that is not safe is rounded, so the rows after it cannot be found. */
function afterId({ name }: TableShape, after: number): number {
  if (Math.abs(after) > Number.MAX_SAFE_INTEGER) throw damagedIdError(name)
  return after
}

/** Cast, because SQLite plans a statement again for every value bound to a bare limit, which costs as much as reading a row. */
function countSlot(slots: Slots): RawBuilder<number> {
  return sql`cast(${sql.val(slots.next())} as bigint)`
}

/** Every column of a table as the engine should be asked for it, in the order of `shape.columns`. */
export function selectColumns(dialect: SqlDialect, shape: TableShape) {
  return shape.columns.map((column) => {
    const plain = sql.id(column.name)
    const own = column.name === 'id' || column.name === 'version'
    return sql`${own ? plain : dialect.readColumn(plain, column.type)}`.as(column.name)
  })
}

function buildAggregate(
  dialect: SqlDialect,
  asked: { readonly shape: TableShape; readonly filter: Filter; readonly aggregates: readonly Aggregate[] },
  slots: Slots,
): Compilable {
  const { shape, filter, aggregates } = asked
  const parts: Expression<unknown>[] = []
  for (const { kind, column } of aggregates) {
    const type = column === undefined ? undefined : columnType(shape, column)
    if (kind !== 'count' && (type === undefined || (kind === 'sum' && type !== 'integer'))) {
      throw aggregateError(shape.name, column, kind)
    }
    append(parts, dialect.aggregateParts(kind, column === undefined ? undefined : sql.id(column), type))
  }
  const query = dialect.compiler
    .selectFrom(aliased(dialect, shape))
    .select(parts.map((part, index) => sql`${part}`.as(`m${index}`)))
  // Without a condition, even a true one, engines count whole tables by their pages.
  return filter.kind === 'all' ? query : query.where(filterExpression(dialect, shape, filter, slots))
}

function buildUpdate(
  dialect: SqlDialect,
  asked: { readonly shape: TableShape; readonly columns: readonly string[]; readonly expected: readonly string[] },
  slots: Slots,
): Compilable {
  const { shape, columns, expected } = asked
  const set: Record<string, Expression<unknown>> = {}
  for (const column of columns) {
    columnType(shape, column)
    set[column] = sql.val(slots.next())
  }
  set.version = sql`${sql.id('version')} + 1`
  let query = dialect.compiler
    .updateTable(aliased(dialect, shape))
    .set(set)
    .where(sql<SqlBool>`${sql.id('id')} = ${sql.val(slots.next())}`)
    .where(sql<SqlBool>`${sql.id('version')} = ${sql.val(slots.next())}`)
  for (const column of expected) {
    columnType(shape, column)
    query = query.where(sql<SqlBool>`${sql.id(column)} is ${sql.val(slots.next())}`)
  }
  return query
}

/** Compiles over slots. Throws `internal` if the text does not bind them in the order they were taken. */
function compileInOrder(build: (slots: Slots) => Compilable): string {
  const { sql: text, parameters } = build(createSlots()).compile()
  if (parameters.some((slot, index) => slot !== index)) throw new Error('a compiled statement binds its slots out of order')
  return text
}

/** Filters that differ only in values have equal keys; `values` are in the order in which the expression binds them. */
interface FilterForm {
  readonly key: string
  readonly values: readonly unknown[]
}

/** Returns positions 0, 1, 2 … as parameters; statements are compiled over positions, not values. */
interface Slots {
  next(): number
}

function createSlots(): Slots {
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
    sql`${index.part(column)} ${sql.raw(operator.endsWith('=') ? operator : `${operator}=`)} ${index.part(sql.val(slots.next()))} and `
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
