/** Aggregates: the types they take, and their results, computed value by value or converted from what storage computed. */
import { say, VaultError, words } from '../errors.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { WholeSum } from '../index-runs/whole-sum.ts'
import type { Aggregate, Cell } from '../ports/storage.ts'
import { plainValue } from '../schema/column-layout.ts'
import { unreachable } from '../util/causes.ts'
import { at, required } from '../util/lists.ts'
import { createShardedMap } from '../util/sharded-map.ts'
import { type JsonValue, toSafeNumber } from '../values/column-type.ts'
import { type AnyColumnType, columnTypes } from '../values/column-types.ts'
import { createExactSum, nearestDouble } from './exact-sum.ts'
import type { AggregateOutput, Outputs } from './query.ts'
import type { AggregateName } from './select.ts'

/** Adds values one by one and returns one result. */
export interface Accumulator {
  /** Adds the value of one row. Null is ignored. */
  add(value: unknown): void
  /** Returns the aggregate of all values so far. Throws a `range` error if it overflows a double. */
  result(): JsonValue
}

/**
 * Creates the accumulator of an aggregate. For COUNT(*) the caller adds any value that is not null. `keep` is called with each value that is kept
 * until the end: those of COUNT(DISTINCT column).
 */
export function createAccumulator(output: AggregateOutput, keep: (value: unknown) => void): Accumulator {
  const type = typeOf(output)
  switch (output.name) {
    case 'count':
      return output.isDistinct ? createDistinctCount(keep) : createCount()
    case 'min':
      return createExtreme(type, -1)
    case 'max':
      return createExtreme(type, 1)
    case 'sum':
    case 'avg':
      return createSum(output)
    default:
      return unreachable(output.name)
  }
}

/** The aggregates that storage computes in place of these, in order, or undefined if it cannot compute all of them. */
export function storageAggregates({
  aggregates,
}: Extract<Outputs, { readonly kind: 'totals' }>): readonly Aggregate[] | undefined {
  const inStorage = aggregates.map(partsOf)
  return inStorage.every((parts) => parts !== undefined) ? inStorage.flat() : undefined
}

/** What storage computes for one aggregate: a mean is a sum and a count. */
function partsOf({ name, ref, isDistinct }: AggregateOutput): readonly Aggregate[] | undefined {
  const column = ref?.column
  if (isDistinct) return undefined
  if (name === 'count' && column === undefined) return [{ kind: 'count' }]
  // A column has a digest exactly when it has a value, so counting digests counts values.
  const storageColumn = column?.plain ?? (name === 'count' ? column?.digest : undefined)
  if (column === undefined || storageColumn === undefined) return undefined
  if (name !== 'sum' && name !== 'avg') return [{ kind: name, column: storageColumn }]
  // Engines round a sum of doubles after each value, so that it depends on their order.
  if (column.type.scale === undefined) return undefined
  const sum = { kind: 'sum', column: storageColumn } as const
  return name === 'sum' ? [sum] : [sum, { kind: 'count', column: storageColumn }]
}

/** Converts the cells that storage computed, in the order of `storageAggregates`, to the results of the aggregates. */
export function resultsOfCells(aggregates: readonly AggregateOutput[], cells: readonly Cell[]): JsonValue[] {
  let next = 0
  return aggregates.map((output) => {
    const cell = at(cells, next++)
    return output.name === 'avg' ? meanOfCells(output, cell, at(cells, next++)) : resultOfCell(output, cell)
  })
}

function resultOfCell(output: AggregateOutput, cell: Cell): JsonValue {
  if (cell === null) return null
  if (output.name === 'count') return Number(numeric(cell))
  if (output.name === 'sum') return sumOf(output, BigInt(numeric(cell)))
  const column = required(output.ref?.column, 'The column of an aggregate')
  return column.type.toJson(plainValue(column, cell))
}

function meanOfCells(output: AggregateOutput, sum: Cell, count: Cell): JsonValue {
  return sum === null || count === null ? null : meanOf(output, BigInt(numeric(sum)), numeric(count))
}

/** The double nearest to a mean of exact numbers. `sum` is that of their trusted forms, without a point. */
function meanOf(output: AggregateOutput, sum: bigint, count: number | bigint): JsonValue {
  return doubleOf(output, nearestDouble(sum, BigInt(count) * 10n ** BigInt(typeOf(output).scale ?? 0)))
}

/** The type of the argument. The record id is STRING. */
function typeOf({ ref }: AggregateOutput): AnyColumnType {
  return ref?.column?.type ?? columnTypes.STRING
}

function createCount(): Accumulator {
  let count = 0
  return {
    add(value) {
      if (value !== null) count++
    },
    result: () => count,
  }
}

/** Trusted values have one form each, so equal ones are equal keys. */
function createDistinctCount(keep: (value: unknown) => void): Accumulator {
  const values = createShardedMap<unknown, true>()
  return {
    add(value) {
      if (value === null || values.get(value) !== undefined) return
      keep(value)
      values.set(value, true)
    },
    result: () => values.size(),
  }
}

function createExtreme(type: AnyColumnType, sign: 1 | -1): Accumulator {
  let best: unknown = null
  return {
    add(value) {
      if (value === null) return
      if (best === null || (type.compare(value, best) ?? 0) * sign > 0) best = value
    },
    result: () => (best === null ? null : type.toJson(best)),
  }
}

/** A sum of INTEGER or DECIMAL is exact at any size. One of FLOAT, and every mean, is rounded once, at the end. */
function createSum(output: AggregateOutput): Accumulator {
  return typeOf(output).scale === undefined ? createFloatSum(output) : createIntegerSum(output)
}

function createIntegerSum(output: AggregateOutput): Accumulator {
  const sum = new WholeSum()
  let count = 0
  return {
    add(value) {
      if (typeof value !== 'number' && typeof value !== 'bigint') return
      count++
      sum.add(value)
    },
    result() {
      if (count === 0) return null
      return output.name === 'avg' ? meanOf(output, sum.total, count) : sumOf(output, sum.total)
    },
  }
}

function createFloatSum(output: AggregateOutput): Accumulator {
  const sum = createExactSum()
  let count = 0
  return {
    add(value) {
      if (typeof value !== 'number') return
      count++
      sum.add(value)
    },
    result: () => (count === 0 ? null : doubleOf(output, sum.dividedBy(output.name === 'avg' ? count : 1))),
  }
}

/** The sum of exact numbers as their type has it in JSON, at any size. `sum` is that of their trusted forms. */
function sumOf(output: AggregateOutput, sum: bigint): JsonValue {
  return typeOf(output).toJson(toSafeNumber(sum))
}

function doubleOf({ name, at }: AggregateOutput, value: number): JsonValue {
  if (Number.isFinite(value)) return value
  throw new LanguageError('range', say`${words(name.toUpperCase())} of this column overflows FLOAT.`, at)
}

/** How the results of an aggregate order. */
export interface ResultOrder {
  /** Returns what a result is compared as; null for null. */
  keyOf(result: JsonValue): unknown
  /** Compares two of these that are not null. */
  compare(left: unknown, right: unknown): number | undefined
}

/** Returns how the results of an aggregate order: an extreme as values of its type, all others as numbers, without a loss of digits. */
export function resultOrder(output: AggregateOutput): ResultOrder {
  const type = typeOf(output)
  if (output.name === 'min' || output.name === 'max')
    return {
      keyOf: (result) => (result === null ? null : type.parse(result)),
      compare: (left, right) => type.compare(left, right),
    }
  return {
    // Texts are the digits of exact sums, all of one scale.
    keyOf: (result) => (typeof result === 'string' ? BigInt(result.replace('.', '')) : result),
    compare: (left, right) => compareNumbers(left as number | bigint, right as number | bigint), // They are of `keyOf`.
  }
}

function compareNumbers(left: number | bigint, right: number | bigint): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function numeric(cell: Exclude<Cell, null>): number | bigint {
  if (typeof cell === 'number' || typeof cell === 'bigint') return cell
  throw new VaultError('internal', 'Storage returned a numeric aggregate that is not a number.')
}

/** The rules of one aggregate. */
export interface AggregateRule {
  /** Returns whether it takes values of a type; undefined for every type. */
  readonly accepts: ((type: AnyColumnType) => boolean) | undefined
  /** True if the result depends on the values, not only on how many there are. */
  readonly readsValues: boolean
}

const NUMBERS: AggregateRule = { accepts: ({ isSummable }) => isSummable, readsValues: true }
const ORDERED: AggregateRule = { accepts: ({ isOrdered }) => isOrdered, readsValues: true }

/** The rules by aggregate. */
export const AGGREGATE_RULES: Readonly<Record<AggregateName, AggregateRule>> = {
  sum: NUMBERS,
  avg: NUMBERS,
  min: ORDERED,
  max: ORDERED,
  count: { accepts: undefined, readsValues: false },
}

/** The rule of COUNT(DISTINCT column), of which the values matter. */
export const DISTINCT_RULE: AggregateRule = { accepts: ({ comparesAs }) => comparesAs !== undefined, readsValues: true }
