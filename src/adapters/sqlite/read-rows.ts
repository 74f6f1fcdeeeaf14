/** Reads rows by id and by filter: which statement runs, what its rows become, and how many rows of bytes are read as one. */
import { sql } from 'kysely'
import type { Cell, Filter, Page, PhysicalColumn, PhysicalType, Row } from '../../core/ports/storage.ts'
import { at } from '../../core/util/lists.ts'
import { aliased, createSqlStatements, type SqlStatement, selectColumns } from '../sql/sql-statements.ts'
import { toIntegerCell, toPlainBytes } from '../sql/stored-cells.ts'
import { projectedShape, type TableShape } from '../sql/table-shapes.ts'
import { type AccessPath, alongPath, expandLists } from './access-path.ts'
import { nothing, onlyStep, type Step, type TableWork } from './connection.ts'
import type { RawRow } from './drivers.ts'
import { endToEnd, sqliteSqlDialect } from './sqlite-sql-dialect.ts'

const statements = createSqlStatements(sqliteSqlDialect)

/** Rows from which packing pays: for lists of ids, which mostly exist, pages of all rows, and pages of some, which may stay nearly empty. */
export const MIN_PACKED_IDS = 5
const MIN_PACKED_PAGE = 20
const MIN_PACKED_LIMIT = 100
/** Rows of one packed read at most: their cells are in memory several times over. */
const MAX_PACKED = 16_384
/** Reads of a table that are not packed after one met a cell too long for it. */
const UNPACKED_READS = 100

/** `Storage.get`: in the order of the ids. */
export function getRows(
  table: TableShape,
  ids: readonly number[],
  columns?: readonly string[],
): TableWork<readonly (Row | undefined)[]> {
  const shape = projectedShape(table, columns)
  const plan = readPlan(shape)
  const { names, own } = plan
  const [first] = ids
  if (first === undefined) return { shape, begin: nothing }
  if (ids.length === 1) {
    const step = { kind: 'row', statement: plan.point, parameters: ids, columns: names } as const
    return onlyStep(shape, step, ({ rows: [found] }) => [found === undefined ? undefined : toRow(own, found)])
  }
  const step = { kind: 'rows', statement: plan.list, parameters: [JSON.stringify(ids)], columns: names } as const
  const plain = onlyStep(shape, step, ({ rows }) =>
    measured(
      plan,
      rows.map((raw) => (raw[0] === null ? undefined : toRow(own, raw))),
    ),
  )
  return ids.length < MIN_PACKED_IDS || !isPacked(plan) ? plain : packedFirst(plan, step, plain, (rows) => rows)
}

/** `Storage.find`, by a path of the caller's choice or of SQLite's. */
export function findRows(shape: TableShape, filter: Filter, page: Page, path?: AccessPath): TableWork<readonly Row[]> {
  const plan = readPlan(projectedShape(shape, page.columns))
  const { statement: free, parameters } = statements.find(shape, expandLists(shape, filter), page)
  const statement = path === undefined ? free : alongPath(shape, free, path)
  const step = { kind: 'rows', statement, parameters, columns: plan.names } as const
  const plain = onlyStep(shape, step, ({ rows }) =>
    measured(
      plan,
      rows.map((raw) => toRow(plan.own, raw)),
    ),
  )
  const least = filter.kind === 'all' ? MIN_PACKED_PAGE : MIN_PACKED_LIMIT
  if (page.limit < least || page.limit > MAX_PACKED || !isPacked(plan)) return plain
  return packedFirst(plan, step, plain, (rows) => rows.filter((row) => row !== undefined))
}

/** `Storage.find` of a few values of an indexed column, in one statement: the rows of each come off its index by id, and are merged until there are enough. */
export function findRowsOfValues(shape: TableShape, filters: readonly Filter[], page: Page): TableWork<readonly Row[]> {
  const plan = readPlan(projectedShape(shape, page.columns))
  const found = filters.map((filter) => statements.find(shape, filter, page))
  const statement = unionOf(at(found, 0).statement, found.length, page)
  const parameters = [...found.flatMap((one) => one.parameters.slice(0, -1)), page.limit]
  return onlyStep(shape, { kind: 'rows', statement, parameters, columns: plan.names }, ({ rows }) =>
    measured(
      plan,
      rows.map((raw) => toRow(plan.own, raw)),
    ),
  )
}

const unions = new WeakMap<SqlStatement, SqlStatement[]>()

/** The statement that reads the pages of so many values as one: that of each is the same. */
function unionOf(each: SqlStatement, count: number, { order }: Page): SqlStatement {
  const ofEach = unions.get(each) ?? []
  unions.set(each, ofEach)
  // Order and limit, which end each of them, are those of all.
  const part = each.text.slice(0, each.text.lastIndexOf(' order by '))
  ofEach[count] ??= { text: `${Array(count).fill(part).join(' union all ')} order by 1 ${order} limit cast(? as bigint)` }
  return ofEach[count]
}

function isPacked(plan: ReadPlan): boolean {
  return plan.packs && plan.unpackedReads-- <= 0
}

/** Reads packed, and once more unpacked where that was not possible. */
function packedFirst<T>(
  plan: ReadPlan,
  { statement, parameters }: Step,
  plain: TableWork<T>,
  result: (rows: readonly (Row | undefined)[]) => T,
): TableWork<T> {
  const { shape } = plan
  return {
    shape,
    *begin() {
      const { rows } = yield { kind: 'row', statement: packedStatement(shape, statement), parameters, columns: PACKED_COLUMNS }
      const unpacked = unpackRows(shape, rows[0])
      if (unpacked !== undefined) return result(measured(plan, unpacked))
      plan.unpackedReads = UNPACKED_READS
      return yield* plain.begin()
    },
  }
}

/** Bytes that one statement should read: copying as many holds the event loop for a few milliseconds. */
const MAX_STATEMENT_BYTES = 2 * 1024 * 1024
/** Rows of the first read of a table, whose rows may be of any length. */
const FIRST_ROWS = 16

/** Rows that one statement should read, by the length of those read before. Any number of short ones. */
export function rowsAtOnce(shape: TableShape, columns?: readonly string[]): number {
  const { rowBytes } = readPlan(projectedShape(shape, columns))
  return rowBytes === undefined ? FIRST_ROWS : Math.max(1, Math.floor(MAX_STATEMENT_BYTES / Math.max(rowBytes, 1)))
}

/** Returns the rows, and remembers how long they are. */
function measured<T extends Row | undefined>(plan: ReadPlan, rows: T[]): T[] {
  if (plan.long.length === 0) return rows
  let bytes = 0
  for (const row of rows) {
    if (row === undefined) continue
    for (const { name } of plan.long) {
      const cell = row[name]
      if (cell instanceof Uint8Array || typeof cell === 'string') bytes += cell.length
    }
  }
  if (rows.length > 0) plan.rowBytes = bytes / rows.length
  return rows
}

/** What all reads of one table share, made once. */
interface ReadPlan {
  readonly shape: TableShape
  readonly packs: boolean
  /** Number of next reads that are not packed. */
  unpackedReads: number
  /** Mean bytes of the rows of the last read; undefined before the first, unless none of its cells has a length. */
  rowBytes: number | undefined
  readonly names: readonly string[]
  /** The columns beside `id` and `version`. */
  readonly own: readonly PhysicalColumn[]
  /** Those of them whose cells have a length. */
  readonly long: readonly PhysicalColumn[]
  readonly point: SqlStatement
  readonly list: SqlStatement
}

const plans = new WeakMap<TableShape, ReadPlan>()

function readPlan(shape: TableShape): ReadPlan {
  const found = plans.get(shape)
  if (found !== undefined) return found
  const { columns } = shape
  const names = columns.map((column) => column.name)
  const own = columns.slice(2)
  const long = own.filter(({ type }) => type === 'text' || type === 'bytes')
  const plan = {
    shape,
    packs: canPack(shape),
    unpackedReads: 0,
    rowBytes: long.length === 0 ? 0 : undefined,
    names,
    own,
    long,
    point: pointStatement(shape),
    list: listStatement(shape),
  }
  plans.set(shape, plan)
  return plan
}

function pointStatement(shape: TableShape): SqlStatement {
  const query = sqliteSqlDialect.compiler
    .selectFrom(aliased(sqliteSqlDialect, shape))
    .select(selectColumns(sqliteSqlDialect, shape))
    .where(sql<boolean>`${sql.id('id')} = ${sql.val(0)}`)
  return { text: query.compile().sql }
}

/** A left join walks its left side in order, so rows come in the order of the ids. No column of a table begins with `_`. */
function listStatement(shape: TableShape): SqlStatement {
  const query = sqliteSqlDialect.compiler
    .selectFrom(sql<{ value: unknown }>`(select value as _id from json_each(${sql.val(0)}))`.as('w'))
    .leftJoin(aliased(sqliteSqlDialect, shape), (join) => join.on(sql<boolean>`${sql.id('t', 'id')} = ${sql.id('w', '_id')}`))
    .select(selectColumns(sqliteSqlDialect, shape))
  return { text: query.compile().sql }
}

function toRow(own: readonly PhysicalColumn[], raw: RawRow): Row {
  const row: { id: number; version: number; [column: string]: Cell } = { id: Number(raw[0]), version: Number(raw[1]) }
  let at = 2
  for (const { name, type } of own) row[name] = toCell(type, raw[at++])
  return row
}

/** The cell for a driver's value. STRICT tables guarantee the type of the column. */
export function toCell(type: PhysicalType, raw: unknown): Cell {
  if (typeof raw === 'number') return raw
  if (raw instanceof Uint8Array) return toPlainBytes(raw)
  if (type === 'integer' && typeof raw === 'string') return toIntegerCell(raw)
  return raw === null || raw === undefined ? null : (raw as Cell)
}

/** Cells longer than this are not worth the copies packing makes. */
export const MAX_CELL_BYTES = 2048

/** Names of the three cells a packed statement returns, in order. */
const PACKED_COLUMNS = ['letter', 'numbers', 'bytes'] as const

/** True for tables of nothing but bytes beside `id` and `version`. */
export function canPack(shape: TableShape): boolean {
  const { columns } = shape.table
  return columns.length > 0 && columns.every((column) => column.type === 'bytes')
}

const packedStatements = new WeakMap<SqlStatement, SqlStatement>()

/**
 * The statement that reads what `statement` reads as one row: `id`, `version` and the length of each cell of every row as
 * a list of numbers, and all cells end to end. SQLite joins bytes as text without looking at them where text is UTF-8;
 * the length of a letter shows whether it is.
 */
export function packedStatement(shape: TableShape, statement: SqlStatement): SqlStatement {
  const found = packedStatements.get(statement)
  if (found !== undefined) return found
  const cells = shape.table.columns.map((column) => sql.id('r', column.name))
  const numbers = [sql.id('r', 'id'), sql.id('r', 'version'), ...cells.map((cell) => sql`length(${cell})`)]
  const listed = numbers.map((number) => sql`coalesce(${number}, 'null')`)
  const short = cells.map((cell) => sql`coalesce(case when length(${cell}) <= ${sql.lit(MAX_CELL_BYTES)} then ${cell} end, '')`)
  const query = sql`select length(cast('a' as blob)) as "letter",
    group_concat(${endToEnd(listed, ',')}) as "numbers",
    cast(group_concat(${endToEnd(short)}, '') as blob) as "bytes"
    from (${sql.raw(statement.text)}) as "r"`
  const made = { text: query.compile(sqliteSqlDialect.compiler).sql }
  packedStatements.set(statement, made)
  return made
}

/** The rows of a packed result; undefined if they must be read unpacked: too long, in a file whose text is not UTF-8, or of other types. */
export function unpackRows(shape: TableShape, packed: RawRow | undefined): (Row | undefined)[] | undefined {
  const [letter, numbers, joined] = packed ?? []
  if (letter !== 1) return undefined
  const listed = readNumbers(numbers)
  if (listed === undefined) return undefined
  const bytes = joined instanceof Uint8Array ? joined : NO_BYTES
  const { columns } = shape.table
  const rows: (Row | undefined)[] = []
  let end = 0
  let at = 0
  while (at < listed.length) {
    const id = listed[at++]
    const row: { id: number; version: number; [column: string]: Cell } = { ...shape.blank }
    row.id = Number(id)
    row.version = Number(listed[at++])
    for (const { name } of columns) {
      const length = listed[at++] ?? -1
      if (length > Math.min(MAX_CELL_BYTES, bytes.length - end)) return undefined
      row[name] = length < 0 ? null : new Uint8Array(bytes.buffer, bytes.byteOffset + end, length)
      if (length > 0) end += length
    }
    rows.push(id === null ? undefined : row)
  }
  return end === bytes.length ? rows : undefined
}

/** Numbers and nulls, as the statement spells them, none if there is no row; undefined if a table is no longer STRICT and has other text among its numbers. */
function readNumbers(list: unknown): readonly (number | null)[] | undefined {
  if (typeof list !== 'string') return []
  try {
    return JSON.parse(`[${list}]`)
  } catch {
    return undefined
  }
}

const NO_BYTES = new Uint8Array(0)
