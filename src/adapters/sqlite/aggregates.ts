/** Aggregates and counts of rows: their statements, what their rows become, and the aggregates of two pieces of a scan as one. */
import type { Aggregate, Cell, Filter, PhysicalType } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import { at, required } from '../../core/util/lists.ts'
import { type BoundStatement, createSqlStatements, type SqlStatement } from '../sql/sql-statements.ts'
import { toIntegerCell } from '../sql/stored-cells.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { type AccessPath, alongPath, expandLists } from './access-path.ts'
import { onlyStep, rows, type Steps, type TableWork } from './connection.ts'
import type { RawRow } from './drivers.ts'
import { toCell } from './read-rows.ts'
import { isOverflowError } from './sqlite-errors.ts'
import { sqliteSqlDialect, wideSqliteSqlDialect } from './sqlite-sql-dialect.ts'

const statements = createSqlStatements(sqliteSqlDialect)
const wideStatements = createSqlStatements(wideSqliteSqlDialect)

/** The rows an aggregate or a count is over, and the path to them. Without one, SQLite chooses it. */
export interface Asked {
  readonly shape: TableShape
  readonly filter: Filter
  readonly path?: AccessPath
}

/** `Storage.aggregate`. */
export function aggregateRows(asked: Asked, aggregates: readonly Aggregate[]): TableWork<readonly Cell[]> {
  const { shape } = asked
  return {
    shape,
    *begin() {
      if (aggregates.length === 0) return []
      try {
        return yield* aggregateWith(statements, asked, aggregates)
      } catch (error) {
        if (!isOverflowError(error)) throw error
        return yield* aggregateWith(wideStatements, asked, aggregates)
      }
    },
  }
}

function* aggregateWith(
  by: typeof statements,
  { shape, filter, path }: Asked,
  aggregates: readonly Aggregate[],
): Steps<readonly Cell[]> {
  const sumParts = by === wideStatements ? 2 : 1
  const { statement: free, parameters } = by.aggregate(shape, expandLists(shape, filter), aggregates)
  const statement = path === undefined ? free : alongPath(shape, free, path)
  const types = aggregates.map(({ column }) => (column === undefined ? undefined : shape.types.get(column)))
  const widths = aggregates.map(({ kind }) => (kind === 'sum' ? sumParts : 1))
  const names = Array.from({ length: widths.reduce((sum, width) => sum + width, 0) }, (_, index) => `m${index}`)
  const [raw = []] = yield* rows(statement, parameters, names)
  let start = 0
  return aggregates.map(({ kind }, index) => {
    const width = at(widths, index)
    const parts = raw.slice(start, start + width)
    start += width
    return toAggregate(kind, types[index], parts)
  })
}

const counts = new WeakMap<SqlStatement, SqlStatement>()
const idLists = new WeakMap<SqlStatement, SqlStatement>()

/** What a count selects, as its statement spells it. */
const COUNTED = 'count(*) as "m0"'
/** An id as a double: `node:sqlite` refuses the whole list for an integer beyond 2^53. */
const LISTED = 'cast("id" as real)'

/** Counts the rows that match, up to a limit, because SQLite reads a limited subquery no further. The filter bounds the path. */
export function countUpTo(asked: Asked, limit: number): TableWork<number> {
  const { statement: whole, parameters } = countAlongPath(asked)
  const statement = counts.get(whole) ?? { text: `select ${COUNTED} from (${whole.text.replace(COUNTED, '1')} limit ?)` }
  counts.set(whole, statement)
  const step = { kind: 'row', statement, parameters: [...parameters, limit], columns: ['m0'] } as const
  return onlyStep(asked.shape, step, ({ rows: [row] }) => Number(row?.[0]))
}

/** The ids of the rows that match, up to a limit, in any order; not a safe integer for one that no row can have. The filter bounds the path. */
export function idsUpTo(asked: Asked, limit: number): TableWork<readonly number[]> {
  const { statement: whole, parameters } = countAlongPath(asked)
  const statement = idLists.get(whole) ?? { text: `${whole.text.replace(COUNTED, LISTED)} limit ?` }
  idLists.set(whole, statement)
  const step = { kind: 'column', statement, parameters: [...parameters, limit], columns: ['id'] } as const
  return onlyStep(asked.shape, step, ({ rows: [ids = []] }) => ids.map(Number))
}

function countAlongPath({ shape, filter, path }: Asked): BoundStatement {
  const { statement, parameters } = statements.aggregate(shape, filter, [{ kind: 'count' }])
  return { statement: path === undefined ? statement : alongPath(shape, statement, path), parameters }
}

function toAggregate(kind: Aggregate['kind'], type: PhysicalType | undefined, parts: RawRow): Cell {
  if (kind !== 'sum') return toCell(kind === 'count' ? 'integer' : (type ?? 'integer'), parts[0])
  if (parts[0] === null) return null
  const [high, low] = parts.map((part) => BigInt(toIntegerCell(String(part))))
  const first = required(high, 'A sum')
  return toIntegerCell(low === undefined ? first : (first << 32n) + low)
}

/** The cells of two pieces as the cells of both. */
export function mergeAggregates(
  aggregates: readonly Aggregate[],
  left: readonly Cell[],
  right: readonly Cell[],
): readonly Cell[] {
  return aggregates.map(({ kind }, at) => mergeCells(kind, left[at] ?? null, right[at] ?? null))
}

function mergeCells(kind: Aggregate['kind'], left: Cell, right: Cell): Cell {
  if (left === null) return right
  if (right === null) return left
  switch (kind) {
    case 'count':
      return Number(left) + Number(right)
    case 'sum':
      return toIntegerCell(BigInt(String(left)) + BigInt(String(right)))
    case 'min':
      return compareCells(left, right) <= 0 ? left : right
    case 'max':
      return compareCells(left, right) >= 0 ? left : right
    default:
      return unreachable(kind)
  }
}

/** Text by its UTF-8 bytes, as SQLite compares it, which is by code point. */
function compareCells(left: Exclude<Cell, null>, right: Exclude<Cell, null>): number {
  if (isBytewise(left) || isBytewise(right)) return Buffer.compare(toBytes(left), toBytes(right))
  // Comparing a number with a bigint is exact.
  return left < right ? -1 : left > right ? 1 : 0
}

function isBytewise(cell: Exclude<Cell, null>): cell is string | Uint8Array {
  return typeof cell === 'string' || cell instanceof Uint8Array
}

function toBytes(cell: Exclude<Cell, null>): Uint8Array {
  return cell instanceof Uint8Array ? cell : Buffer.from(String(cell))
}
