/** One caller's access to one table: what every row grants, what some row can grant, and what a given row grants. */
import { allOf, anyOf, type Condition, columnsOf, negate, type Truth } from '../expressions/condition.ts'
import { higherLevel, levelShown, type Redaction, type RedactionLevel } from '../redaction.ts'
import type { Column, ColumnView } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'
import { type Caller, purposeOf } from './caller.ts'
import { appliesTo, levelBy, type Rule, type StatementOrigin } from './rule.ts'
import { ACTIONS, type Action, type ActionSet, BITS, type Effect } from './statement.ts'

/** A grant that a request requires of a row: an action on each of these columns or, without columns, on at least one. */
export interface RequiredGrant {
  readonly action: Action
  readonly columns: readonly Column[]
}

/** The grants of a row, or of every row if no condition decides. */
export interface RowAccess {
  /** Highest level READ shows of this column; undefined if it is hidden. */
  level(column: Column): RedactionLevel | undefined
  /** The views of those columns that READ shows, at the lower of the requested and the granted level. */
  views(columns: readonly Column[], asked: Redaction): readonly ColumnView[]
  /** The view of one column, as `views` has it; undefined if READ does not show it. */
  view(column: Column, asked: Redaction): ColumnView | undefined
  /**
   * True if the action is granted on the column. READ at PLAIN_TEXT also grants SEARCH, and so does CREATE or UPDATE on a unique column.
   */
  allows(action: Action, column: Column): boolean
  /** True if the row has all required grants. */
  meets(need: RequiredGrant): boolean
}

/**
 * One caller's access to one table. `conditions` are the WHERE clauses of the caller's statements with the context's values; source 0 is
 * the table. An ALLOW applies if its condition is true, a DENY unless its condition is false.
 */
export interface TableAccess {
  readonly table: Table
  /** True if some statement grants an action other than AUDIT here. If false, every operation on the table throws `forbidden`. */
  readonly hasAnyGrant: boolean
  readonly conditions: readonly Condition[]
  /** Columns of the conditions; empty if no row needs to be evaluated. */
  readonly conditionColumns: readonly Column[]
  /** The statements whose condition decides in each row what READ and SEARCH grant on this column, and the columns of that condition. */
  rowStatements(column: Column): readonly (Omit<StatementOrigin, 'text'> & { readonly columns: readonly string[] })[]
  /** True if some row can grant the action on this column. If false, the column is treated as unknown for that action. */
  possiblyAllows(action: Action, column: Column): boolean
  /** True if some row can show this column by READ, at any level. */
  possiblyVisible(column: Column): boolean
  /** The highest level that some row can show of this column; undefined if every row hides it. */
  highestLevel(column: Column): RedactionLevel | undefined
  /** True if some row can have the required grants. */
  possiblyMeets(need: RequiredGrant): boolean
  /** True if every row has the required grants, whatever its values. */
  alwaysMeets(need: RequiredGrant): boolean
  /** The grants of a row, given the truth of each condition in it. Equal truths return the same object. */
  forRow(truths: readonly (boolean | undefined)[]): RowAccess
  /** The grants of a transient value, or of any row if there are no conditions. A transient value has no record, so no condition is true for it. */
  withoutRecord(): RowAccess
  /** A condition that is true exactly in the rows with the required grants. Storage evaluates it before `forRow`. */
  pushdownCondition(need: RequiredGrant): Condition
}

const READ = BITS.READ
const SEARCH = BITS.SEARCH
const CREATE = BITS.CREATE
const UPDATE = BITS.UPDATE
const WRITE = CREATE | UPDATE

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
  readonly hasPurpose: boolean
  readonly always: readonly Rule[]
  readonly sometimes: readonly ConditionalRule[]
  readonly conditions: readonly Condition[]
}

/** Creates the access that these rules give to the table. The context's values are bound once, here. */
export function createTableAccess(table: Table, rules: readonly Rule[], caller: Pick<Caller, 'context'>): TableAccess {
  const bound = bindRules(table, rules, caller)
  const { always, sometimes, conditions, hasPurpose } = bound
  const worst = createRowAccess(table, [...always, ...rulesOf(sometimes, 'DENY')], hasPurpose)
  const best = sometimes.length === 0 ? worst : createRowAccess(table, [...always, ...rulesOf(sometimes, 'ALLOW')], hasPurpose)
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

/** True if the caller can compare values of the column: they are shown some in plain text. */
export function isComparable({ highestLevel }: Pick<TableAccess, 'highestLevel'>, column: Column): boolean {
  return highestLevel(column) === 'PLAIN_TEXT'
}

/** True if a rule applies in a row with this truth. Unknown does not grant, and it denies. */
export function appliesFor(effect: Effect, truth: Truth): boolean {
  return effect === 'ALLOW' ? truth === true : truth !== false
}

/** Binds each distinct condition once. A condition that becomes constant, as with an absent attribute, is not evaluated on rows. */
function bindRules(table: Table, rules: readonly Rule[], caller: Pick<Caller, 'context'>): BoundRules {
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
      bound = { condition: rule.when.bind(caller.context), index: conditions.length }
      known.set(rule.when.key, bound)
      if (bound.condition.kind !== 'truth') conditions.push(bound.condition)
    }
    if (bound.condition.kind !== 'truth') sometimes.push({ rule, index: bound.index })
    else if (appliesFor(rule.effect, bound.condition.truth)) always.push(rule)
  }
  return { table, hasPurpose: purposeOf(caller) !== undefined, always, sometimes, conditions }
}

function rowStatementsOn({ sometimes, conditions }: BoundRules, column: Column): ReturnType<TableAccess['rowStatements']> {
  // Writing a unique column grants SEARCH on it.
  const actions = READ | SEARCH | (column.unique ? WRITE : 0)
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
function createRowEvaluation({ table, hasPurpose, always, sometimes }: BoundRules): TableAccess['forRow'] {
  const accesses = new Map<number, RowAccess>()
  return (truths) => {
    let bits = 0
    sometimes.forEach(({ rule, index }, bit) => {
      if (appliesFor(rule.effect, truths[index])) bits |= 1 << bit
    })
    let access = accesses.get(bits)
    if (access === undefined) {
      const applying = sometimes.flatMap(({ rule }, bit) => ((bits & (1 << bit)) === 0 ? [] : [rule]))
      access = createRowAccess(table, [...always, ...applying], hasPurpose)
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
    kinds.set(`${column.unique} ${column.needsPurpose} ${effects.join(' ')}`, column)
  }
  return [...kinds.values()]
}

/** True exactly in the rows that grant the action on the column. */
function granted(rules: BoundRules, action: Action, column: Column): Condition {
  if (column.needsPurpose && !rules.hasPurpose && (BITS[action] & COMPARING) !== 0) return NEVER
  const direct = allowed(rules, BITS[action], column)
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

/** The grants on one column. */
interface Grant {
  readonly actions: ActionSet
  readonly level: RedactionLevel | undefined
}

/** The actions that show whether a value is stored. */
const COMPARING = SEARCH | BITS.TOKENIZATION

/** The grants on a column that requires a purpose, for a caller without one: what shows nothing of its values. */
function withoutPurpose({ actions, level }: Grant): Grant {
  return { actions: actions & ~COMPARING, level: level === undefined ? undefined : 'REDACTED' }
}

/** The access to a row in which exactly these rules apply, of a caller with a purpose or without one. */
export function createRowAccess(table: Table, rules: readonly Rule[], hasPurpose: boolean): RowAccess {
  const grants = table.columns.map((column) => {
    const grant = grantOn(column, rules)
    return column.needsPurpose && !hasPurpose ? withoutPurpose(grant) : grant
  })
  return rowAccessOf(table, {
    level: (column) => grants[column.position]?.level,
    allows: (action, column) => ((grants[column.position]?.actions ?? 0) & BITS[action]) !== 0,
  })
}

/** Returns the access of what is granted on each column. */
export function rowAccessOf(table: Table, { level, allows }: Pick<RowAccess, 'level' | 'allows'>): RowAccess {
  return {
    level,
    ...createViews(table, level),
    allows,
    meets: ({ action, columns }) =>
      columns.length === 0
        ? table.columns.some((column) => allows(action, column))
        : columns.every((column) => allows(action, column)),
  }
}

/** Combines the rules for one column. */
function grantOn(column: Column, rules: readonly Rule[]): Grant {
  let allowed: ActionSet = 0
  let denied: ActionSet = 0
  let level: RedactionLevel | undefined
  for (const rule of rules) {
    if (rule.covers[column.position] !== true) continue
    if (rule.effect === 'DENY') {
      denied |= rule.actions
      continue
    }
    allowed |= rule.actions
    if (appliesTo(rule, READ, column)) level = higherLevel(level, levelBy(rule, column))
  }
  const shown = (denied & READ) === 0 ? level : undefined
  return { actions: (allowed & ~denied) | impliedSearch(column, { allowed, denied, shown }), level: shown }
}

/**
 * SEARCH implied by other grants. READ in plain text implies it, because searching reveals no more; DENY SEARCH still removes it. Writing a
 * unique column implies it, because conflicts reveal values in any case; nothing removes that.
 */
function impliedSearch(
  column: Column,
  {
    allowed,
    denied,
    shown,
  }: { readonly allowed: ActionSet; readonly denied: ActionSet; readonly shown: RedactionLevel | undefined },
): ActionSet {
  const byReading = shown === 'PLAIN_TEXT' && (denied & SEARCH) === 0
  const byWriting = column.unique && (allowed & ~denied & WRITE) !== 0
  return byReading || byWriting ? SEARCH : 0
}

/** Column views at each requested level. A scan requests the same columns repeatedly, so the last result is cached. */
function createViews(table: Table, levelOf: (column: Column) => RedactionLevel | undefined): Pick<RowAccess, 'view' | 'views'> {
  const singles = new Map<Redaction, readonly (ColumnView | undefined)[]>()
  const last = new Map<Redaction, { readonly columns: readonly Column[]; readonly views: readonly ColumnView[] }>()
  const view: RowAccess['view'] = (column, asked) => {
    let ofTable = singles.get(asked)
    if (ofTable === undefined) {
      ofTable = table.columns.map((column) => viewOf(column, asked, levelOf(column)))
      singles.set(asked, ofTable)
    }
    return ofTable[column.position]
  }
  return {
    view,
    views(columns, asked) {
      const known = last.get(asked)
      if (known?.columns === columns) return known.views
      const views = columns.flatMap((column) => view(column, asked) ?? [])
      last.set(asked, { columns, views })
      return views
    },
  }
}

function viewOf(column: Column, asked: Redaction, allowed: RedactionLevel | undefined): ColumnView | undefined {
  if (allowed === undefined) return undefined
  return { column, level: levelShown(column, asked, allowed) }
}
