/** Finds the rows of one table that meet conditions, in the order of a column or of their ids, as a query does: by indexes where that costs less, within a budget. */
import { allOf, anyOf, type ColumnRef, type Condition, negate, splitConjuncts, typeOf } from '../expressions/condition.ts'
import type { Page, Row } from '../ports/storage.ts'
import { filterCells } from '../row-access/find-visible.ts'
import { planQuery } from '../sql/plan.ts'
import { needsOf, type OrderTerm, type Outputs, type Query, type Source, type Use } from '../sql/query.ts'
import { append } from '../util/lists.ts'
import type { Signal } from '../util/signal.ts'
import { createBudgetMeter, type QueryBudget } from './budget-meter.ts'
import type { OrderStart } from './index-order.ts'
import { createResidualFilter } from './residual-filter.ts'
import { rowsInOrder } from './run-plan.ts'
import { createRowReader, scanRows, type TimedScanning } from './scan-rows.ts'
import { type BufferedRow, createReader } from './scanned-rows.ts'

/** The rows to find. A row in which the caller may not use one of the columns so is not among them. */
export interface RowsRequest {
  readonly source: Source
  readonly conditions: readonly Condition[]
  /** Those of them that digests decide, so that normalization counts. The caller compares the opened values. */
  readonly decided: ReadonlySet<Condition>
  /** How the conditions and the order use columns. */
  readonly uses: readonly Use[]
  /** The column that orders the rows; those with equal values are by rising id. Undefined for the order of ids. */
  readonly by: OrderTerm | undefined
  /** In the order of ids, with the row after which they begin. */
  readonly page: Page
  /** In the order of a column, the row after which they begin; undefined for the first. */
  readonly start: FoundRow | undefined
  readonly budget: QueryBudget
  readonly signal: Signal | undefined
}

/** A row that was found, and its value in the column that orders them: null without one. */
export type FoundRow = Omit<OrderStart, 'isUpTo'>

/** Rows that were found. */
export interface RowsFound {
  readonly rows: readonly FoundRow[]
  /** Returns those of these rows, as they are now, that would be found at the same place. */
  stillFound(rows: readonly Row[]): readonly Row[]
}

/** Returns rows in order. Throws `limit_exceeded`, `deadline_exceeded` and `cancelled`, as a query does. */
export async function findRows(context: TimedScanning, request: RowsRequest): Promise<RowsFound> {
  const { source, conditions, decided, uses, by, page, start } = request
  const { offset = 0, limit } = page
  const outputs: Outputs = { kind: 'rows', values: [], order: by === undefined ? [] : [by] }
  const query: Query = {
    sources: [source],
    joins: [],
    where: allOf(by === undefined || start === undefined ? conditions : [...conditions, notBefore(by, start.value)]),
    outputs,
    limit,
    mayBeCut: false,
    offset,
    uses,
    needs: [needsOf(source, outputs, uses)],
  }
  const planned = planQuery(query, (table) => filterCells(context.barrier, table))
  const left = splitConjuncts(planned.first.residual).filter((condition) => !decided.has(condition))
  const plan = { ...planned, first: { ...planned.first, residual: allOf(left) } }
  const { first, strategy } = plan
  const meter = createBudgetMeter(context, request.budget, request.signal)
  const read = createReader(plan)
  const valueIn = (row: BufferedRow): unknown => (by === undefined ? null : read(row, by.ref))
  const found: BufferedRow[] = []
  if (by !== undefined) {
    const keys = strategy.kind === 'sorted' ? strategy.keys : undefined
    const wanted = { order: [by], keys, offset, limit, meter, read, start: start && { ...start, isUpTo: upTo(by.ref, start) } }
    for (const [row] of await rowsInOrder(context, plan, wanted)) if (row !== undefined) found.push(row)
  } else {
    const { order, after } = page
    const from = after === undefined ? { order } : { order, after }
    const scan = scanRows(context, { plan: first, meter, limit: offset + limit, from })
    for (let rows = await scan.next(); rows !== undefined; rows = await scan.next()) append(found, rows)
    found.splice(0, offset)
  }
  const rows = found.map((one) => ({ row: one.id, value: valueIn(one) }))
  return {
    rows,
    stillFound(current) {
      const whole = { ...first, residual: allOf(conditions.filter((condition) => !decided.has(condition))) }
      const reader = createRowReader(createResidualFilter(context.barrier, whole), whole)
      const values = new Map(reader.read(current, current.length).map((row) => [row.id, valueIn(row)]))
      const kept = new Set(rows.flatMap(({ row, value }) => (values.has(row) && isSame(by, value, values.get(row)) ? [row] : [])))
      return current.filter(({ id }) => kept.has(id))
    },
  }
}

/** True in the rows whose value is this one, or after it in the order. */
function notBefore({ ref, direction }: OrderTerm, value: unknown): Condition {
  const isNull: Condition = { kind: 'isNull', ref }
  if (value === null) return direction === 'asc' ? isNull : allOf([])
  const left = { kind: 'cell', ref } as const
  const right = { kind: 'constant', value, type: typeOf(ref) } as const
  const isBefore: Condition = { kind: 'compare', operator: direction === 'asc' ? '<' : '>', left, right }
  return direction === 'asc' ? anyOf([negate(isBefore), isNull]) : negate(isBefore)
}

function upTo(ref: ColumnRef, start: FoundRow): OrderStart['isUpTo'] {
  return (row, value) => row !== undefined && row.id <= start.row && isEqual(ref, start.value, value)
}

function isSame(by: OrderTerm | undefined, one: unknown, other: unknown): boolean {
  return by === undefined || isEqual(by.ref, one, other)
}

function isEqual(ref: ColumnRef, one: unknown, other: unknown): boolean {
  return one === null || other === null ? one === other : typeOf(ref).compare(one, other) === 0
}
