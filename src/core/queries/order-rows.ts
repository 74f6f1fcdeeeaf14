/** Keeps the first rows of an order, so that memory grows with OFFSET and LIMIT and not with the rows that are read. */

import type { Direction } from '../sql/select.ts'
import { required } from '../util/lists.ts'
import type { BudgetMeter } from './budget-meter.ts'

/** How one value of each row orders the rows. */
export interface OrderKey {
  readonly direction: Direction
  /** Compares two values that are not null. */
  compare(left: unknown, right: unknown): number | undefined
}

/** The rows to keep. */
export interface SelectionRequest<Row> {
  readonly keys: readonly OrderKey[]
  /** Number of rows before the first to return. */
  readonly offset: number
  /** Maximum number of rows to return. */
  readonly limit: number
  readonly meter: BudgetMeter
  /** Estimated bytes of a row. */
  sizeOf(row: Row): number
}

/** The first rows of those added so far. */
export interface Selection<Row> {
  /** Adds a row with its values in the order of the keys. Rows with equal values stay in the order in which they are added. */
  add(row: Row, values: readonly unknown[]): void
  /** True if a row with these values, added next, would be kept. */
  keeps(values: readonly unknown[]): boolean
  /** Returns the rows from the offset, in order. Yields to the event loop. Nothing can be added after it. */
  take(): Promise<Row[]>
}

interface Entry<Row> {
  readonly row: Row
  readonly values: readonly unknown[]
  readonly place: number
  readonly bytes: number
}

/** Estimated bytes of an entry without its row. Its values are those of the row. */
const ENTRY_BYTES = 96

/** Rows taken between two checks of the clock. */
const STRIDE = 64

/** Creates an empty selection: a heap with the last row of those kept at its root. */
export function createSelection<Row>({ keys, offset, limit, meter, sizeOf }: SelectionRequest<Row>): Selection<Row> {
  const size = offset + limit
  const heap: Entry<Row>[] = []
  let added = 0
  const compareValues = (one: readonly unknown[], other: readonly unknown[]): number => {
    for (let i = 0; i < keys.length; i++) {
      const order = compareBy(required(keys[i]), one[i], other[i])
      if (order !== 0) return order
    }
    return 0
  }
  const compare = (one: Entry<Row>, other: Entry<Row>): number =>
    compareValues(one.values, other.values) || one.place - other.place
  /** Of equal rows, one that is added later comes later. */
  const keeps = (values: readonly unknown[]): boolean =>
    heap.length < size || (heap[0] !== undefined && compareValues(values, heap[0].values) < 0)
  return {
    keeps,
    add(row, values) {
      const place = added++
      if (!keeps(values)) return
      const last = heap[0]
      const entry = { row, values, place, bytes: ENTRY_BYTES + sizeOf(row) }
      meter.addBytes(entry.bytes)
      if (heap.length < size) {
        heap.push(entry)
        rise(heap, compare)
      } else {
        meter.addBytes(-required(last).bytes)
        heap[0] = entry
        sink(heap, compare)
      }
    },
    async take() {
      const rows: Row[] = []
      while (heap.length > offset) {
        rows.push(required(heap[0]).row)
        const end = required(heap.pop())
        if (heap.length > 0) {
          heap[0] = end
          sink(heap, compare)
        }
        if (rows.length % STRIDE === 0 && meter.shouldYield()) await meter.yield()
      }
      return rows.reverse()
    },
  }
}

/** Null is behind every value in rising order, as in PostgreSQL. */
function compareBy({ direction, compare }: OrderKey, left: unknown, right: unknown): number {
  const order = left === null || right === null ? Number(left === null) - Number(right === null) : (compare(left, right) ?? 0)
  return direction === 'asc' ? order : -order
}

type Compare<Item> = (one: Item, other: Item) => number

/** Moves the last item up to its place. */
function rise<Item>(heap: Item[], compare: Compare<Item>): void {
  let index = heap.length - 1
  const item = required(heap[index])
  while (index > 0) {
    const above = (index - 1) >> 1
    const parent = required(heap[above])
    if (compare(item, parent) <= 0) break
    heap[index] = parent
    index = above
  }
  heap[index] = item
}

/** Moves the first item down to its place. */
function sink<Item>(heap: Item[], compare: Compare<Item>): void {
  const item = required(heap[0])
  let index = 0
  for (;;) {
    let below = index * 2 + 1
    if (below >= heap.length) break
    if (below + 1 < heap.length && compare(required(heap[below + 1]), required(heap[below])) > 0) below++
    const child = required(heap[below])
    if (compare(item, child) >= 0) break
    heap[index] = child
    index = below
  }
  heap[index] = item
}
