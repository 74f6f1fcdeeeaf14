/** Computes a caller's access to one table from rules: what every row grants, what some row can grant, and what a given row grants. */

import { allOf, anyOf, columnsOf, negate } from '../expressions/columns-of.ts'
import type { Condition, Truth } from '../expressions/condition.ts'
import type { Column, Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'
import { ACTIONS, type Action, type ActionSet, bitOf } from './actions.ts'
import type { Caller } from './caller.ts'
import { createRowAccess } from './row-access.ts'
import { appliesTo, levelBy, type Rule } from './rule.ts'
import type { Effect } from './statement.ts'
import type { RequiredGrant, RowAccess, TableAccess } from './table-access.ts'

const READ = bitOf('READ')
const SEARCH = bitOf('SEARCH')
const CREATE = bitOf('CREATE')
const UPDATE = bitOf('UPDATE')

/** Maximum number of cached row accesses. Above it, the cache is cleared. */
const MAX_CACHED_ACCESSES = 1024

const NEVER: Condition = { kind: 'truth', truth: false }
const ALWAYS: Condition = { kind: 'truth', truth: true }

/** A rule that applies in the rows where `conditions[index]` decides so. */
interface ConditionalRule {
  readonly rule: Rule
  readonly index: number
}

/** The rules of one caller for one table, with the context's values bound, divided into unconditional and conditional ones. */
interface BoundRules {
  readonly table: Table
  readonly always: readonly Rule[]
  readonly sometimes: readonly ConditionalRule[]
  readonly conditions: readonly Condition[]
}

/** Creates the access that these rules give to the table. The context's values are bound once, here. */
export function createTableAccess(table: Table, rules: readonly Rule[], context: Caller['context']): TableAccess {
  const bound = bindRules(table, rules, context)
  const { always, sometimes, conditions } = bound
  const worst = createRowAccess(table, [...always, ...rulesOf(sometimes, 'DENY')])
  const best = sometimes.length === 0 ? worst : createRowAccess(table, [...always, ...rulesOf(sometimes, 'ALLOW')])
  const forRow = sometimes.length === 0 ? () => best : createRowEvaluation(bound)
  const evaluated = conditions.flatMap((condition) => columnsOf(condition)).flatMap(({ column }) => column ?? [])
  return {
    table,
    hasAnyGrant: ACTIONS.some((action) => action !== 'AUDIT' && best.meets({ action, columns: [] })),
    conditions,
    conditionColumns: [...new Set(evaluated)],
    rowStatements: (column) => rowStatementsOn(bound, column),
    possiblyAllows: best.allows,
    possiblyVisible: (column) => best.level(column) !== undefined,
    highestLevel: best.level,
    possiblyMeets: best.meets,
    alwaysMeets: worst.meets,
    forRow,
    withoutRecord: () => forRow(conditions.map(() => undefined)),
    pushdownCondition: (need) => {
      if (worst.meets(need)) return ALWAYS
      return best.meets(need) ? conditionFor(bound, need) : NEVER
    },
  }
}

/** True if a rule applies in a row with this truth. Unknown does not grant, and it denies. */
export function appliesFor(effect: Effect, truth: Truth): boolean {
  return effect === 'ALLOW' ? truth === true : truth !== false
}

/** Binds each distinct condition once. A condition that becomes constant, as with an absent attribute, is not evaluated on rows. */
function bindRules(table: Table, rules: readonly Rule[], context: Caller['context']): BoundRules {
  const always: Rule[] = []
  const sometimes: ConditionalRule[] = []
  const conditions: Condition[] = []
  const known = new Map<string, { readonly condition: Condition; readonly index: number }>()
  for (const rule of rules) {
    if (rule.when === undefined) {
      always.push(rule)
      continue
    }
    let bound = known.get(rule.when.key)
    if (bound === undefined) {
      bound = { condition: rule.when.bind(context), index: conditions.length }
      known.set(rule.when.key, bound)
      if (bound.condition.kind !== 'truth') conditions.push(bound.condition)
    }
    if (bound.condition.kind !== 'truth') sometimes.push({ rule, index: bound.index })
    else if (appliesFor(rule.effect, bound.condition.truth)) always.push(rule)
  }
  return { table, always, sometimes, conditions }
}

function rowStatementsOn({ sometimes, conditions }: BoundRules, column: Column): ReturnType<TableAccess['rowStatements']> {
  // Writing a unique column grants SEARCH on it.
  const actions = READ | SEARCH | (column.unique ? CREATE | UPDATE : 0)
  const deciding = sometimes.filter(({ rule }) => appliesTo(rule, actions, column))
  return deciding.map(({ rule: { origin }, index }) => {
    const columns = columnsOf(at(conditions, index)).flatMap((ref) => ref.column?.name ?? [])
    return { role: origin.role, position: origin.position, columns: [...new Set(columns)] }
  })
}

function rulesOf(sometimes: readonly ConditionalRule[], effect: Effect): Rule[] {
  return sometimes.flatMap(({ rule }) => (rule.effect === effect ? [rule] : []))
}

/** Returns the access of a row. Rows in which the same rules apply share one object, cached by one bit per conditional rule. */
function createRowEvaluation({ table, always, sometimes }: BoundRules): TableAccess['forRow'] {
  const accesses = new Map<number, RowAccess>()
  return (truths) => {
    let bits = 0
    sometimes.forEach(({ rule, index }, bit) => {
      if (appliesFor(rule.effect, truths[index])) bits |= 1 << bit
    })
    let access = accesses.get(bits)
    if (access === undefined) {
      const applying = sometimes.flatMap(({ rule }, bit) => ((bits & (1 << bit)) === 0 ? [] : [rule]))
      access = createRowAccess(table, [...always, ...applying])
      if (accesses.size >= MAX_CACHED_ACCESSES) accesses.clear()
      accesses.set(bits, access)
    }
    return access
  }
}

/** A condition that is true exactly in the rows that meet the need. It mirrors `createRowAccess`; a property test keeps them equal. */
function conditionFor(rules: BoundRules, { action, columns }: RequiredGrant): Condition {
  if (columns.length === 0)
    return anyOf(distinctColumns(rules, rules.table.columns).map((column) => granted(rules, action, column)))
  return allOf(distinctColumns(rules, columns).map((column) => granted(rules, action, column)))
}

/** One column of each group to which the same rules apply in the same way: the columns of a group have the same condition. */
function distinctColumns(rules: BoundRules, columns: readonly Column[]): Column[] {
  const all = [...rules.always, ...rulesOf(rules.sometimes, 'ALLOW'), ...rulesOf(rules.sometimes, 'DENY')]
  const kinds = new Map<string, Column>()
  for (const column of columns) {
    const effects = all.map((rule) => (rule.covers[column.position] === true ? levelBy(rule, column) : '-'))
    kinds.set(`${column.unique} ${effects.join(' ')}`, column)
  }
  return [...kinds.values()]
}

/** True exactly in the rows that grant the action on the column. */
function granted(rules: BoundRules, action: Action, column: Column): Condition {
  const direct = allowed(rules, bitOf(action), column)
  if (action !== 'SEARCH') return direct
  const shown = anyOf(
    conditionsOf(rules, 'ALLOW', (rule) => appliesTo(rule, READ, column) && levelBy(rule, column) === 'PLAIN_TEXT'),
  )
  const byReading = allOf([shown, ...denials(rules, READ | SEARCH, column)])
  const byWriting = column.unique ? [allowed(rules, CREATE, column), allowed(rules, UPDATE, column)] : []
  return anyOf([direct, byReading, ...byWriting])
}

function allowed(rules: BoundRules, action: ActionSet, column: Column): Condition {
  const grants = anyOf(conditionsOf(rules, 'ALLOW', (rule) => appliesTo(rule, action, column)))
  return allOf([grants, ...denials(rules, action, column)])
}

/** The negated condition of each DENY of one of these actions: true where the DENY is known not to apply. */
function denials(rules: BoundRules, actions: ActionSet, column: Column): Condition[] {
  return conditionsOf(rules, 'DENY', (rule) => appliesTo(rule, actions, column)).map(negate)
}

/** The conditions of the matching rules of one effect, without duplicates. */
function conditionsOf(
  { always, sometimes, conditions }: BoundRules,
  effect: Effect,
  matters: (rule: Rule) => boolean,
): Condition[] {
  const isOne = (rule: Rule) => rule.effect === effect && matters(rule)
  if (always.some(isOne)) return [ALWAYS]
  const indexes = new Set(sometimes.flatMap(({ rule, index }) => (isOne(rule) ? [index] : [])))
  return [...indexes].map((index) => at(conditions, index))
}
