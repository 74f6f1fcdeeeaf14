/** Rows buffered by a query, with the opened values that joins and the result need. */
import type { ColumnRef } from '../expressions/condition.ts'
import type { Plan, SourcePlan } from '../sql/plan.ts'
import type { RowGrants } from '../sql/source-access.ts'
import { required } from '../util/lists.ts'

/** One row of one source. */
export interface BufferedRow {
  readonly id: number
  /** The public id, if the plan needs it. */
  readonly publicId: string | undefined
  readonly grants: RowGrants
  /** Values of the columns that the plan needs, in its order; null for no value. */
  readonly values: readonly unknown[]
}

/** One row of each source so far; undefined where an outer join found no matching row. */
export type Tuple = readonly (BufferedRow | undefined)[]

/** Reads the value of a column in a buffered row; null for a missing row. */
export type ReadBuffered = (row: BufferedRow | undefined, ref: ColumnRef) => unknown

/** Creates a reader that knows the position of each column's value. */
export function createReader({ first, steps }: Pick<Plan, 'first' | 'steps'>): ReadBuffered {
  const positions = [first, ...steps.map(({ right }) => right)].map(valuePositions)
  return (row, { source, column }) => {
    if (row === undefined) return null
    if (column === undefined) return row.publicId ?? null
    return row.values[required(positions[source]?.[column.position], 'The position of a column')] ?? null
  }
}

function valuePositions({ source, projected }: SourcePlan): number[] {
  const positions: number[] = []
  // Filled one by one: `fill` takes longer than this for all but very wide tables.
  for (let i = 0; i < source.table.columns.length; i++) positions.push(-1)
  for (let i = 0; i < projected.length; i++) positions[required(projected[i]).position] = i
  return positions
}

/** Estimated bytes of a row without its values, and of a value without its text: about the size of V8 objects. */
const ROW_BYTES = 120
const VALUE_BYTES = 16

/** Estimated bytes of a buffered row. */
export function sizeOf({ values, publicId }: BufferedRow): number {
  let size = ROW_BYTES + (publicId?.length ?? 0)
  for (const value of values) size += VALUE_BYTES + sizeOfValue(value)
  return size
}

/** Estimated bytes of an object, an array or a member, without their text. */
const NODE_BYTES = 64

function sizeOfValue(value: unknown): number {
  if (typeof value === 'string') return value.length * 2
  if (typeof value !== 'object' || value === null) return 0
  let size = NODE_BYTES
  // The schema limits the nesting of JSON values, so this recursion is bounded.
  for (const [name, member] of Object.entries(value)) size += NODE_BYTES + name.length + sizeOfValue(member)
  return size
}
