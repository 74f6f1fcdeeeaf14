/** By what partners of a join are found: equalities of columns, and the keys their values are filed under. */
import type { ColumnRef, Condition } from '../expressions/condition.ts'

/** `left = right`, where `right` is of the table being joined and `left` of those before it. */
export interface EqualPair {
  readonly left: ColumnRef
  readonly right: ColumnRef
}

/** The equalities among these conditions that tie source `joined` to earlier ones. */
export function equalPairs(conditions: readonly Condition[], joined: number): EqualPair[] {
  return conditions.flatMap((condition) => {
    if (condition.kind !== 'compare' || condition.operator !== '=') return []
    const { left, right } = condition
    if (left.kind !== 'cell' || right.kind !== 'cell') return []
    if (right.ref.source === joined && left.ref.source < joined) return [{ left: left.ref, right: right.ref }]
    if (left.ref.source === joined && right.ref.source < joined) return [{ left: right.ref, right: left.ref }]
    return []
  })
}

/** What a row is filed under. Equal values have equal keys; so may some that differ, and a null has none. */
export type JoinKey = string | number | boolean

/** The key of these values, undefined where one of them is null: null equals nothing. */
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

/** An INTEGER is filed as the double nearest to it, so that it meets the FLOAT it equals. */
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
