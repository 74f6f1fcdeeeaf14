/** A condition whose names and types are settled: what is evaluated on values, and turned into filters where an engine can decide. */
import type { Column } from '../schema/layout.ts'
import type { AnyColumnType } from '../values/column-types.ts'
import type { Comparator } from './ast.ts'

/** True, false, or unknown (undefined): the logic of SQL. */
export type Truth = boolean | undefined

/** A column of one of the sources (tables by place in FROM; a policy has the one source 0) a condition speaks of. */
export interface ColumnRef {
  readonly source: number
  /** Undefined for the record's public id, which is text. */
  readonly column: Column | undefined
}

/** The value of a column in the row at hand, null where there is none. For a column it is the type's trusted form, for the id a text. */
export type ValueOf = (ref: ColumnRef) => unknown

/** What a column is compared with: another column, or a constant in the trusted form of `type`. It is the column's own type, but that an INTEGER column may stand beside a FLOAT constant no integer equals. */
export type Term =
  | { readonly kind: 'cell'; readonly ref: ColumnRef }
  | { readonly kind: 'constant'; readonly value: unknown; readonly type: AnyColumnType }

/**
 * A settled condition. In `compare` and `like` both terms may be columns; a comparison with null is `truth` undefined
 * already. `and` and `or` of nothing are true and false.
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
