/** Aggregates from sealed indexes, without reading a row. */
import { intersection, VALUES } from '../index-runs/key-ranges.ts'
import { isWholeKey, valueOfKey } from '../index-runs/order-key.ts'
import type { Cell } from '../ports/storage.ts'
import type { IndexReader } from '../sealed-index/read-index.ts'
import { resultsOfCells } from '../sql/aggregate.ts'
import type { OrderedKeys } from '../sql/candidates.ts'
import type { AggregateOutput } from '../sql/query.ts'
import { append, at } from '../util/lists.ts'
import type { JsonValue } from '../values/column-type.ts'

/** Returns the results of aggregates, each of the rows that its candidates are; undefined if rows must be read: a value is longer than its key, or an index has too many parts. */
export async function totalsOfIndexes(
  indexes: IndexReader,
  candidates: readonly OrderedKeys[],
  aggregates: readonly AggregateOutput[],
): Promise<JsonValue[] | undefined> {
  const cells: Cell[] = []
  for (const [place, aggregate] of aggregates.entries()) {
    const one = at(candidates, place)
    if ((await indexes.estimate(one.index.objectId, one.ranges)).most === Number.POSITIVE_INFINITY) return undefined
    const computed = await cellsOf(indexes, one, aggregate)
    if (computed === undefined) return undefined
    append(cells, computed)
  }
  return resultsOfCells(aggregates, cells)
}

/** Returns the cells that a storage would compute for an aggregate. */
async function cellsOf(
  indexes: IndexReader,
  one: OrderedKeys,
  { name, ref }: AggregateOutput,
): Promise<readonly Cell[] | undefined> {
  const found = ref === undefined ? one : { ...one, ranges: intersection(one.ranges, VALUES) }
  if (name === 'min' || name === 'max') return extremeOf(indexes, found, name === 'min' ? 'up' : 'down')
  const { count, sum } = await indexes.totals(found.index.objectId, found.ranges, name !== 'count')
  if (name === 'count') return [count]
  const cell = count === 0 ? null : sum
  return name === 'sum' ? [cell] : [cell, count]
}

/** Returns the first value in a direction; undefined if its key is cut. */
async function extremeOf(
  indexes: IndexReader,
  { column: { type }, index, ranges }: OrderedKeys,
  direction: 'up' | 'down',
): Promise<readonly Cell[] | undefined> {
  const key = await indexes.firstKey(index.objectId, ranges, direction)
  if (key === undefined) return [null]
  return isWholeKey(key) ? [type.toCell(valueOfKey(type, key))] : undefined
}
