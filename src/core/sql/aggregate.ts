/** Aggregates: computed value by value, or converted from what storage computed. */
import { say, VaultError, words } from '../errors.ts'
import { LanguageError } from '../expressions/language-error.ts'
import type { Aggregate, Cell } from '../ports/storage.ts'
import { plainValue } from '../schema/plain-value.ts'
import { required } from '../util/at.ts'
import { unreachable } from '../util/unreachable.ts'
import { toSafeNumber } from '../values/cells.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { AnyColumnType } from '../values/column-types.ts'
import { columnTypes } from '../values/column-types.ts'
import type { AggregateOutput, Outputs } from './query.ts'

/** Adds values one by one and returns one result. */
export interface Accumulator {
  /** Adds the value of one row. Null is ignored. */
  add(value: unknown): void
  /** Returns the aggregate of all values so far. Throws a `range` error if it overflows a double. */
  result(): JsonValue
}

/** Creates the accumulator of an aggregate. For COUNT(*) the caller adds any value that is not null. */
export function createAccumulator(output: AggregateOutput): Accumulator {
  const type = typeOf(output)
  switch (output.name) {
    case 'count':
      return createCount()
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

/** The aggregates that storage computes in place of these, or undefined if it cannot compute all of them. */
export function storageAggregates({
  aggregates,
}: Extract<Outputs, { readonly kind: 'totals' }>): readonly Aggregate[] | undefined {
  const inStorage = aggregates.flatMap(({ name, ref }): readonly Aggregate[] => {
    const column = ref?.column
    if (name === 'count' && column === undefined) return [{ kind: 'count' }]
    // A column has a digest exactly when it has a value, so counting digests counts values.
    const storageColumn = column?.plain ?? (name === 'count' ? column?.digest : undefined)
    return storageColumn === undefined ? [] : [{ kind: name, column: storageColumn }]
  })
  return inStorage.length === aggregates.length ? inStorage : undefined
}

/** Converts a cell that storage computed to the aggregate's result. */
export function resultOfCell(output: AggregateOutput, cell: Cell): JsonValue {
  if (cell === null) return null
  switch (output.name) {
    case 'min':
    case 'max': {
      const column = required(output.ref?.column, 'The column of an aggregate')
      return column.type.toJson(plainValue(column, cell))
    }
    case 'count':
    case 'sum':
      return toJsonNumber(output, numeric(cell))
    case 'avg':
      return toJsonNumber(output, Number(numeric(cell)))
    default:
      return unreachable(output.name)
  }
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

/** Sums of INTEGER are exact at any size; sums of FLOAT are doubles. AVG is the sum as a double, divided by the count. */
function createSum(output: AggregateOutput): Accumulator {
  let near = 0
  let far = 0n
  let count = 0
  const isWhole = typeOf(output).physical === 'integer'
  return {
    add(value) {
      if (typeof value !== 'number' && typeof value !== 'bigint') return
      count++
      const sum = typeof value === 'number' ? near + value : undefined
      if (sum !== undefined && (!isWhole || Number.isSafeInteger(sum))) near = sum
      else far += BigInt(value)
    },
    result() {
      if (count === 0) return null
      const sum = isWhole ? toSafeNumber(far + BigInt(near)) : near
      return toJsonNumber(output, output.name === 'avg' ? Number(sum) / count : sum)
    },
  }
}

/** A number in JSON. An integer beyond 2^53 becomes a string. */
function toJsonNumber({ name, at }: AggregateOutput, value: number | bigint): JsonValue {
  if (typeof value === 'bigint') {
    const near = toSafeNumber(value)
    return typeof near === 'number' ? near : near.toString()
  }
  if (Number.isFinite(value)) return value
  throw new LanguageError('range', say`${words(name.toUpperCase())} of this column overflows FLOAT.`, at)
}

function numeric(cell: Exclude<Cell, null>): number | bigint {
  if (typeof cell === 'number' || typeof cell === 'bigint') return cell
  throw new VaultError('internal', 'Storage returned a numeric aggregate that is not a number.')
}
