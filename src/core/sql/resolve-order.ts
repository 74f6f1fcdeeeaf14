/** Resolves ORDER BY: to columns that order rows, or to columns and aggregates that order groups. */
import { say } from '../errors.ts'
import type { ColumnIdentifier } from '../expressions/ast.ts'
import { type ColumnRef, isSameRef } from '../expressions/condition.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { familyOf } from '../expressions/resolve-comparison.ts'
import { assertReadable, type ColumnUses, useColumn, useRef } from './column-uses.ts'
import {
  type AggregateOutput,
  type GroupOrderTerm,
  isAggregate,
  type OrderTerm,
  type Outputs,
  type ValueOutput,
} from './query.ts'
import { findColumn } from './scope.ts'
import type { AggregateCall, OrderBy } from './select.ts'

/**
 * Resolves the order of rows. Ordering by a column needs what comparing it by `<` needs: the order of masked values shows more than their
 * masks. Throws a `name`, `level`, `type` or `rule` error.
 */
export function resolveRowOrder(
  orderBy: readonly OrderBy[],
  values: readonly ValueOutput[],
  columnUses: ColumnUses,
): readonly OrderTerm[] {
  return orderBy.map(({ by, direction, at }) => {
    if (isCall(by))
      throw new LanguageError('rule', say`An aggregate orders groups, and this query returns rows. Add GROUP BY.`, at)
    const output = outputOf(by, values)
    return { ref: orderColumn(by, output?.ref, columnUses), direction }
  })
}

/** Resolves the order of groups, by their columns and the aggregates of the result. Throws the same errors. */
export function resolveGroupOrder(
  orderBy: readonly OrderBy[],
  { by: grouped, items }: Pick<Extract<Outputs, { readonly kind: 'groups' }>, 'by' | 'items'>,
  columnUses: ColumnUses,
): readonly GroupOrderTerm[] {
  const aggregates = items.filter(isAggregate)
  return orderBy.map(({ by, direction, at }) => {
    if (isCall(by)) {
      const index = aggregates.findIndex(isOutputOf(by, columnUses))
      if (index >= 0) return { by: index, direction }
      throw new LanguageError('rule', say`Groups are ordered by an aggregate of the select list. Add this one there.`, at)
    }
    const output = outputOf(by, items)
    if (output !== undefined && isAggregate(output)) return { by: aggregates.indexOf(output), direction }
    const ref = orderColumn(by, output?.ref, columnUses)
    if (grouped.some((one) => isSameRef(one, ref))) return { by: ref, direction }
    throw new LanguageError('rule', say`Column ${by.name} is not in GROUP BY, so it does not order the result.`, at)
  })
}

function isCall(by: OrderBy['by']): by is AggregateCall {
  return !('kind' in by)
}

/** Returns the output that a name without a table means: its alias comes before a column, as in SQL. */
function outputOf<Output extends { readonly key: string }>(
  { table, name }: ColumnIdentifier,
  outputs: readonly Output[],
): Output | undefined {
  return table === undefined ? outputs.find(({ key }) => key === name) : undefined
}

function orderColumn(name: ColumnIdentifier, ofOutput: ColumnRef | undefined, columnUses: ColumnUses): ColumnRef {
  const ref =
    ofOutput === undefined ? useColumn(columnUses, name, 'order') : useRef(columnUses, ofOutput, { name, kind: 'order' })
  assertReadable(ref, name.at)
  familyOf({ ref, at: name.at })
  return ref
}

function isOutputOf({ name, column, isDistinct }: AggregateCall, { scope }: ColumnUses): (output: AggregateOutput) => boolean {
  const ref = column && findColumn(scope, column)
  return (output) =>
    output.name === name &&
    output.isDistinct === isDistinct &&
    (ref === undefined || output.ref === undefined ? ref === output.ref : isSameRef(ref, output.ref))
}
