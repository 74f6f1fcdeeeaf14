/** A condition with resolved names and types. It is evaluated on values, and converted to filters where storage can evaluate it. */
import type { Column } from '../schema/layout.ts'
import type { AnyColumnType } from '../values/column-types.ts'
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
 * exception: an INTEGER column is compared with a FLOAT constant if no integer equals it.
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
