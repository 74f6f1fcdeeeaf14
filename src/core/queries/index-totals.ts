/** Aggregates of a column from its sealed index, without reading a row. */
import { intersection, type KeyRanges, VALUES } from '../index-runs/key-ranges.ts'
import { isWholeKey, valueOfKey } from '../index-runs/order-key.ts'
import type { Cell } from '../ports/storage.ts'
import type { IndexReader } from '../sealed-index/read-index.ts'
import { resultsOfCells } from '../sql/aggregate.ts'
import type { Candidates } from '../sql/candidates.ts'
import type { AggregateOutput } from '../sql/query.ts'
import type { JsonValue } from '../values/column-type.ts'

/** Thrown for a value whose key is cut. */
const CUT = Symbol('a key is cut')

/** Returns the results of aggregates of the rows in these ranges; undefined if a value is longer than its key, so that its row must be read. */
export async function totalsOfIndex(
  indexes: IndexReader,
  { column, index, ranges }: Candidates,
  aggregates: readonly AggregateOutput[],
): Promise<JsonValue[] | undefined> {
  const values = intersection(ranges, VALUES)

  async function total(of: KeyRanges, sums: boolean): Promise<{ readonly count: number; readonly sum: bigint }> {
    const totals = { count: 0, sum: 0n }
    for (const range of of) {
      const { count, sum } = await indexes.totals(index.objectId, range, sums)
      totals.count += count
      totals.sum += sum
    }
    return totals
  }

  async function extreme(direction: 'up' | 'down'): Promise<Cell> {
    for (const range of direction === 'up' ? values : values.toReversed()) {
      for await (const { key } of indexes.walk(index.objectId, range, direction)) {
        if (!isWholeKey(key)) throw CUT
        return column.type.toCell(valueOfKey(column.type, key))
      }
    }
    return null
  }

  /** Returns the cells that a storage would compute. */
  async function cellsOf({ name, ref }: AggregateOutput): Promise<readonly Cell[]> {
    if (name === 'min' || name === 'max') return [await extreme(name === 'min' ? 'up' : 'down')]
    const { count, sum } = await total(ref === undefined ? ranges : values, name !== 'count')
    if (name === 'count') return [count]
    const cell = count === 0 ? null : sum
    return name === 'sum' ? [cell] : [cell, count]
  }

  const cells: Cell[] = []
  try {
    for (const aggregate of aggregates) cells.push(...(await cellsOf(aggregate)))
  } catch (error) {
    if (error === CUT) return undefined
    throw error
  }
  return resultsOfCells(aggregates, cells)
}
