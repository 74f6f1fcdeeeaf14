/** The part of a checked statement that concerns one table, with its WHERE. Access is computed from these rules. */
import { say } from '../errors.ts'
import { type ColumnIdentifier, type Expression, type Operand, predicatesIn } from '../expressions/ast.ts'
import type { ColumnRef, Condition } from '../expressions/condition.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { foldName } from '../expressions/lexer.ts'
import { type ContextValue, UNUSABLE } from '../expressions/resolve-comparison.ts'
import { resolveExpression } from '../expressions/resolve-expression.ts'
import type { Redaction, RedactionLevel } from '../redaction.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { unreachable } from '../util/causes.ts'
import type { Caller } from './caller.ts'
import { type ActionSet, type Effect, refuseText, type Target, type Where } from './statement.ts'

/** The statement that a rule comes from. */
export interface StatementOrigin {
  readonly role: string
  /** Number of the statement in its role, from 1. */
  readonly position: number
  /** The statement in one line. */
  readonly text: string
}

/** What one statement says about one table. */
export interface Rule {
  readonly origin: StatementOrigin
  /** The tables and columns that the statement names as its targets, in whatever table. */
  readonly targets: readonly Pick<Target, 'table' | 'column'>[]
  readonly effect: Effect
  readonly actions: ActionSet
  /** True at the position of each column that the rule covers. */
  readonly covers: readonly boolean[]
  readonly level: Redaction
  /** Undefined for a rule that applies to every row. */
  readonly when: RuleCondition | undefined
}

/** The WHERE of a rule. */
export interface RuleCondition {
  /** The text of the condition. Conditions with the same text are evaluated once. */
  readonly key: string
  /** The attributes of the caller's context that the condition uses, in lower case. */
  readonly contextNames: readonly string[]
  /** The columns that the condition names. */
  readonly columns: readonly Column[]
  /** Sealed columns that must be opened to decide the condition in a row: how long that takes can show their values. */
  readonly opened: readonly Column[]
  /** Returns the condition with the values of a caller's context. */
  bind(context: Caller['context']): Condition
}

/** True if the rule covers one of these actions on this column. */
export function appliesTo(rule: Rule, actions: ActionSet, column: Column): boolean {
  return (rule.actions & actions) !== 0 && rule.covers[column.position] === true
}

/** The level that a rule allowing READ shows of a column. */
export function levelBy(rule: Rule, column: Column): RedactionLevel {
  return rule.level === 'DEFAULT' ? column.level : rule.level
}

/** Maximum number of conditional rules per table over all roles: each takes one bit of a 32-bit integer. */
export const MAX_CONDITIONAL_RULES = 30

/**
 * Checks the condition. Throws the code of the error's kind: `invalid_request` for unknown names, `unprocessable` for types that do not
 * match.
 */
export function ruleConditionOf(table: Table, { location, text, expression }: Where, effect: Effect): RuleCondition {
  const named = new Set<Column>()
  const column = (name: ColumnIdentifier) => {
    const ref = columnIn(table, name)
    if (ref.column !== undefined) named.add(ref.column)
    return ref
  }
  try {
    const used = new Set<string>()
    const context = (name: string) => void used.add(name)
    const withoutContext = resolveExpression(expression, { column, context })
    assertOwnPatterns(expression)
    const opened = [...new Set(openedIn(table, expression, effect === 'ALLOW'))]
    const contextNames = [...used]
    const columns = [...named]
    if (contextNames.length === 0) return { key: text, contextNames, columns, opened, bind: () => withoutContext }
    return {
      key: text,
      contextNames,
      columns,
      opened,
      bind: (attributes) => resolveExpression(expression, { column, context: contextByName(attributes) }),
    }
  } catch (error) {
    if (error instanceof LanguageError) throw refuseText(location, error)
    throw error
  }
}

/**
 * Finds context attributes by the lower-case names of a condition. Two attributes that differ only in case, a list and an object are
 * unusable: no condition on them is true or false.
 */
function contextByName(attributes: Caller['context']): (name: string) => ContextValue | typeof UNUSABLE | undefined {
  const entries = Object.entries(attributes ?? {})
  return (name) => {
    const found = entries.filter(([given]) => foldName(given) === name)
    const [only, other] = found
    if (only === undefined) return undefined
    const [, value] = only
    return other !== undefined || typeof value === 'object' ? UNUSABLE : value
  }
}

/**
 * Returns the sealed columns that storage cannot compare where the condition is to be `wanted`. It finds rows by a digest only for the equality of
 * a searchable column with a value, and not those without that value.
 */
function openedIn(table: Table, expression: Expression, wanted: boolean): Column[] {
  const columnsIn = (operands: readonly Operand[]): Column[] =>
    operands.flatMap((operand) => {
      const isColumn = operand.kind === 'column' && operand.table !== 'ctx'
      return isColumn ? (columnIn(table, operand).column ?? []) : []
    })
  const sealed = (operands: readonly Operand[]): Column[] => columnsIn(operands).filter(({ plain }) => plain === undefined)
  switch (expression.kind) {
    case 'and':
    case 'or':
      return expression.operands.flatMap((operand) => openedIn(table, operand, wanted))
    case 'not':
      return openedIn(table, expression.operand, !wanted)
    case 'compare': {
      const [one, other] = columnsIn([expression.left, expression.right])
      const isFound = expression.operator === '=' && wanted && other === undefined && one?.digest !== undefined
      return isFound ? [] : sealed([expression.left, expression.right])
    }
    case 'like':
      return sealed([expression.left, expression.right])
    case 'isNull':
      return sealed([expression.operand]).filter(({ digest }) => digest === undefined)
    case 'hasKey':
      return sealed([expression.operand])
    case 'truth':
      return []
    default:
      return unreachable(expression)
  }
}

function columnIn(table: Table, { table: qualifier, name, at }: ColumnIdentifier): ColumnRef {
  if (qualifier !== undefined && qualifier !== table.name) {
    throw new LanguageError('name', say`The condition is about table ${table.name}. Expected a column of it, or ctx.<name>.`, at)
  }
  const column = table.byName.get(name)
  if (column !== undefined) return { source: 0, column }
  throw new LanguageError('name', say`Column ${name} of table ${table.name} does not exist. Expected a column of it.`, at)
}

/** A pattern read from a row can be invalid. The row's access would then be undefined, so such patterns are rejected. */
function assertOwnPatterns(expression: Expression): void {
  for (const predicate of predicatesIn(expression)) {
    if (predicate.kind !== 'like' || predicate.right.kind !== 'column' || predicate.right.table === 'ctx') continue
    throw new LanguageError(
      'rule',
      say`A LIKE pattern in a policy cannot be a column. Expected a string, or ctx.<name>.`,
      predicate.right.at,
    )
  }
}
