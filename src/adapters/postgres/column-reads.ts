/** Reads a part of one column as one text of its cells, without the ids and versions of rows. */
import type { BytesPart, Cell, ColumnCells, ColumnPage, Filter } from '../../core/ports/storage.ts'
import { bytesOfRows, columnOfRows, rowsOfColumn } from '../sql/stored-cells.ts'
import { assertBytes, columnType, type TableShape } from '../sql/table-shapes.ts'
import { findRows } from './read-rows.ts'
import { guarded, type QueryBuilders } from './row-work.ts'
import type { Executor } from './transaction-executor.ts'
import { unpackColumn } from './unpack-rows.ts'

/** Cells of one text at most: 12 bytes each. */
const MAX_CELLS = 16_384

/** `Storage.readColumn`. Only numbers are packed, because texts and bytes can be of any length. */
export async function readColumn(
  builders: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  { filter, page }: { readonly filter: Filter; readonly page: ColumnPage },
): Promise<ColumnCells> {
  const type = columnType(shape, page.column)
  const isPacked = (type === 'real' || type === 'integer') && page.limit <= MAX_CELLS
  if (!isPacked) return columnOfRows(await findRows(builders, executor, shape, { filter, page: rowsOfColumn(page) }), page)
  const [[last, packed] = []] = await guarded(executor, builders.packedQueries.column(shape, filter, page), { shape })
  const cells: readonly Cell[] = typeof packed === 'string' ? unpackColumn(type, packed) : []
  return { cells, next: cells.length < page.limit ? undefined : Number(last) }
}

/** `Storage.readBytes`: the same rows, packed where they are many. */
export async function readBytes(
  builders: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  { filter, page }: { readonly filter: Filter; readonly page: ColumnPage },
): Promise<BytesPart> {
  assertBytes(shape, page.column)
  return bytesOfRows(await findRows(builders, executor, shape, { filter, page: rowsOfColumn(page) }), page)
}
