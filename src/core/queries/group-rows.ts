/** Groups rows that agree in some columns, with one accumulator for each aggregate of each group. */
import { type ColumnRef, typeOf } from '../expressions/condition.ts'
import { type Accumulator, createAccumulator, resultOrder } from '../sql/aggregate.ts'
import { type AggregateOutput, isAggregate, type Outputs } from '../sql/query.ts'
import { at } from '../util/lists.ts'
import { createShardedMap } from '../util/sharded-map.ts'
import type { BudgetMeter } from './budget-meter.ts'
import { createSelection, type SelectionRequest } from './order-rows.ts'
import { type ReadBuffered, sizeOfTuple, sizeOfValue, type Tuple } from './scanned-rows.ts'

/** The outputs of a query of groups. */
export type GroupOutputs = Extract<Outputs, { readonly kind: 'groups' }>

/** One group. */
export interface Group {
  /** Its first row, which has the values that all of them have. Each grants READ of them in plain text. */
  readonly tuple: Tuple
  /** In the order of the aggregates of the result. */
  readonly accumulators: readonly Accumulator[]
}

/** What grouping needs. */
interface Grouping {
  readonly meter: BudgetMeter
  readonly read: ReadBuffered
}

/** Estimated bytes of a group without its row, and of one accumulator. */
const GROUP_BYTES = 128
const ACCUMULATOR_BYTES = 160

/** Groups all rows. Groups are in the order of their first rows. */
export async function groupRows(
  batches: AsyncIterable<readonly Tuple[]>,
  { by, items }: Pick<GroupOutputs, 'by' | 'items'>,
  { meter, read }: Grouping,
): Promise<readonly Group[]> {
  const aggregates = items.filter(isAggregate)
  const groups: Group[] = []
  const known = createShardedMap<unknown, Group>()
  for await (const tuples of batches) {
    for (const tuple of tuples) {
      const key = keyOf(by.map((ref) => valueIn(tuple, ref, read)))
      let group = known.get(key)
      if (group === undefined) {
        meter.addBytes(GROUP_BYTES + ACCUMULATOR_BYTES * aggregates.length + sizeOfTuple(tuple))
        group = { tuple, accumulators: aggregates.map((output) => createAccumulator(output, charging(meter))) }
        known.set(key, group)
        groups.push(group)
      }
      addTo(group, aggregates, (ref) => valueIn(tuple, ref, read))
    }
  }
  return groups
}

/** Returns the groups of LIMIT and OFFSET. */
export async function orderGroups(
  groups: readonly Group[],
  { order, items }: Pick<GroupOutputs, 'order' | 'items'>,
  { offset, limit, meter, read }: Grouping & Pick<SelectionRequest<Group>, 'offset' | 'limit'>,
): Promise<readonly Group[]> {
  if (order.length === 0) return groups.slice(offset, offset + limit)
  const aggregates = items.filter(isAggregate)
  const terms = order.map(({ by, direction }) => {
    if (typeof by === 'object')
      return { direction, compare: typeOf(by).compare, keyIn: ({ tuple }: Group) => valueIn(tuple, by, read) }
    const { compare, keyOf: resultKey } = resultOrder(at(aggregates, by))
    return { direction, compare, keyIn: ({ accumulators }: Group) => resultKey(at(accumulators, by).result()) }
  })
  // The memory of the groups themselves is counted already.
  const selection = createSelection<Group>({ keys: terms, offset, limit, meter, sizeOf: () => 0 })
  for (const [index, group] of groups.entries()) {
    selection.add(
      group,
      terms.map(({ keyIn }) => keyIn(group)),
    )
    if (index % STRIDE === 0 && meter.shouldYield()) await meter.yield()
  }
  return selection.take()
}

/** Groups ordered between two checks of the clock. */
const STRIDE = 64

/** Estimated bytes of an entry of a set, without its value. */
const SET_ENTRY_BYTES = 48

/** Returns what adds the values that an accumulator keeps to the memory in use. */
export function charging(meter: BudgetMeter): (value: unknown) => void {
  return (value) => meter.addBytes(SET_ENTRY_BYTES + sizeOfValue(value))
}

function valueIn(tuple: Tuple, ref: ColumnRef, read: ReadBuffered): unknown {
  return read(tuple[ref.source], ref)
}

function addTo({ accumulators }: Group, aggregates: readonly AggregateOutput[], read: (ref: ColumnRef) => unknown): void {
  for (let i = 0; i < aggregates.length; i++) {
    const ref = aggregates[i]?.ref
    accumulators[i]?.add(ref === undefined ? true : read(ref))
  }
}

/** One key for equal values, and only for them. Trusted values have one form each; null is grouped with null. */
function keyOf(values: readonly unknown[]): unknown {
  if (values.length === 1) return values[0]
  // JSON has no bigint, and no list of values is a value itself.
  return JSON.stringify(values.map((value) => (typeof value === 'bigint' ? [String(value)] : value)))
}
