/** Reads many rows of bytes as one: returning a row and its buffers through the driver costs more than finding them. */
import { sql } from 'kysely'
import type { Cell, Row } from '../../core/ports/storage.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { endToEnd, sqliteSqlDialect } from './sqlite-sql-dialect.ts'
import type { RawRow } from './table-work.ts'

/** Cells longer than this are not worth the copies packing makes. */
export const MAX_CELL_BYTES = 2048

/** Names of the three cells a packed statement returns, in order. */
export const PACKED_COLUMNS = ['letter', 'numbers', 'bytes'] as const

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
