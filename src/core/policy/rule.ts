/** The part of a checked statement that concerns one table. Access is computed from these rules. */
import type { Condition } from '../expressions/condition.ts'
import type { Redaction, RedactionLevel } from '../redaction/levels.ts'
import type { Column } from '../schema/layout.ts'
import type { ActionSet } from './actions.ts'
import type { Caller } from './caller.ts'
import type { Effect } from './statement.ts'

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
  /** True if the condition uses the caller's context. */
  readonly usesContext: boolean
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
