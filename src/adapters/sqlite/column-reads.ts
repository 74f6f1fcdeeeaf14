/** Reads one column, a slice of ids after the other: the driver makes a list of cells much faster than a list for each row. */
import { sql } from 'kysely'
import type { Cell, ColumnCells, ColumnPage, Filter } from '../../core/ports/storage.ts'
import { damagedIdError } from '../errors/storage-errors.ts'
import { filterExpression, filterForm } from '../sql/filter-expression.ts'
import { aliased, createSqlStatements } from '../sql/sql-statements.ts'
import { columnType, type TableShape } from '../sql/table-shapes.ts'
import { alongPath, BY_ID, indexedPart } from './access-path.ts'
import { expandLists } from './expand-lists.ts'
import { DAMAGED_ID, nextRange } from './next-range.ts'
import { toCell } from './read-rows.ts'
import { isNarrow } from './short-reads.ts'
import type { OnSnapshot } from './sliced-scans.ts'
import { sqliteSqlDialect } from './sqlite-sql-dialect.ts'
import { onlyStep, type TableWork } from './table-work.ts'

const statements = createSqlStatements(sqliteSqlDialect)

/** True if a filter finds its rows by their ids or by an index, or finds none: slices of ids would visit the whole table, and read an index again and again. */
export function isReadByRows(shape: TableShape, filter: Filter): boolean {
  return isNarrow(shape, filter) || indexedPart(shape, expandLists(shape, filter)) !== undefined
}

/** `Storage.readColumn` of any other filter: the cells in the next `limit` ids. */
export async function readColumnSlice(
  read: OnSnapshot,
  { shape, filter }: { readonly shape: TableShape; readonly filter: Filter },
  page: ColumnPage,
): Promise<ColumnCells> {
  const range = await nextRange(read, { shape, filter }, page)
  if (range === undefined) return { cells: [], next: undefined }
  if (range === DAMAGED_ID) throw damagedIdError(shape.name)
  const cells = await read(columnCells(shape, range.filter, page.column))
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
