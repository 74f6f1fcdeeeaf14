/** Registers every use of a column in a query and checks that the caller's grants allow it, before any row is read. */

import { say, words } from '../errors.ts'
import type { ColumnName, Expression, Operand } from '../expressions/ast.ts'
import type { ColumnRef } from '../expressions/condition.ts'
import { TextFault } from '../expressions/text-fault.ts'
import type { Column } from '../schema/layout.ts'
import { unreachable } from '../util/unreachable.ts'
import type { Source, Use, UseKind } from './query.ts'
import type { Scope } from './scope.ts'
import { findColumn, unknownColumn } from './scope.ts'
import { couldShowPlain } from './source-access.ts'

/** The uses registered so far, and the scope that resolves names. */
export interface Claims {
  readonly uses: Use[]
  readonly scope: Scope
}

/** Registers one use of a column by name and returns the column. Throws a `name` or `level` error. */
export function claim({ uses, scope }: Claims, name: ColumnName, kind: UseKind): ColumnRef {
  const ref = findColumn(scope, name)
  const source = scope.sources[ref.source]
  if (ref.column !== undefined && source !== undefined) assertGranted(source, ref.column, { name, kind })
  uses.push({ kind, ref })
  return ref
}

/** Registers every column of a condition. */
export function claimCondition(claims: Claims, expression: Expression): void {
  const useAll = (kind: UseKind, ...operands: readonly Operand[]) => {
    for (const operand of operands) if (operand.kind === 'column') claim(claims, operand, kind)
  }
  switch (expression.kind) {
    case 'and':
    case 'or':
      for (const operand of expression.operands) claimCondition(claims, operand)
      break
    case 'not':
      claimCondition(claims, expression.operand)
      break
    case 'compare':
      useAll(expression.operator === '=' ? 'equality' : 'comparison', expression.left, expression.right)
      break
    case 'like':
      useAll('comparison', expression.left, expression.right)
      break
    case 'isNull':
      useAll('null test', expression.operand)
      break
    case 'hasKey':
      useAll('comparison', expression.operand, expression.key)
      break
    case 'truth':
      break
    default:
      unreachable(expression)
  }
}

/**
 * Throws a `level` error for a column that the caller sees, but at too low a level. A column that the caller never sees gives the same
 * error as an unknown one.
 */
function assertGranted(
  { access }: Source,
  column: Column,
  { name, kind }: { readonly name: ColumnName; readonly kind: UseKind },
): void {
  if (isGranted(access, column, kind)) return
  if (!access.couldSee(column)) throw unknownColumn(name)
  const needed = words(kind === 'equality' ? 'READ in plain text, or SEARCH' : 'READ in plain text')
  const use = words(kind === 'comparison' ? 'a comparison' : `an ${kind}`)
  throw new TextFault(
    'level',
    say`Column ${column.name} is used in ${use}, which requires ${needed}. Ask the vault owner for a role.`,
    name.at,
  )
}

function isGranted(access: Source['access'], column: Column, kind: UseKind): boolean {
  switch (kind) {
    case 'select':
    case 'select all':
    case 'null test':
    case 'count':
      return access.couldSee(column)
    case 'equality':
      return access.couldMay('SEARCH', column) || couldShowPlain(access, column)
    case 'comparison':
    case 'aggregate':
      return couldShowPlain(access, column)
    default:
      return unreachable(kind)
  }
}
