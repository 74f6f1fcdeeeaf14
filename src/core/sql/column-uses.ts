/** Registers every use of a column in a query and checks that the caller's grants allow it, before any row is read. */

import { say, words } from '../errors.ts'
import { type ColumnIdentifier, type Expression, operandsOf, type Predicate, predicatesIn } from '../expressions/ast.ts'
import type { ColumnRef } from '../expressions/condition.ts'
import { LanguageError } from '../expressions/language-error.ts'
import type { Column } from '../schema/column-layout.ts'
import { unreachable } from '../util/causes.ts'
import type { Source, Use, UseKind } from './query.ts'
import { findColumn, type Scope, unknownQueryColumn } from './scope.ts'
import { possiblyPlainText } from './source-access.ts'

/** The uses registered so far, and the scope that resolves names. */
export interface ColumnUses {
  readonly uses: Use[]
  readonly scope: Scope
}

/** Registers one use of a column by name and returns the column. Throws a `name` or `level` error. */
export function useColumn(columnUses: ColumnUses, name: ColumnIdentifier, kind: UseKind): ColumnRef {
  return useRef(columnUses, findColumn(columnUses.scope, name), { name, kind })
}

/** Registers one use of a column that `name` means, which can be an alias. Throws a `name` or `level` error. */
export function useRef({ uses, scope }: ColumnUses, ref: ColumnRef, { name, kind }: NamedUse): ColumnRef {
  const source = scope.sources[ref.source]
  if (ref.column !== undefined && source !== undefined) assertGranted(source, ref.column, { name, kind })
  uses.push({ kind, ref })
  return ref
}

/** Throws a `rule` error for a transient column: its values are not stored in the row. */
export function assertReadable({ column }: ColumnRef, at: number): void {
  if (column?.token?.expires !== true) return
  throw new LanguageError('rule', say`Column ${column.name} is transient: its values are only read by detokenize.`, at)
}

interface NamedUse {
  readonly name: ColumnIdentifier
  readonly kind: UseKind
}

/** How an error names a use, where it is not the kind behind "an". */
const PHRASES: ReadonlyMap<UseKind, string> = new Map([
  ['comparison', 'a comparison'],
  ['order', 'ORDER BY'],
  ['group', 'GROUP BY'],
])

/** Registers every column of a condition. */
export function useConditionColumns(columnUses: ColumnUses, expression: Expression): void {
  for (const predicate of predicatesIn(expression)) {
    const kind = useIn(predicate)
    for (const operand of operandsOf(predicate)) if (operand.kind === 'column') useColumn(columnUses, operand, kind)
  }
}

function useIn(predicate: Predicate): UseKind {
  if (predicate.kind === 'isNull') return 'null test'
  return predicate.kind === 'compare' && predicate.operator === '=' ? 'equality' : 'comparison'
}

/**
 * Throws a `level` error for a column that the caller sees, but at too low a level. A column that the caller never sees gives the same
 * error as an unknown one.
 */
function assertGranted({ access }: Source, column: Column, { name, kind }: NamedUse): void {
  if (isGranted(access, column, kind)) return
  if (!access.possiblyVisible(column)) throw unknownQueryColumn(name)
  const needed = words(kind === 'equality' ? 'READ in plain text, or SEARCH' : 'READ in plain text')
  const use = words(PHRASES.get(kind) ?? `an ${kind}`)
  throw new LanguageError(
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
      return access.possiblyVisible(column)
    case 'equality':
      return access.possiblyAllows('SEARCH', column) || possiblyPlainText(access, column)
    case 'comparison':
    case 'aggregate':
    case 'order':
    case 'group':
      return possiblyPlainText(access, column)
    default:
      return unreachable(kind)
  }
}
