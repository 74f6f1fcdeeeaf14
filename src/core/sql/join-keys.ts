/** Equalities in join conditions, and the keys of the values that they compare. */
import type { ColumnRef, Condition } from '../expressions/condition.ts'

/** `left = right`: `right` belongs to the joined table, `left` to a table before it. */
export interface JoinEquality {
  readonly left: ColumnRef
  readonly right: ColumnRef
}

/** The equalities among these conditions between source `joined` and the sources before it. */
export function joinEqualities(conditions: readonly Condition[], joined: number): JoinEquality[] {
  return conditions.flatMap((condition) => {
    if (condition.kind !== 'compare' || condition.operator !== '=') return []
    const { left, right } = condition
    if (left.kind !== 'cell' || right.kind !== 'cell') return []
    if (right.ref.source === joined && left.ref.source < joined) return [{ left: left.ref, right: right.ref }]
    if (left.ref.source === joined && right.ref.source < joined) return [{ left: right.ref, right: left.ref }]
    return []
  })
}

/** The key of a row in a join index. Equal values have equal keys, and different values can have equal keys. */
export type JoinKey = string | number | boolean

/** The key of these values, or undefined if one of them is null: null equals nothing. */
export function joinKey(values: readonly unknown[]): JoinKey | undefined {
  const keys: JoinKey[] = []
  for (const value of values) {
    const key = keyOfValue(value)
    if (key === undefined) return undefined
    keys.push(key)
  }
  const [only] = keys
  return keys.length === 1 ? only : JSON.stringify(keys)
}

/** The key of an INTEGER is the nearest double, so that it finds the FLOAT that it equals. */
function keyOfValue(value: unknown): JoinKey | undefined {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value
    case 'bigint':
      return Number(value)
    default:
      return undefined
  }
}
