/** A condition with resolved names and types: its form, its columns and conjuncts, and AND, OR and NOT of several. Values decide it, or filters where storage can. */
import type { Column } from '../schema/column-layout.ts'
import { unreachable } from '../util/causes.ts'
import { type AnyColumnType, columnTypes } from '../values/column-types.ts'
import type { Comparator } from './ast.ts'

/** True, false, or unknown (undefined), as in SQL. */
export type Truth = boolean | undefined

/** A column of one source. Sources are the tables of FROM by index, from 0. A policy has only source 0. */
export interface ColumnRef {
  readonly source: number
  /** Undefined for the record's public id, which is text. */
  readonly column: Column | undefined
}

/** Reads a column of the current row: the parsed value of its type, or null if it has none. The id is a string. */
export type ValueOf = (ref: ColumnRef) => unknown

/**
 * One side of a comparison: a column, or a constant that is a parsed value of `type`. The constant has the column's type, with one
 * exception: a column of exact numbers is compared with an infinite FLOAT if no number of its type is equivalent.
 */
export type Term =
  | { readonly kind: 'cell'; readonly ref: ColumnRef }
  | { readonly kind: 'constant'; readonly value: unknown; readonly type: AnyColumnType }

/**
 * A resolved condition. In `compare` and `like` both terms can be columns. A comparison with NULL is already `truth` with undefined. An
 * `and` of no conditions is true; an `or` of none is false.
 */
export type Condition =
  | { readonly kind: 'truth'; readonly truth: Truth }
  | { readonly kind: 'and'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'or'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }
  | { readonly kind: 'compare'; readonly operator: Comparator; readonly left: Term; readonly right: Term }
  | { readonly kind: 'like'; readonly ignoresCase: boolean; readonly left: Term; readonly right: Term }
  | { readonly kind: 'isNull'; readonly ref: ColumnRef }
  | { readonly kind: 'hasKey'; readonly ref: ColumnRef; readonly key: string }

/** The columns that a condition uses, without duplicates. */
export function columnsOf(condition: Condition): readonly ColumnRef[] {
  const found: ColumnRef[] = []
  eachRef(condition, (ref) => {
    if (!found.some((other) => isSameRef(ref, other))) found.push(ref)
  })
  return found
}

/** True for one column of one source. */
export function isSameRef(one: ColumnRef, other: ColumnRef): boolean {
  return one.source === other.source && one.column === other.column
}

/** The indexes of the sources that a condition uses. */
export function sourcesOf(condition: Condition): ReadonlySet<number> {
  const sources = new Set<number>()
  eachRef(condition, ({ source }) => sources.add(source))
  return sources
}

/** The operands of the outermost AND. The condition is true when all of them are. Empty if the condition is always true. */
export function splitConjuncts(condition: Condition): readonly Condition[] {
  if (condition.kind === 'and') return condition.conditions.flatMap(splitConjuncts)
  return condition.kind === 'truth' && condition.truth === true ? [] : [condition]
}

/** AND of conditions. The result is flat and simplified: one `false` makes it false, and `true` is left out. */
export function allOf(conditions: readonly Condition[]): Condition {
  return joined('and', conditions)
}

/** OR of conditions. The result is flat and simplified: one `true` makes it true, and `false` is left out. */
export function anyOf(conditions: readonly Condition[]): Condition {
  return joined('or', conditions)
}

/** NOT of a condition. */
export function negate(condition: Condition): Condition {
  if (condition.kind === 'not') return condition.condition
  if (condition.kind === 'truth') return truthOf(condition.truth === undefined ? undefined : !condition.truth)
  return { kind: 'not', condition }
}

/** A condition with a constant result. */
export function truthOf(truth: Truth): Condition {
  return { kind: 'truth', truth }
}

/** The type of a column. The record id has type STRING. */
export function typeOf({ column }: ColumnRef): AnyColumnType {
  return column?.type ?? columnTypes.STRING
}

/** A constant that decides the operator replaces the whole: false for AND, true for OR. The other constant is left out. */
function joined(kind: 'and' | 'or', conditions: readonly Condition[]): Condition {
  const [first, second] = conditions
  const neutral = kind === 'and'
  if (second === undefined) return first ?? truthOf(neutral)
  const parts: Condition[] = []
  let isUnknown = false
  for (const part of conditions.flatMap((condition) => (condition.kind === kind ? condition.conditions : [condition]))) {
    if (part.kind !== 'truth') parts.push(part)
    else if (part.truth === undefined) isUnknown = true
    else if (part.truth !== neutral) return part
  }
  if (isUnknown) parts.push(truthOf(undefined))
  const [only] = parts
  if (only === undefined) return truthOf(neutral)
  return parts.length === 1 ? only : { kind, conditions: parts }
}

function eachRef(condition: Condition, visit: (ref: ColumnRef) => void): void {
  switch (condition.kind) {
    case 'truth':
      break
    case 'and':
    case 'or':
      for (const part of condition.conditions) eachRef(part, visit)
      break
    case 'not':
      eachRef(condition.condition, visit)
      break
    case 'compare':
    case 'like':
      if (condition.left.kind === 'cell') visit(condition.left.ref)
      if (condition.right.kind === 'cell') visit(condition.right.ref)
      break
    case 'isNull':
    case 'hasKey':
      visit(condition.ref)
      break
    default:
      unreachable(condition)
  }
}

/** The operator to use when left and right are swapped. */
export const MIRRORED = { '=': '=', '<': '>', '>': '<' } as const

/** True if the operator is satisfied by two values whose comparison gave `order`: negative, zero or positive. */
export function satisfies(operator: Comparator, order: number): boolean {
  switch (operator) {
    case '=':
      return order === 0
    case '<':
      return order < 0
    case '>':
      return order > 0
    default:
      return unreachable(operator)
  }
}
