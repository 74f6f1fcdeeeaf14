/** From the rules of one caller to his hold on one table: what every row grants, what some row could, and what a row at hand does. */

import { allOf, anyOf, columnsOf, negate } from '../expressions/columns-of.ts'
import type { Condition, Truth } from '../expressions/condition.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { Action, ActionSet } from './actions.ts'
import { ACTIONS, bitOf } from './actions.ts'
import type { Caller } from './caller.ts'
import { createRowAccess } from './row-access.ts'
import type { Rule } from './rule.ts'
import { levelBy, speaksOf } from './rule.ts'
import type { Effect } from './statement.ts'
import type { Need, RowAccess, TableAccess } from './table-access.ts'

const READ = bitOf('READ')
const SEARCH = bitOf('SEARCH')
const CREATE = bitOf('CREATE')
const UPDATE = bitOf('UPDATE')

/** Verdicts kept at most: a policy whose conditions fall in more ways than this begins anew. */
const MOST_VERDICTS = 1024

const NEVER: Condition = { kind: 'truth', truth: false }
const ALWAYS: Condition = { kind: 'truth', truth: true }

/** A rule that counts in some rows: where `conditions[index]` says so. */
interface Conditional {
  readonly rule: Rule
  readonly index: number
}

/** The rules of one caller about one table, sorted by whether a row must be asked. */
interface Held {
  readonly table: Table
  readonly always: readonly Rule[]
  readonly sometimes: readonly Conditional[]
  readonly conditions: readonly Condition[]
}

/** The access these rules give to the table. The context's values are put into the conditions here, once. */
export function createTableAccess(table: Table, rules: readonly Rule[], context: Caller['context']): TableAccess {
  const held = hold(table, rules, context)
  const { always, sometimes, conditions } = held
  const worst = createRowAccess(table, [...always, ...rulesOf(sometimes, 'DENY')])
  const best = sometimes.length === 0 ? worst : createRowAccess(table, [...always, ...rulesOf(sometimes, 'ALLOW')])
  const judgedBy = conditions.flatMap((condition) => columnsOf(condition)).flatMap(({ column }) => column ?? [])
  return {
    table,
    holdsAny: ACTIONS.some((action) => action !== 'AUDIT' && best.meets({ action, columns: [] })),
    conditions,
    judgedBy: [...new Set(judgedBy)],
    couldMay: best.may,
    couldSee: (column) => best.level(column) !== undefined,
    highestLevel: best.level,
    couldMeet: best.meets,
    alwaysMeets: worst.meets,
    forRow: sometimes.length === 0 ? () => best : judge(held),
    necessary: (need) => {
      if (worst.meets(need)) return ALWAYS
      return best.meets(need) ? necessaryFor(held, need) : NEVER
    },
  }
}

/** Whether a rule counts in a row: what cannot be told grants nothing and denies. */
export function countsFor(effect: Effect, truth: Truth): boolean {
  return effect === 'ALLOW' ? truth === true : truth !== false
}

/** Settles each condition once. One that folds to a truth, as with a fact the context lacks, leaves nothing to ask of rows. */
function hold(table: Table, rules: readonly Rule[], context: Caller['context']): Held {
  const always: Rule[] = []
  const sometimes: Conditional[] = []
  const conditions: Condition[] = []
  const known = new Map<string, { readonly condition: Condition; readonly index: number }>()
  for (const rule of rules) {
    if (rule.when === undefined) {
      always.push(rule)
      continue
    }
    let settled = known.get(rule.when.key)
    if (settled === undefined) {
      settled = { condition: rule.when.settle(context), index: conditions.length }
      known.set(rule.when.key, settled)
      if (settled.condition.kind !== 'truth') conditions.push(settled.condition)
    }
    if (settled.condition.kind !== 'truth') sometimes.push({ rule, index: settled.index })
    else if (countsFor(rule.effect, settled.condition.truth)) always.push(rule)
  }
  return { table, always, sometimes, conditions }
}

function rulesOf(sometimes: readonly Conditional[], effect: Effect): Rule[] {
  return sometimes.flatMap(({ rule }) => (rule.effect === effect ? [rule] : []))
}

/** Rows in which the same rules count share one object, found by one bit for each conditional rule. */
function judge({ table, always, sometimes }: Held): TableAccess['forRow'] {
  const verdicts = new Map<number, RowAccess>()
  return (truths) => {
    let verdict = 0
    sometimes.forEach(({ rule, index }, bit) => {
      if (countsFor(rule.effect, truths[index])) verdict |= 1 << bit
    })
    let access = verdicts.get(verdict)
    if (access === undefined) {
      const counting = sometimes.flatMap(({ rule }, bit) => ((verdict & (1 << bit)) === 0 ? [] : [rule]))
      access = createRowAccess(table, [...always, ...counting])
      if (verdicts.size >= MOST_VERDICTS) verdicts.clear()
      verdicts.set(verdict, access)
    }
    return access
  }
}

/** True in just those rows that meet the need. It mirrors `createRowAccess`, and a law of the tests holds the two together. */
function necessaryFor(held: Held, { action, columns }: Need): Condition {
  if (columns.length === 0) return anyOf(unlike(held, held.table.columns).map((column) => granted(held, action, column)))
  return allOf(unlike(held, columns).map((column) => granted(held, action, column)))
}

/** One of each kind of column: those the same rules speak of in the same way have the same condition. */
function unlike(held: Held, columns: readonly Column[]): Column[] {
  const rules = [...held.always, ...rulesOf(held.sometimes, 'ALLOW'), ...rulesOf(held.sometimes, 'DENY')]
  const kinds = new Map<string, Column>()
  for (const column of columns) {
    const words = rules.map((rule) => (rule.covers[column.position] === true ? levelBy(rule, column) : '-'))
    kinds.set(`${column.unique} ${words.join(' ')}`, column)
  }
  return [...kinds.values()]
}

/** True in just those rows that grant the action on the column. */
function granted(held: Held, action: Action, column: Column): Condition {
  const direct = allowed(held, bitOf(action), column)
  if (action !== 'SEARCH') return direct
  const shown = anyOf(
    conditionsOf(held, 'ALLOW', (rule) => speaksOf(rule, READ, column) && levelBy(rule, column) === 'PLAIN_TEXT'),
  )
  const byReading = allOf([shown, ...denials(held, READ | SEARCH, column)])
  const byWriting = column.unique ? [allowed(held, CREATE, column), allowed(held, UPDATE, column)] : []
  return anyOf([direct, byReading, ...byWriting])
}

function allowed(held: Held, action: ActionSet, column: Column): Condition {
  const grants = anyOf(conditionsOf(held, 'ALLOW', (rule) => speaksOf(rule, action, column)))
  return allOf([grants, ...denials(held, action, column)])
}

/** Each denial of one of these actions, turned round: true where it is known not to count. */
function denials(held: Held, actions: ActionSet, column: Column): Condition[] {
  return conditionsOf(held, 'DENY', (rule) => speaksOf(rule, actions, column)).map(negate)
}

/** The conditions of the rules of one effect that matter here, each once. */
function conditionsOf({ always, sometimes, conditions }: Held, effect: Effect, matters: (rule: Rule) => boolean): Condition[] {
  const isOne = (rule: Rule) => rule.effect === effect && matters(rule)
  if (always.some(isOne)) return [ALWAYS]
  const indexes = new Set(sometimes.flatMap(({ rule, index }) => (isOne(rule) ? [index] : [])))
  return [...indexes].flatMap((index) => conditions[index] ?? [])
}
