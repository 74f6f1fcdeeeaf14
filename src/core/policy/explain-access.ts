/** Why a caller may or may not: each column's decision and the statements behind it, for whoever writes policies and tests them. */
import { printableName, VaultError } from '../errors.ts'
import type { ValueOf } from '../expressions/condition.ts'
import { compileCondition } from '../expressions/evaluate-condition.ts'
import type { Level } from '../redaction/levels.ts'
import type { Column, Table } from '../schema/layout.ts'
import { ValueFault } from '../values/column-type.ts'
import type { Action, ActionSet } from './actions.ts'
import { ACTIONS, actionSet, bitOf, isAction } from './actions.ts'
import type { Caller } from './caller.ts'
import type { Policy } from './compile-policy.ts'
import { rulesFor } from './create-access.ts'
import { countsFor } from './create-table-access.ts'
import { createRowAccess } from './row-access.ts'
import type { Rule } from './rule.ts'
import { speaksOf } from './rule.ts'

/** What is to be explained. */
export interface Question {
  readonly action: Action
  readonly table: Table
  /** An example record, values as they would be inserted, absent ones null: with it nothing is left open. It is not stored. */
  readonly row?: Readonly<Record<string, unknown>>
}

/** What the policy says to one caller about one action on one table. */
export interface Explanation {
  readonly action: Action
  readonly table: string
  readonly columns: readonly ColumnExplanation[]
}

/** What it says about one column. */
export interface ColumnExplanation {
  readonly column: string
  /** CONDITIONAL where it depends on the row. */
  readonly decision: 'ALLOWED' | 'DENIED' | 'CONDITIONAL'
  /** The level READ shows in every row at least; undefined where some row hides the column. */
  readonly level: Level | undefined
  /** The highest level READ shows in any row; undefined where every row hides the column. */
  readonly highestLevel: Level | undefined
  /** Every statement of the caller's roles that bears on the decision, whether it counts or not. */
  readonly statements: readonly StatementExplanation[]
}

/** One statement's part in a decision. */
export interface StatementExplanation {
  readonly role: string
  /** Number of the statement in its role, from 1. */
  readonly position: number
  /** The statement in one line. */
  readonly text: string
  /** NEVER where the condition cannot hold for this caller, as when his context lacks a fact; SOMETIMES where the row decides. */
  readonly counts: 'ALWAYS' | 'SOMETIMES' | 'NEVER'
}

/** Explains a decision; it reads nothing that is stored. Throws for an example record the table could not hold. */
export function explainAccess(policy: Policy, caller: Pick<Caller, 'roles' | 'context'>, question: Question): Explanation {
  const { action, table, row } = question
  if (!isAction(action)) throw refused(`Action ${printableName(action)} is unknown. Specify one of ${ACTIONS.join(', ')}`)
  const example = row === undefined ? undefined : valuesOf(table, row)
  const rules = rulesFor(policy, [...new Set(caller.roles)], table)
  const judged = rules.map((rule) => ({ rule, counts: judge(rule, caller, example) }))
  const sure = judged.filter(({ counts }) => counts === 'ALWAYS').map(({ rule }) => rule)
  const open = judged.filter(({ counts }) => counts === 'SOMETIMES').map(({ rule }) => rule)
  const worst = createRowAccess(table, [...sure, ...open.filter(({ effect }) => effect === 'DENY')])
  const best = createRowAccess(table, [...sure, ...open.filter(({ effect }) => effect === 'ALLOW')])
  const columns = table.columns.map((column): ColumnExplanation => {
    const bearing = judged.filter(({ rule }) => speaksOf(rule, actionsBearingOn(action, column), column))
    return {
      column: column.name,
      decision: worst.may(action, column) ? 'ALLOWED' : best.may(action, column) ? 'CONDITIONAL' : 'DENIED',
      level: worst.level(column),
      highestLevel: best.level(column),
      statements: bearing.map(({ rule, counts }) => ({ ...rule.origin, counts })),
    }
  })
  return { action, table: table.name, columns }
}

/** SEARCH may come of what READ shows, and of writing a unique column. */
function actionsBearingOn(action: Action, column: Column): ActionSet {
  if (action !== 'SEARCH') return bitOf(action)
  return column.unique ? actionSet('SEARCH', 'READ', 'CREATE', 'UPDATE') : actionSet('SEARCH', 'READ')
}

function judge(rule: Rule, caller: Pick<Caller, 'context'>, example: ValueOf | undefined): StatementExplanation['counts'] {
  if (rule.when === undefined) return 'ALWAYS'
  const condition = rule.when.settle(caller.context)
  if (condition.kind === 'truth') return countsFor(rule.effect, condition.truth) ? 'ALWAYS' : 'NEVER'
  if (example === undefined) return 'SOMETIMES'
  return countsFor(rule.effect, compileCondition(condition)(example)) ? 'ALWAYS' : 'NEVER'
}

/** The example's values, as a row would hold them. */
function valuesOf(table: Table, row: Readonly<Record<string, unknown>>): ValueOf {
  if (typeof row !== 'object' || row === null || Array.isArray(row))
    throw refused('The example must be an object of values by column')
  const values = new Map<Column, unknown>()
  for (const [name, input] of Object.entries(row)) {
    const column = table.byName.get(name)
    if (column === undefined) {
      throw refused(`Column ${printableName(name)} of table ${table.name} is invalid. Specify a valid column`)
    }
    values.set(column, input === null || input === undefined ? null : valueIn(table, column, input))
  }
  return ({ column }) => (column === undefined ? null : (values.get(column) ?? null))
}

function valueIn(table: Table, column: Column, input: unknown): unknown {
  try {
    return column.type.parse(input)
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error
    const sentence = `The example's value of column ${column.name} of table ${table.name} ${error.message}.`
    throw new VaultError('unprocessable', `Explain failed. ${sentence}`, { table: table.name, column: column.name })
  }
}

function refused(sentence: string): VaultError {
  return new VaultError('invalid_request', `Explain failed. ${sentence}.`)
}
