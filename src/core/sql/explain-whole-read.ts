/** Why storage reads every row of a table: which condition no index finds. */
import type { ColumnRef, Condition, Term } from '../expressions/condition.ts'
import { unreachable } from '../util/causes.ts'
import { isFoundByIndex } from './candidates.ts'
import type { SourcePlan } from './plan.ts'

/** Returns the reason in a few words; undefined if an index finds the rows. It contains names of columns and no value. */
export function explainWholeRead({ filter, conditions, candidates, isConditional, source }: SourcePlan): string | undefined {
  if (candidates.length > 0 || isFoundByIndex(filter, source.table)) return undefined
  for (const condition of conditions) {
    const reason = reasonOf(condition)
    if (reason !== undefined) return reason
  }
  return isConditional ? 'no index finds what the policy allows' : 'no condition on this table alone'
}

/** Why no index finds the rows in which a condition is true; undefined if one does, or if the condition is constant. */
function reasonOf(condition: Condition): string | undefined {
  switch (condition.kind) {
    case 'truth':
      return undefined
    case 'and':
      return firstReason(condition.conditions)
    case 'or': {
      const reason = firstReason(condition.conditions)
      return reason === undefined ? undefined : `${reason}, in an OR`
    }
    case 'not': {
      const { condition: negated } = condition
      // `a <= b` is NOT of `a > b`.
      const isOrder = negated.kind === 'compare' && negated.operator !== '='
      return isOrder ? reasonOfComparison(negated) : 'no index finds what NOT leaves'
    }
    case 'compare':
      return reasonOfComparison(condition)
    case 'like':
      return `no index finds the pattern of ${nameOf(condition.left, condition.right)}`
    case 'hasKey':
      return `no index finds the members of ${columnName(condition.ref)}`
    case 'isNull':
      return reasonOfColumn(condition.ref)
    default:
      return unreachable(condition)
  }
}

function firstReason(conditions: readonly Condition[]): string | undefined {
  for (const condition of conditions) {
    const reason = reasonOf(condition)
    if (reason !== undefined) return reason
  }
  return undefined
}

function reasonOfComparison({ operator, left, right }: Extract<Condition, { readonly kind: 'compare' }>): string | undefined {
  if (left.kind === 'cell' && right.kind === 'cell') return 'two of its columns are compared with each other'
  const ref = left.kind === 'cell' ? left.ref : right.kind === 'cell' ? right.ref : undefined
  if (ref === undefined) return undefined
  const { column } = ref
  const isOrdered = operator !== '='
  if (column === undefined) return isOrdered ? 'record ids are found by = only' : undefined
  if (isOrdered && column.plain === undefined && column.digest !== undefined)
    return `${column.name} is sealed: its digest is found by = only`
  const constant = left.kind === 'constant' ? left : right.kind === 'constant' ? right : undefined
  if (constant !== undefined && constant.type !== column.type) return `${column.name} is compared with a value of another type`
  return reasonOfColumn(ref)
}

function reasonOfColumn({ column }: ColumnRef): string | undefined {
  if (column === undefined || column.lookup !== undefined) return undefined
  return column.plain === undefined ? `${column.name} is sealed and has no digest` : `${column.name} has no index`
}

function nameOf(...terms: readonly Term[]): string {
  const [ref] = terms.flatMap((term) => (term.kind === 'cell' ? [term.ref] : []))
  return ref === undefined ? 'a literal' : columnName(ref)
}

function columnName({ column }: ColumnRef): string {
  return column?.name ?? 'the record id'
}
