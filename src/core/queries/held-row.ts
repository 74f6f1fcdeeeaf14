/** Rows on their way through a query: what was opened of them and is still needed. */
import type { ColumnRef } from '../expressions/condition.ts'
import type { Plan, SourcePlan } from '../sql/plan.ts'
import type { RowGrants } from '../sql/source-access.ts'
import { at } from '../util/at.ts'

/** One row of one source. */
export interface HeldRow {
  readonly id: number
  /** The public id, where the plan carries it. */
  readonly publicId: string | undefined
  readonly grants: RowGrants
  /** Values of the columns the plan carries, in its order; null where there is none. */
  readonly values: readonly unknown[]
}

/** One row of each source so far; undefined where an outer join found none. */
export type Tuple = readonly (HeldRow | undefined)[]

/** The value of a column in one of these rows; null for a row that is missing. */
export type ReadHeld = (row: HeldRow | undefined, ref: ColumnRef) => unknown

/** Knows where each carried column's value stands. */
export function createReader({ first, steps }: Pick<Plan, 'first' | 'steps'>): ReadHeld {
  const positions = [first, ...steps.map(({ right }) => right)].map(valuePositions)
  return (row, { source, column }) => {
    if (row === undefined) return null
    if (column === undefined) return row.publicId ?? null
    return row.values[at(at(positions, source), column.position)] ?? null
  }
}

function valuePositions({ source, carried }: SourcePlan): number[] {
  const positions = new Array<number>(source.table.columns.length).fill(-1)
  carried.forEach((column, position) => {
    positions[column.position] = position
  })
  return positions
}

/** Bytes a row takes besides its values, and a value besides its text: what V8's objects cost, roughly. */
const ROW_BYTES = 120
const VALUE_BYTES = 16

/** About how many bytes the row takes while it is held. */
export function sizeOf({ values, publicId }: HeldRow): number {
  let size = ROW_BYTES + (publicId?.length ?? 0)
  for (const value of values) size += VALUE_BYTES + sizeOfValue(value)
  return size
}

/** Bytes an object, a list or a member of one takes besides its texts. */
const NODE_BYTES = 64

function sizeOfValue(value: unknown): number {
  if (typeof value === 'string') return value.length * 2
  if (typeof value !== 'object' || value === null) return 0
  let size = NODE_BYTES
  // Values are no deeper than the schema lets them be.
  for (const [name, member] of Object.entries(value)) size += NODE_BYTES + name.length + sizeOfValue(member)
  return size
}
