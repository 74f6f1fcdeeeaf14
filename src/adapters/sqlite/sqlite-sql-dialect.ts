/** The expressions SQLite needs when the shared SQL body builds a statement: lists by json_each, exact integers and sums. */
import { type Expression, type RawBuilder, type SqlBool, SqliteAdapter, SqliteQueryCompiler, sql } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { Aggregate, Cell, PhysicalType } from '../../core/ports/storage.ts'
import { writeHex } from '../../core/util/bytes.ts'
import { unreachable } from '../../core/util/causes.ts'
import { createCompiler, type SqlDialect } from '../sql/sql-dialect.ts'

export const sqliteSqlDialect: SqlDialect = {
  compiler: createCompiler(
    () => new SqliteAdapter(),
    () => new SqliteQueryCompiler(),
  ),
  tableName: (name) => sql.id(name),
  inList: (column, type, list) =>
    type === 'bytes'
      ? sql<SqlBool>`(${column} in (select unhex(value) from json_each(${list})))`
      : sql<SqlBool>`(${column} in (select value from json_each(${list})))`,
  // With index statistics SQLite plans a statement again for every value bound to a bare parameter; the sign prevents it.
  equalTo: (value) => sql`+${value}`,
  bindList: (type, values) => toJsonList(type, values),
  bindCell,
  readColumn: (column, type) => (type === 'integer' ? readInteger(column) : column),
  aggregateParts: (kind, column, type) => aggregateParts(kind, column, type, (summed) => [readInteger(sql`sum(${summed})`)]),
}

/**
 * The same, with integers summed as high and low halves, which cannot leave 64 bits. Slower, so it runs only after
 * a plain sum overflowed.
 */
export const wideSqliteSqlDialect: SqlDialect = {
  ...sqliteSqlDialect,
  aggregateParts: (kind, column, type) =>
    aggregateParts(kind, column, type, (summed) => [
      readInteger(sql`sum(${summed} >> 32)`),
      readInteger(sql`sum(${summed} & 4294967295)`),
    ]),
}

/** Texts that one expression puts end to end: SQLite refuses expressions 1000 deep, and each `||` is a step deeper. */
const MAX_ENDS = 100

/** One text of any number of texts, with `between` between them. */
export function endToEnd(texts: readonly RawBuilder<unknown>[], between = ''): RawBuilder<unknown> {
  const joint = between === '' ? sql` || ` : sql` || ${sql.lit(between)} || `
  if (texts.length <= MAX_ENDS) return sql.join([...texts], joint)
  const parts = Array.from({ length: Math.ceil(texts.length / MAX_ENDS) }, (_, part) =>
    texts.slice(part * MAX_ENDS, (part + 1) * MAX_ENDS),
  )
  return endToEnd(
    parts.map((some) => sql`(${sql.join(some, joint)})`),
    between,
  )
}

/** Drivers return integers as doubles; those beyond 2^53 are selected as text. */
function readInteger(column: Expression<unknown>): Expression<unknown> {
  return sql`case when ${column} between -9007199254740991 and 9007199254740991 then ${column} else cast(${column} as text) end`
}

function aggregateParts(
  kind: Aggregate['kind'],
  column: Expression<unknown> | undefined,
  type: PhysicalType | undefined,
  sumParts: (column: Expression<unknown>) => Expression<unknown>[],
): Expression<unknown>[] {
  if (column === undefined) return [sql`count(*)`]
  switch (kind) {
    case 'count':
      return [sql`count(${column})`]
    case 'sum':
      return sumParts(column)
    case 'min':
      return [type === 'integer' ? readInteger(sql`min(${column})`) : sql`min(${column})`]
    case 'max':
      return [type === 'integer' ? readInteger(sql`max(${column})`) : sql`max(${column})`]
    default:
      return unreachable(kind)
  }
}

/** The value to bind. Throws `internal` for a cell of another type: SQLite would store a number in a text column as its digits. */
function bindCell(type: PhysicalType, cell: Cell): unknown {
  if (cell === null) return null
  switch (type) {
    case 'integer':
      if (Number.isSafeInteger(cell)) return cell
      if (typeof cell === 'bigint' && BigInt.asIntN(64, cell) === cell) return cell
      break
    case 'real':
      if (Number.isFinite(cell)) return cell
      break
    case 'text':
      if (typeof cell === 'string') return cell
      break
    case 'bytes':
      if (cell instanceof Uint8Array) return cell
      break
    default:
      return unreachable(type)
  }
  throw new VaultError('internal', `A column of type ${type} was given a cell of another type.`)
}

/** One JSON array for a list of any length. Bytes are written as hex. Lists over real columns are expanded, see `expandLists`. */
function toJsonList(type: PhysicalType, values: readonly Exclude<Cell, null>[]): string {
  switch (type) {
    case 'integer':
      return `[${values.map((value) => bindCell(type, value)).join()}]`
    case 'real':
    case 'text':
      return JSON.stringify(values.map((value) => bindCell(type, value)))
    case 'bytes':
      return toHexList(values)
    default:
      return unreachable(type)
  }
}

/** Writes the array into one buffer: a text for each value costs several times as much as its digits. */
function toHexList(values: readonly Exclude<Cell, null>[]): string {
  const lists = values.map(assertBytes)
  const size = lists.reduce((sum, { length }) => sum + 2 * length + 3, 1)
  const text = Buffer.allocUnsafe(Math.max(size, 2))
  let end = 0
  text[end++] = OPENING
  for (const bytes of lists) {
    if (end > 1) text[end++] = COMMA
    text[end++] = QUOTE
    end = writeHex(text, end, bytes)
    text[end++] = QUOTE
  }
  text[end] = CLOSING
  return text.toString('latin1', 0, end + 1)
}

const [OPENING, COMMA, QUOTE, CLOSING] = [0x5b, 0x2c, 0x22, 0x5d]

function assertBytes(value: Exclude<Cell, null>): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new VaultError('internal', 'A list over a column of type bytes has a value of another type.')
}
