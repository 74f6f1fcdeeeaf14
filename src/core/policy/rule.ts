/** A statement that was checked against the schema, cut to one table: what access is computed from. */
import type { Condition } from '../expressions/condition.ts'
import type { AskedLevel, Level } from '../redaction/levels.ts'
import type { Column } from '../schema/layout.ts'
import type { ActionSet } from './actions.ts'
import type { Caller } from './caller.ts'
import type { Effect } from './statement.ts'

/** Which statement a rule comes from. */
export interface Origin {
  readonly role: string
  /** Number of the statement in its role, from 1. */
  readonly position: number
  /** The statement in one line. */
  readonly text: string
}

/** What one statement says about one table. */
export interface Rule {
  readonly origin: Origin
  readonly effect: Effect
  readonly actions: ActionSet
  /** The columns it is about, true at their positions. */
  readonly covers: readonly boolean[]
  readonly level: AskedLevel
  /** Undefined for a rule about every row. */
  readonly when: RuleCondition | undefined
}

/** The WHERE of a rule. */
export interface RuleCondition {
  /** Equal for conditions that are the same text: they are judged once. */
  readonly key: string
  /** True where the caller's context is asked. */
  readonly usesContext: boolean
  /** The condition with the values of a caller's context in place. */
  settle(context: Caller['context']): Condition
}

/** True when the rule says something of one of these actions on this column. */
export function speaksOf(rule: Rule, actions: ActionSet, column: Column): boolean {
  return (rule.actions & actions) !== 0 && rule.covers[column.position] === true
}

/** The level a rule that allows READ shows of a column. */
export function levelBy(rule: Rule, column: Column): Level {
  return rule.level === 'DEFAULT' ? column.level : rule.level
}

/** Conditional rules a table can have over all roles: each is one bit of a row's verdict. */
export const MOST_CONDITIONAL_RULES = 30
