/** Explains a policy: each column's decision and the statements behind it, for writing and testing policies. */
import { type Fault, fault, words } from '../errors.ts'
import type { ValueOf } from '../expressions/condition.ts'
import { compileCondition } from '../expressions/evaluate-condition.ts'
import type { RedactionLevel } from '../redaction.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { ValueError } from '../values/column-type.ts'
import { type Caller, purposeOf } from './caller.ts'
import type { Policy } from './compile-policy.ts'
import { rulesFor } from './create-access.ts'
import { appliesTo, type Rule } from './rule.ts'
import { ACTIONS, type Action, type ActionSet, actionSet, BITS, isAction } from './statement.ts'
import { appliesFor, createRowAccess, type RowAccess } from './table-access.ts'

/** Options of `explain`. */
export interface ExplainOptions {
  /** An example record with values as for an insert; absent columns are null. With it, no decision is CONDITIONAL. It is not stored. */
  readonly record?: Readonly<Record<string, unknown>>
}

/** The access to explain. */
export interface ExplainRequest extends ExplainOptions {
  readonly action: Action
  readonly table: Table
}

/** The decisions for one caller, one action and one table. */
export interface Explanation {
  readonly action: Action
  readonly table: string
  readonly columns: readonly ColumnExplanation[]
}

/** The decision for one column. */
export interface ColumnExplanation {
  readonly column: string
  /** CONDITIONAL if it depends on the row. */
  readonly decision: 'ALLOWED' | 'DENIED' | 'CONDITIONAL'
  /** The level that READ shows at least in every row; undefined if some row hides the column. */
  readonly level: RedactionLevel | undefined
  /** The highest level that READ shows in any row; undefined if every row hides the column. */
  readonly highestLevel: RedactionLevel | undefined
  /** `purpose`: the column requires one, and this caller states none, so that it is shown at REDACTED at most. Absent otherwise. */
  readonly lacks?: 'purpose'
  /** Every statement of the caller's roles that is relevant to the decision, whether it applies or not. */
  readonly statements: readonly StatementExplanation[]
}

/** One statement's part in a decision. */
export interface StatementExplanation {
  readonly role: string
  /** Number of the statement in its role, from 1. */
  readonly position: number
  /** The statement in one line. */
  readonly text: string
  /** NEVER if the condition cannot be true for this caller, as with an absent context attribute. SOMETIMES if the row decides. */
  readonly applies: 'ALWAYS' | 'SOMETIMES' | 'NEVER'
}

/**
 * Explains the access. Reads no stored data. Throws `invalid_request` for an unknown action or column, and `unprocessable` for a value that
 * is invalid for its column.
 */
export function explainAccess(policy: Policy, caller: Pick<Caller, 'roles' | 'context'>, request: ExplainRequest): Explanation {
  const { action, table, record } = request
  if (!isAction(action)) throw unknownAction(action)
  const evaluated = evaluateRules(policy, caller, table, record === undefined ? undefined : valuesOf(table, record))
  const columns = table.columns.map((column): ColumnExplanation => {
    return {
      column: column.name,
      ...decide(evaluated, action, column),
      statements: relevantRules(evaluated, action, column).map(({ rule, applies }) => ({ ...rule.origin, applies })),
    }
  })
  return { action, table: table.name, columns }
}

/** A rule, and whether it applies to rows. */
interface EvaluatedRule extends Pick<StatementExplanation, 'applies'> {
  readonly rule: Rule
}

/** The rules of a caller for one table, and what they grant in every row and at most in some row. */
export interface EvaluatedRules {
  readonly rules: readonly EvaluatedRule[]
  readonly worst: RowAccess
  readonly best: RowAccess
  readonly hasPurpose: boolean
}

/** Evaluates the rules of a caller for a table, by an example record if there is one. */
export function evaluateRules(
  policy: Policy,
  caller: Pick<Caller, 'roles' | 'context'>,
  table: Table,
  example?: ValueOf,
): EvaluatedRules {
  const own = rulesFor(policy, [...new Set(caller.roles)], table)
  const rules = own.map((rule) => ({ rule, applies: applicability(rule, caller, example) }))
  return evaluate(table, { rules, hasPurpose: purposeOf(caller) !== undefined })
}

/**
 * Evaluates the rules of a role for any caller: conditions on the context of a caller count as decided by the row. A caller without a purpose sees
 * less, of columns that require one: this is the most that the role gives.
 */
export function evaluateRole(policy: Policy, role: string, table: Table): EvaluatedRules {
  const rules = rulesFor(policy, [role], table).map((rule): EvaluatedRule => {
    const readsContext = rule.when !== undefined && rule.when.contextNames.length > 0
    return { rule, applies: readsContext ? 'SOMETIMES' : applicability(rule, {}, undefined) }
  })
  return evaluate(table, { rules, hasPurpose: true })
}

function evaluate(table: Table, { rules, hasPurpose }: Pick<EvaluatedRules, 'rules' | 'hasPurpose'>): EvaluatedRules {
  const sure = rules.filter(({ applies }) => applies === 'ALWAYS').map(({ rule }) => rule)
  const open = rules.filter(({ applies }) => applies === 'SOMETIMES').map(({ rule }) => rule)
  const worst = createRowAccess(table, [...sure, ...open.filter(({ effect }) => effect === 'DENY')], hasPurpose)
  const best = createRowAccess(table, [...sure, ...open.filter(({ effect }) => effect === 'ALLOW')], hasPurpose)
  return { rules, worst, best, hasPurpose }
}

/** Returns what rules decide about an action on a column, and what READ shows of it. */
export function decide(
  evaluated: EvaluatedRules,
  action: Action,
  column: Column,
): Omit<ColumnExplanation, 'column' | 'statements'> {
  const { worst, best, hasPurpose } = evaluated
  return {
    decision: decisionOn(evaluated, action, column),
    level: worst.level(column),
    highestLevel: best.level(column),
    ...(column.needsPurpose && !hasPurpose ? { lacks: 'purpose' as const } : {}),
  }
}

/** Returns whether rules grant an action on a column. */
export function decisionOn({ worst, best }: EvaluatedRules, action: Action, column: Column): ColumnExplanation['decision'] {
  if (worst.allows(action, column)) return 'ALLOWED'
  return best.allows(action, column) ? 'CONDITIONAL' : 'DENIED'
}

/** Returns those rules that matter for an action on a column, whether they apply or not. */
export function relevantRules({ rules }: EvaluatedRules, action: Action, column: Column): readonly EvaluatedRule[] {
  return rules.filter(({ rule }) => appliesTo(rule, actionsImplying(action, column), column))
}

/** The actions that can grant this one. READ in plain text implies SEARCH, and so does writing a unique column. */
function actionsImplying(action: Action, column: Column): ActionSet {
  if (action !== 'SEARCH') return BITS[action]
  return actionSet(column.unique ? ['SEARCH', 'READ', 'CREATE', 'UPDATE'] : ['SEARCH', 'READ'])
}

function applicability(
  rule: Rule,
  caller: Pick<Caller, 'context'>,
  example: ValueOf | undefined,
): StatementExplanation['applies'] {
  if (rule.when === undefined) return 'ALWAYS'
  const condition = rule.when.bind(caller.context)
  if (condition.kind === 'truth') return appliesFor(rule.effect, condition.truth) ? 'ALWAYS' : 'NEVER'
  if (example === undefined) return 'SOMETIMES'
  return appliesFor(rule.effect, compileCondition(condition)(example)) ? 'ALWAYS' : 'NEVER'
}

/** The example's values as a row would contain them. */
function valuesOf(table: Table, record: Readonly<Record<string, unknown>>): ValueOf {
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    throw fault('invalid_request')`record must be an object of values by column.`
  const values = new Map<Column, unknown>()
  for (const [name, input] of Object.entries(record)) {
    const column = table.byName.get(name)
    if (column === undefined) {
      throw fault('invalid_request', {
        table: table.name,
      })`Column ${name} of table ${table.name} is invalid. Specify a valid column.`
    }
    values.set(column, input === null || input === undefined ? null : valueIn(table, column, input))
  }
  return ({ column }) => (column === undefined ? null : (values.get(column) ?? null))
}

function valueIn(table: Table, column: Column, input: unknown): unknown {
  try {
    return column.type.parse(input)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    const details = { table: table.name, column: column.name }
    throw fault('unprocessable', details)`Column ${column.name} of table ${table.name} in record ${words(error.message)}.`
  }
}

function unknownAction(action: unknown): Fault {
  return fault(
    'invalid_request',
  )`Action ${typeof action === 'string' ? action : ''} is unknown. Supported: ${words(ACTIONS.join(', '))}.`
}
