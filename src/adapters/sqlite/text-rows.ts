/** Reads rows of short bytes as one text each: a driver returns a text much faster than a row of cells with memory of their own. */
import { sql } from 'kysely'
import type { Cell, PhysicalColumn, Row } from '../../core/ports/storage.ts'
import { required } from '../../core/util/lists.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { sourceStart } from './access-path.ts'
import { endToEnd, sqliteSqlDialect } from './sqlite-sql-dialect.ts'

/** Longer cells cost more as digits than as bytes of their own. */
const MAX_CELL_BYTES = 256

/** The name of the one cell of a text statement. */
export const TEXT_COLUMN = ['row'] as const

const textStatements = new WeakMap<SqlStatement, SqlStatement>()

/**
 * The statement that reads the rows of `statement` as a text each: the digits of all bytes end to end, then the id, the version, and the
 * length of each cell, none for a null. A cell that is too long has a length and no digits.
 */
export function textStatement(shape: TableShape, statement: SqlStatement): SqlStatement {
  const found = textStatements.get(statement)
  if (found !== undefined) return found
  const cells = shape.table.columns.map((column) => sql.id('t', column.name))
  const digits = cells.map((cell) => sql`case when length(${cell}) <= ${sql.lit(MAX_CELL_BYTES)} then hex(${cell}) else '' end`)
  const lengths = cells.map((cell) => sql`coalesce(length(${cell}), '')`)
  const numbers = [sql.id('t', 'id'), sql.id('t', 'version'), ...lengths]
  const query = sql`select (${endToEnd(digits)}) || ',' || (${endToEnd(numbers, ',')}) as ${sql.id(TEXT_COLUMN[0])}`
  // Not around the statement: SQLite would pass each row with a limit through a co-routine.
  const made = { text: `${query.compile(sqliteSqlDialect.compiler).sql}${statement.text.slice(sourceStart(shape, statement))}` }
  textStatements.set(statement, made)
  return made
}

/** The row of a text; undefined if it must be read as a row: it has a long cell, or what a writer of the file left in it has other types. */
export function textRow(columns: readonly PhysicalColumn[], text: unknown): Row | undefined {
  if (typeof text !== 'string') return undefined
  const comma = text.indexOf(',')
  const numbers = numbersAfter(text, comma)
  if (numbers?.length !== columns.length + 2) return undefined
  const row: { id: number; version: number; [column: string]: Cell } = { id: required(numbers[0]), version: required(numbers[1]) }
  if (row.id === NONE || row.version === NONE) return undefined
  let size = 0
  for (let i = 2; i < numbers.length; i++) size += Math.max(0, required(numbers[i]))
  // Checked before a view is made: the bytes of a long cell were not written.
  if (size * 2 !== comma) return undefined
  let end = writeDigits(text, size)
  for (let i = 0; i < columns.length; i++) {
    const length = required(numbers[i + 2])
    row[required(columns[i]).name] = length < 0 ? null : new Uint8Array(slab.buffer, end, length)
    if (length > 0) end += length
  }
  return row
}

const COMMA = 44
const ZERO = 48
const NINE = 57
/** Digits of a number that a double holds exactly. */
const MAX_DIGITS = 15
/** Stands for a number that is not there. */
const NONE = -1

/** The numbers after a comma, between commas; undefined for other characters. */
function numbersAfter(text: string, comma: number): number[] | undefined {
  const numbers: number[] = []
  let number = NONE
  let digits = 0
  for (let i = comma + 1; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === COMMA) {
      numbers.push(number)
      number = NONE
      digits = 0
    } else if (unit < ZERO || unit > NINE || ++digits > MAX_DIGITS) return undefined
    else number = (digits === 1 ? 0 : number * 10) + (unit - ZERO)
  }
  numbers.push(number)
  return numbers
}

/** Bytes of the memory that rows share, which is freed with the last of them. More would be kept for one row. */
const SLAB_BYTES = 8192

let slab = Buffer.from(new ArrayBuffer(0))
let used = 0

/** Writes the bytes of the digits at the start of a text. Returns where they begin in `slab`. Each place is written once. */
function writeDigits(text: string, length: number): number {
  if (used + length > slab.length) {
    slab = Buffer.from(new ArrayBuffer(Math.max(SLAB_BYTES, length)))
    used = 0
  }
  const start = used
  slab.write(text, start, length, 'hex')
  used += length
  return start
}
