/** Why a caller may or may not: each column's decision and the statements behind it, for whoever writes policies and tests them. */
import { type Fault, fault, words } from '../errors.ts'
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
  readonly record?: Readonly<Record<string, unknown>>
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
  readonly applies: 'ALWAYS' | 'SOMETIMES' | 'NEVER'
}

/** Explains a decision; it reads nothing that is stored. Throws for an example record the table could not hold. */
export function explainAccess(policy: Policy, caller: Pick<Caller, 'roles' | 'context'>, question: Question): Explanation {
  const { action, table, record } = question
  if (!isAction(action)) throw unknownAction(action)
  const example = record === undefined ? undefined : valuesOf(table, record)
  const rules = rulesFor(policy, [...new Set(caller.roles)], table)
  const evaluated = rules.map((rule) => ({ rule, applies: applicability(rule, caller, example) }))
  const sure = evaluated.filter(({ applies }) => applies === 'ALWAYS').map(({ rule }) => rule)
  const open = evaluated.filter(({ applies }) => applies === 'SOMETIMES').map(({ rule }) => rule)
  const worst = createRowAccess(table, [...sure, ...open.filter(({ effect }) => effect === 'DENY')])
  const best = createRowAccess(table, [...sure, ...open.filter(({ effect }) => effect === 'ALLOW')])
  const columns = table.columns.map((column): ColumnExplanation => {
    const relevant = evaluated.filter(({ rule }) => speaksOf(rule, actionsImplying(action, column), column))
    return {
      column: column.name,
      decision: worst.may(action, column) ? 'ALLOWED' : best.may(action, column) ? 'CONDITIONAL' : 'DENIED',
      level: worst.level(column),
      highestLevel: best.level(column),
      statements: relevant.map(({ rule, applies }) => ({ ...rule.origin, applies })),
    }
  })
  return { action, table: table.name, columns }
}

/** SEARCH may come of what READ shows, and of writing a unique column. */
function actionsImplying(action: Action, column: Column): ActionSet {
  if (action !== 'SEARCH') return bitOf(action)
  return column.unique ? actionSet('SEARCH', 'READ', 'CREATE', 'UPDATE') : actionSet('SEARCH', 'READ')
}

function applicability(
  rule: Rule,
  caller: Pick<Caller, 'context'>,
  example: ValueOf | undefined,
): StatementExplanation['applies'] {
  if (rule.when === undefined) return 'ALWAYS'
  const condition = rule.when.settle(caller.context)
  if (condition.kind === 'truth') return countsFor(rule.effect, condition.truth) ? 'ALWAYS' : 'NEVER'
  if (example === undefined) return 'SOMETIMES'
  return countsFor(rule.effect, compileCondition(condition)(example)) ? 'ALWAYS' : 'NEVER'
}

/** The example's values, as a row would hold them. */
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
    if (!(error instanceof ValueFault)) throw error
    const details = { table: table.name, column: column.name }
    throw fault('unprocessable', details)`Column ${column.name} of table ${table.name} in record ${words(error.message)}.`
  }
}

function unknownAction(action: unknown): Fault {
  return fault(
    'invalid_request',
  )`Action ${typeof action === 'string' ? action : ''} is unknown. Supported: ${words(ACTIONS.join(', '))}.`
}
