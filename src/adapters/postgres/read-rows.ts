/** The port's reads of rows and columns, by id and by filter: packed where that pays, and else one by one. */
import type { BytesPart, Cell, ColumnCells, ColumnPage, Filter, Page, Row } from '../../core/ports/storage.ts'
import { required } from '../../core/util/lists.ts'
import { bytesOfRows, columnOfRows, rowsOfColumn } from '../sql/stored-cells.ts'
import { assertBytes, columnType, projectedShape, type TableShape } from '../sql/table-shapes.ts'
import type { PreparedQuery } from './driver-connection.ts'
import { canPack, mayMatchMany, unpackColumn, unpackRows } from './packing.ts'
import { guarded, type QueryBuilders } from './row-work.ts'
import type { Executor } from './transaction-executor.ts'
import { toRow } from './wire-cells.ts'

/** Reads of a table that are not packed after one met a cell too long for it. */
const UNPACKED_READS = 100

const unpackedReadsLeft = new WeakMap<TableShape, number>()

/** One read, as either query. */
interface Read {
  /** The columns of its rows. */
  readonly shape: TableShape
  readonly isPacked: boolean
  packed(): PreparedQuery
  unpacked(): PreparedQuery
}

export async function getRows(
  { queries, packedQueries }: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  ids: readonly number[],
): Promise<readonly (Row | undefined)[]> {
  const possible = ids.every(Number.isSafeInteger) ? ids : ids.filter(Number.isSafeInteger)
  if (possible.length === 0) return ids.map(() => undefined)
  const rows = await readRows(executor, {
    shape,
    isPacked: canPack(shape, possible.length),
    packed: () => packedQueries.get(shape, possible),
    unpacked: () => queries.get(shape, possible),
  })
  return inOrderOf(ids, rows)
}

function inOrderOf(ids: readonly number[], rows: readonly Row[]): readonly (Row | undefined)[] {
  const indexes = new Map<number, number>()
  for (let index = 0; index < rows.length; index++) indexes.set(required(rows[index]).id, index)
  const isReturned = new Uint8Array(rows.length)
  return ids.map((id) => {
    const index = indexes.get(id)
    const row = index === undefined ? undefined : rows[index]
    if (index === undefined || row === undefined) return undefined
    if (isReturned[index] === 0) {
      isReturned[index] = 1
      return row
    }
    // Requested twice: each result is the caller's own copy.
    return { ...row }
  })
}

export async function findRows(
  { queries, packedQueries, statements }: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  { filter, page }: { readonly filter: Filter; readonly page: Page },
): Promise<readonly Row[]> {
  const shown = projectedShape(shape, page.columns)
  const read = readRows(executor, {
    shape: shown,
    isPacked: canPack(shown, page.limit) && mayMatchMany(filter),
    packed: () => packedQueries.find(shape, filter, page),
    unpacked() {
      const { statement, parameters } = statements.find(shape, filter, page)
      return queries.bind(statement, parameters)
    },
  })
  // Sent together, so that both take one round trip. Transactions of the storage itself read the newest state in any case.
  const isChecked = page.newest === true && executor.isShared
  const check = isChecked ? guarded(executor, queries.assertNewest(shape, filter), { shape }) : undefined
  const [rows] = await Promise.all([read, check])
  return rows
}

/** A cell too long to be packed makes it a second query, which reads all rows, so that all are of one state. */
async function readRows(executor: Executor, { shape, isPacked, packed, unpacked }: Read): Promise<readonly Row[]> {
  if (isPacked && isWorthPacking(shape)) {
    const rows = unpackRows(shape, await guarded(executor, packed(), { shape }))
    if (rows !== undefined) return rows
    unpackedReadsLeft.set(shape, UNPACKED_READS)
  }
  const rows = await guarded(executor, unpacked(), { shape })
  return rows.map((raw) => toRow(shape, raw))
}

function isWorthPacking(shape: TableShape): boolean {
  const left = unpackedReadsLeft.get(shape) ?? 0
  if (left > 0) unpackedReadsLeft.set(shape, left - 1)
  return left === 0
}

/** Cells of one text at most: 12 bytes each. */
const MAX_CELLS = 16_384

/** A scan of the shape `column`. Only numbers are packed, because texts and bytes can be of any length. */
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

/** A scan of the shape `bytes`: the same rows, packed where they are many. */
export async function readBytes(
  builders: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  { filter, page }: { readonly filter: Filter; readonly page: ColumnPage },
): Promise<BytesPart> {
  assertBytes(shape, page.column)
  return bytesOfRows(await findRows(builders, executor, shape, { filter, page: rowsOfColumn(page) }), page)
}
