/** Reads one column, a range of ids after the other, without rows: as a list of cells, and of bytes as lists of ids and lengths and all cells end to end. */
import { sql } from 'kysely'
import type { BytesPart, Cell, ColumnCells, ColumnPage, Filter } from '../../core/ports/storage.ts'
import { required } from '../../core/util/lists.ts'
import { freeBytes, type Slab } from '../../core/util/memory.ts'
import { damagedIdError } from '../errors/storage-errors.ts'
import { aliased, createSqlStatements, filterExpression, filterForm } from '../sql/sql-statements.ts'
import { columnType, type TableShape } from '../sql/table-shapes.ts'
import { alongPath, BY_ID, expandLists } from './access-path.ts'
import { onlyStep, type TableWork } from './connection.ts'
import type { RawRow } from './drivers.ts'
import { MAX_CELL_BYTES, toCell } from './read-rows.ts'
import { DAMAGED_ID, nextRange, type OnSnapshot, sliceOf } from './scans.ts'
import { sqliteSqlDialect } from './sqlite-sql-dialect.ts'

const statements = createSqlStatements(sqliteSqlDialect)

/** A scan of the shape `column` of any other filter: the cells in the next `limit` ids. */
export async function readColumnSlice(
  read: OnSnapshot,
  { shape, filter }: { readonly shape: TableShape; readonly filter: Filter },
  page: ColumnPage,
): Promise<ColumnCells> {
  const range = await nextRange(read, { shape, filter }, { order: 'asc', after: page.after, size: page.limit })
  if (range === undefined) return { cells: [], next: undefined }
  if (range === DAMAGED_ID) throw damagedIdError(shape.name)
  const cells = await read(columnCells(shape, sliceOf(filter)(range), page.column))
  return { cells, next: range.high }
}

/** The cells of a column in the rows that match, by id. */
function columnCells(shape: TableShape, given: Filter, column: string): TableWork<readonly Cell[]> {
  const filter = expandLists(shape, given)
  const type = columnType(shape, column)
  const form = filterForm(sqliteSqlDialect, shape, filter)
  const statement = statements.once(`column ${shape.key} "${column}" ${form.key}`, (slots) =>
    sqliteSqlDialect.compiler
      .selectFrom(aliased(sqliteSqlDialect, shape))
      .select(sql`${sqliteSqlDialect.readColumn(sql.id(column), type)}`.as('cell'))
      .where(filterExpression(sqliteSqlDialect, shape, filter, slots))
      .orderBy('id', 'asc'),
  )
  const step = {
    kind: 'column',
    statement: alongPath(shape, statement, BY_ID),
    parameters: form.values,
    columns: ['cell'],
  } as const
  return onlyStep(shape, step, ({ rows: [cells = []] }) =>
    type === 'real' ? realCells(cells) : cells.map((cell) => toCell(type, cell)),
  )
}

/** Cells of doubles are as the driver returns them, so they are checked and not copied. */
function realCells(cells: readonly unknown[]): readonly Cell[] {
  return cells.every(isRealCell) ? cells : cells.map((cell) => toCell('real', cell))
}

function isRealCell(cell: unknown): cell is number | null {
  return typeof cell === 'number' || cell === null
}

/** Names of the cells of the one row, in order. */
const NAMES = ['letter', 'ids', 'lengths', 'bytes'] as const

/** The cells in the next `limit` ids; undefined if they must be read as rows. */
export async function readBytesRange(
  read: OnSnapshot,
  { shape, filter }: { readonly shape: TableShape; readonly filter: Filter },
  page: ColumnPage,
): Promise<BytesPart | undefined> {
  const range = await nextRange(read, { shape, filter }, { order: 'asc', after: page.after, size: page.limit })
  if (range === undefined) return { ids: [], cells: NO_CELLS, next: undefined }
  // Read as a row, its body does not open, and the error names the record.
  if (range === DAMAGED_ID) return undefined
  return read(joinedCells({ shape, filter: sliceOf(filter)(range) }, page.column, range.high))
}

const NO_CELLS: Slab = { bytes: new Uint8Array(0), ends: new Uint32Array(0), count: 0 }

/**
 * The cells in the rows of a filter that bounds their ids; undefined if they must be read as rows. SQLite joins bytes as text without looking at them where text
 * is UTF-8; the length of a letter shows whether it is.
 */
export function joinedCells(
  { shape, filter: given }: { readonly shape: TableShape; readonly filter: Filter },
  column: string,
  next: number | undefined,
): TableWork<BytesPart | undefined> {
  const filter = expandLists(shape, given)
  const form = filterForm(sqliteSqlDialect, shape, filter)
  const statement = statements.once(`bytes ${shape.key} "${column}" ${form.key}`, (slots) => {
    const cell = sql.id(column)
    return sqliteSqlDialect.compiler
      .selectFrom(aliased(sqliteSqlDialect, shape))
      .select([
        sql`length(cast('a' as blob))`.as(NAMES[0]),
        sql`cast(group_concat(${sql.id('id')}) as blob)`.as(NAMES[1]),
        sql`cast(group_concat(length(${cell})) as blob)`.as(NAMES[2]),
        sql`cast(group_concat(case when length(${cell}) <= ${sql.lit(MAX_CELL_BYTES)} then ${cell} end, '') as blob)`.as(
          NAMES[3],
        ),
      ])
      .where(filterExpression(sqliteSqlDialect, shape, filter, slots))
  })
  const step = { kind: 'row', statement: alongPath(shape, statement, BY_ID), parameters: form.values, columns: NAMES } as const
  return onlyStep(shape, step, ({ rows: [row] }) => toPart(row, next))
}

/** Undefined for what is not as such a list must be: cells that are null or too long, texts that are not UTF-8, ids in another order. */
function toPart([letter, listedIds, listedLengths, joined]: RawRow = [], next: number | undefined): BytesPart | undefined {
  if (letter !== 1) return undefined
  const bytes = plainBytes(joined)
  const ids = numbersIn(listedIds)
  const lengths = numbersIn(listedLengths)
  if (ids === undefined || lengths === undefined || ids.length !== lengths.length || !isRising(ids)) return undefined
  const count = ids.length
  const ends = new Uint32Array(count)
  let end = 0
  for (let i = 0; i < count; i++) {
    end += required(lengths[i])
    ends[i] = end
  }
  return end === bytes.length ? { ids, cells: { bytes, ends, count }, next, free: () => freeBytes(bytes) } : undefined
}

function plainBytes(cell: unknown): Uint8Array {
  return cell instanceof Uint8Array ? new Uint8Array(cell.buffer, cell.byteOffset, cell.length) : NO_CELLS.bytes
}

const COMMA = 44
const ZERO = 48
const NINE = 57

/** The numbers of a list of digits and commas; undefined for other bytes. */
function numbersIn(cell: unknown): number[] | undefined {
  const numbers: number[] = []
  const list = plainBytes(cell)
  if (list.length === 0) return numbers
  let number = 0
  for (let i = 0; i < list.length; i++) {
    const byte = list[i] ?? COMMA // Exists: i < list.length.
    if (byte === COMMA) {
      numbers.push(number)
      number = 0
    } else if (byte < ZERO || byte > NINE) return undefined
    else number = number * 10 + (byte - ZERO)
  }
  numbers.push(number)
  freeBytes(list)
  return numbers
}

function isRising(ids: readonly number[]): boolean {
  let last = -1
  for (const id of ids) {
    if (id <= last) return false
    last = id
  }
  return true
}
