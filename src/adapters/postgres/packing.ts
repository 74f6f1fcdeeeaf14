/** Many rows as few base64 texts, and back: by themselves, rows and fields cost the server and the driver more than packing them. */
import { type Compilable, type RawBuilder, sql } from 'kysely'
import type { Cell, ColumnPage, Filter, Page, PhysicalType, Row } from '../../core/ports/storage.ts'
import type { SqlDialect } from '../sql/sql-dialect.ts'
import { aliased, createSqlStatements, type SqlStatement } from '../sql/sql-statements.ts'
import { rowsOfColumn } from '../sql/stored-cells.ts'
import { columnType, projectedShape, type TableShape } from '../sql/table-shapes.ts'
import type { PreparedQuery, RawRow } from './driver-connection.ts'
import type { RowQueries } from './row-queries.ts'
import { fromStoredText, toWireIds } from './wire-cells.ts'

/** Fewer rows are read faster one by one, because aggregating has a cost of its own: it gains from about 50 rows on. */
const MIN_ROWS = 64
/** Cells of one result at most, and bytes of each: 8 MB in all, far below the engine's limit and short to decode. */
const MAX_CELLS = 4096
const MAX_CELL_BYTES = 2048
/**
 * Ids of one text: of sealed records some 36 KiB. The driver copies a message that is larger than what it reads at once, 64 KiB, and large texts
 * make V8 collect its whole heap more often.
 */
const PART_IDS = 128

/** Each returns rows of one text for `unpackRows`: null if the text has no rows. */
export interface PackedQueries {
  /** Returns a text for each part of the list. */
  get(shape: TableShape, ids: readonly number[]): PreparedQuery
  /** Returns one text. */
  find(shape: TableShape, filter: Filter, page: Page): PreparedQuery
  /** Returns one row: the last id, and one text for `unpackColumn`. */
  column(shape: TableShape, filter: Filter, page: ColumnPage): PreparedQuery
}

export function createPackedQueries(dialect: SqlDialect, bind: RowQueries['bind']): PackedQueries {
  // Cells are packed as they are stored.
  const statements = createSqlStatements({ ...dialect, readColumn: (column) => column })
  const packedFinds = new WeakMap<SqlStatement, SqlStatement>()
  /** By column: `id` and `version` are in every page, so one statement reads either. */
  const packedColumns = new WeakMap<SqlStatement, Map<string, SqlStatement>>()

  const compiled = (text: RawBuilder<unknown>): Compilable => ({ compile: () => text.compile(dialect.compiler) })

  function packedFind(shape: TableShape, statement: SqlStatement): SqlStatement {
    const found = packedFinds.get(statement)
    if (found !== undefined) return found
    const made = { text: compiled(packed(shape, sql.raw(statement.text))).compile().sql }
    packedFinds.set(statement, made)
    return made
  }

  function packedColumn(shape: TableShape, column: string, statement: SqlStatement): SqlStatement {
    const known = packedColumns.get(statement) ?? new Map<string, SqlStatement>()
    packedColumns.set(statement, known)
    const found = known.get(column)
    if (found !== undefined) return found
    const cell = packedCell(sql.id('r', column), columnType(shape, column))
    const text = sql`select pg_catalog.max(${sql.id('r', 'id')}), ${joined(cell)} from (${sql.raw(statement.text)}) as "r"`
    const made = { text: compiled(text).compile().sql }
    known.set(column, made)
    return made
  }

  return {
    get(shape, ids) {
      const parts = partsOf(ids.length)
      const statement = statements.once(`get ${shape.key} ${parts}`, (slots) => {
        const columns = sql.join(shape.columns.map(({ name }) => sql.id(name)))
        const part = sql`(${sql.val(slots.next())}::pg_catalog.int8[])[s.i : s.i + ${sql.lit(PART_IDS - 1)}]`
        const rows = sql`select ${columns} from ${aliased(dialect, shape)} where ${sql.id('id')} = any(${part})`
        // The number of parts is no parameter: the planner would expect a thousand of them, and compile the statement for so many.
        const starts = sql`pg_catalog.generate_series(1, ${sql.lit(parts * PART_IDS)}, ${sql.lit(PART_IDS)})`
        // Sorted, all parts are made before the first is sent, so that the client wakes up once.
        return compiled(sql`select p.* from ${starts} as s(i) cross join lateral (${packed(shape, rows)}) as p order by s.i`)
      })
      return bind(statement, [toWireIds(ids)])
    },
    find(shape, filter, page) {
      const { statement, parameters } = statements.find(shape, filter, page)
      return bind(packedFind(projectedShape(shape, page.columns), statement), parameters)
    },
    column(shape, filter, page) {
      const { statement, parameters } = statements.find(shape, filter, rowsOfColumn(page))
      return bind(packedColumn(shape, page.column, statement), parameters)
    },
  }
}

/** True if reading so many rows at most is faster packed, and the result bounded. */
export function canPack(shape: TableShape, rows: number): boolean {
  return rows >= MIN_ROWS && rows * shape.columns.length <= MAX_CELLS
}

/** The parts of a list, as a power of two, so that a table has few statements. The last parts can be empty. */
function partsOf(ids: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, ids / PART_IDS)))
}

/** False for filters that match few rows as a rule, whatever the size of their page. */
export function mayMatchMany(filter: Filter): boolean {
  switch (filter.kind) {
    case 'compare':
      return filter.operator !== '='
    case 'in':
      return filter.values.length >= MIN_ROWS
    case 'and':
      return filter.filters.every(mayMatchMany)
    case 'or':
      return filter.filters.some(mayMatchMany)
    default:
      return true
  }
}

function packed(shape: TableShape, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  // A null anywhere would drop its row from the aggregate. A version is null only where the NOT NULL of its column was removed.
  const numbers = [
    sql`pg_catalog.int8send(${sql.id('r', 'id')})`,
    sql`pg_catalog.int8send(coalesce(${sql.id('r', 'version')}, 0))`,
  ]
  const cells = shape.table.columns.map(({ name, type }) => packedCell(sql.id('r', name), type))
  const row = sql.join([...numbers, ...cells], sql` || `)
  return sql`select ${joined(row)} from (${rows}) as "r"`
}

/** All bytes of a group, as base64. */
function joined(bytes: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`pg_catalog.encode(pg_catalog.string_agg(${bytes}, ''::pg_catalog.bytea), 'base64')`
}

/** The length of a cell, then its bytes. */
function packedCell(cell: RawBuilder<unknown>, type: PhysicalType): RawBuilder<unknown> {
  const none = sql`pg_catalog.int4send(${sql.lit(NULL_CELL)})`
  switch (type) {
    case 'integer':
      return sql`coalesce(pg_catalog.int4send(8) || pg_catalog.int8send(${cell}), ${none})`
    case 'real':
      return sql`coalesce(pg_catalog.int4send(8) || pg_catalog.float8send(${cell}), ${none})`
    case 'text':
    case 'bytes': {
      const bytes = type === 'text' ? sql`pg_catalog.convert_to(${cell}, 'UTF8')` : cell
      const short = sql`pg_catalog.octet_length(${cell}) <= ${sql.lit(MAX_CELL_BYTES)}`
      const long = sql`pg_catalog.int4send(${sql.lit(LONG_CELL)})`
      return sql`case when ${short} then pg_catalog.int4send(pg_catalog.octet_length(${bytes})) || ${bytes} when ${cell} is null then ${none} else ${long} end`
    }
  }
}

/** The lengths of a cell that is null, and of one too long to be packed. */
const NULL_CELL = -1
const LONG_CELL = -2

const NUMBER_BYTES = 8
const LENGTH_BYTES = 4

/** The rows of a packed result; undefined if a cell was too long, so that all must be read unpacked. */
export function unpackRows(shape: TableShape, result: readonly RawRow[]): Row[] | undefined {
  const rows: Row[] = []
  for (const [packed] of result) if (typeof packed === 'string' && !addRows(rows, shape, packed)) return undefined
  return rows
}

/** Adds the rows of one text. Returns false if a cell was too long. */
function addRows(rows: Row[], shape: TableShape, packed: string): boolean {
  const bytes = Buffer.from(packed, 'base64')
  const { columns } = shape.table
  let at = 0
  while (at < bytes.length) {
    const row: { id: number; version: number; [column: string]: Cell } = { ...shape.blank }
    row.id = readNumber(bytes, at)
    row.version = readNumber(bytes, at + NUMBER_BYTES)
    at += 2 * NUMBER_BYTES
    for (const { name, type } of columns) {
      const length = bytes.readInt32BE(at)
      if (length === LONG_CELL) return false
      at += LENGTH_BYTES
      row[name] = length === NULL_CELL ? null : readCell(type, bytes, { start: at, end: at + length })
      at += Math.max(length, 0)
    }
    rows.push(row)
  }
  return true
}

/** The cells of a packed column of numbers. */
export function unpackColumn(type: 'integer' | 'real', packed: string): Cell[] {
  const bytes = Buffer.from(packed, 'base64')
  const cells: Cell[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readInt32BE(at)
    const start = at + LENGTH_BYTES
    cells.push(length === NULL_CELL ? null : readCell(type, bytes, { start, end: start + length }))
    at = start + Math.max(length, 0)
  }
  return cells
}

/** A 64-bit integer, rounded if it is not safe. */
function readNumber(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
}

function readCell(type: PhysicalType, bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }): Cell {
  switch (type) {
    case 'integer': {
      const near = readNumber(bytes, start)
      return Number.isSafeInteger(near) ? near : bytes.readBigInt64BE(start)
    }
    case 'real':
      return bytes.readDoubleBE(start)
    case 'text':
      return fromStoredText(bytes.toString('utf8', start, end))
    case 'bytes':
      return new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start)
  }
}
