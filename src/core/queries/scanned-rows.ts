/** The rows of a query: as a scan reads them, whole or only ids and bodies, and buffered with the opened values that joins and the result need. */
import { type RowBodies, showValue } from '../barrier/reveal.ts'
import type { ColumnRef } from '../expressions/condition.ts'
import { bytesOfRows, endOfSlice } from '../pace/pace.ts'
import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import { BODY } from '../schema/layout.ts'
import type { Plan, SourcePlan } from '../sql/plan.ts'
import type { RowGrants } from '../sql/source-access.ts'
import { required } from '../util/lists.ts'
import { type Slab, slabStart, sliceSlab } from '../util/memory.ts'

/** Rows in the order of their ids. */
export type ScannedRows = readonly Row[] | RowBodies

/** True if only ids and bodies were read. */
export function isSealed(rows: ScannedRows): rows is RowBodies {
  return 'bodies' in rows
}

/** A part of the rows of a table. */
export interface ScannedPage {
  readonly rows: ScannedRows
  /** The id after which the next page begins; undefined at the end. */
  readonly next: number | undefined
  /** Frees the memory of the rows, which are no longer used. */
  free?(): void
}

/** Reads the rows of a page in rising order. */
export async function readScannedRows(storage: StorageReads, table: string, filter: Filter, page: Page): Promise<ScannedPage> {
  const rows = await storage.find(table, filter, page)
  return { rows, next: rows.length < page.limit ? undefined : rows.at(-1)?.id }
}

/** Reads the ids and bodies of a page in rising order. There can be fewer than its limit, or none, also where more follow. */
export async function readScannedBodies(storage: StorageReads, table: string, filter: Filter, page: Page): Promise<ScannedPage> {
  const { limit, after } = page
  const sealed = { shape: 'bytes', column: BODY, limit, ...(after === undefined ? {} : { after }) } as const
  const part = await storage.scan(table, filter, sealed)
  return { rows: rowBodies(part.ids, part.cells), next: part.next, free: () => part.free?.() }
}

/** Returns the rows from index `from` to `to` (exclusive). */
export function sliceOf(rows: ScannedRows, from: number, to: number): ScannedRows {
  if (from === 0 && to === rows.length) return rows
  return isSealed(rows) ? rowBodies(rows.ids.slice(from, to), sliceSlab(rows.bodies, from, to)) : rows.slice(from, to)
}

/** Estimated bytes of rows. */
export function bytesOf(rows: ScannedRows): number {
  return isSealed(rows) ? rows.bodies.bytes.length : bytesOfRows(rows)
}

/** Returns the end of a slice that begins at `start`, as `endOfSlice` does. */
export function endOf(rows: ScannedRows, start: number, limits: { readonly size: number; readonly maxBytes: number }): number {
  if (!isSealed(rows)) return endOfSlice(rows, start, limits)
  const { bodies, length } = rows
  const last = Math.min(length, start + limits.size)
  const full = slabStart(bodies, start) + limits.maxBytes
  let end = start
  while (end < last && slabStart(bodies, end) < full) end++
  return end
}

function rowBodies(ids: readonly number[], bodies: Slab): RowBodies {
  return { length: ids.length, ids, bodies }
}

/** One row of one source. */
export interface BufferedRow {
  readonly id: number
  /** The public id, if the plan needs it. */
  readonly publicId: string | undefined
  readonly grants: RowGrants
  /** The columns that the plan needs. */
  readonly columns: readonly Column[]
  /** Their values, in order; null for no value. */
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

/** Estimated bytes of the rows of a tuple. */
export function sizeOfTuple(tuple: Tuple): number {
  let size = 0
  for (const row of tuple) if (row !== undefined) size += sizeOf(row)
  return size
}

/**
 * Estimated bytes of a buffered row, with each value as long as it is shown at most: where the memory limit is exceeded says nothing of the length of a value
 * that the caller does not see.
 */
export function sizeOf({ columns, values, grants, publicId }: BufferedRow): number {
  let size = ROW_BYTES + (publicId?.length ?? 0)
  for (let i = 0; i < values.length; i++) {
    const column = required(columns[i])
    const level = grants.level(column)
    if (level === 'PLAIN_TEXT') size += sizeOfValue(values[i])
    else size += level === undefined ? VALUE_BYTES : sizeOfValue(showValue({ column, level }, values[i]))
  }
  return size
}

/** Estimated bytes of a value. */
export function sizeOfValue(value: unknown): number {
  return VALUE_BYTES + sizeOfContent(value)
}

/** Estimated bytes of an object, an array or a member, without their text. */
const NODE_BYTES = 64

function sizeOfContent(value: unknown): number {
  if (typeof value === 'string') return value.length * 2
  if (typeof value !== 'object' || value === null) return 0
  let size = NODE_BYTES
  // The schema limits the nesting of JSON values, so this recursion is bounded.
  for (const [name, member] of Object.entries(value)) size += NODE_BYTES + name.length + sizeOfContent(member)
  return size
}
