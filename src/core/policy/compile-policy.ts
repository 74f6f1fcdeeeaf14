/** Checks a policy against the schema when a vault is opened, and splits it into rules by role and table. */
import { say, VaultError } from '../errors.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { required } from '../util/lists.ts'
import { parseStatement } from './parse-statement.ts'
import { MAX_CONDITIONAL_RULES, type Rule, type RuleCondition, ruleConditionOf } from './rule.ts'
import {
  type ActionSet,
  actionSet,
  BUILT_IN_ROLES,
  type PolicyDefinition,
  PolicyError,
  policyError,
  printableRole,
  type Statement,
  type Target,
} from './statement.ts'

/** The rules of one role by table. */
export interface Role {
  readonly rules: ReadonlyMap<Table, readonly Rule[]>
  /** Its statements, each in one line. */
  readonly statements: readonly string[]
  /** The attributes of a caller's context that its conditions use, in lower case. With one, callers of the role can differ. */
  readonly contextNames: readonly string[]
  /** True if a statement grants ALL ON * in plain text: everything that a schema has now, and what it will have. */
  readonly grantsEverything: boolean
  /** True if a statement is a DENY, whatever it is about. */
  readonly denies: boolean
}

/** A checked policy, as it was given, and the layout it was checked against. `roles` includes the built-in ones. */
export interface Policy {
  readonly definition: PolicyDefinition
  readonly layout: Layout
  readonly roles: ReadonlyMap<string, Role>
}

/** Maximum length of a role name, in UTF-16 units. The roles of a caller have the same limit. */
const MAX_ROLE_LENGTH = 128

/** Called with each error of a policy. */
type Refuse = (error: PolicyError) => void

/**
 * Checks a policy. Throws the code of the error's kind, `invalid_request` for most. The message names role, statement, line and column, and
 * what was expected. With `refuse`, passes every error to it instead, and leaves out what is wrong.
 */
export function compilePolicy(definition: PolicyDefinition, layout: Layout, refuse: Refuse = rethrow): Policy {
  const roles = new Map<string, Role>()
  for (const [name, statements] of Object.entries(BUILT_IN_ROLES)) roles.set(name, compileRole(layout, name, statements, refuse))
  for (const [name, statements] of entriesOf(definition)) {
    collect(refuse, () => {
      assertRoleName(name)
      roles.set(name, compileRole(layout, name, statements, refuse))
    })
  }
  collect(refuse, () => assertFewConditions(layout, roles))
  return { definition, layout, roles }
}

function rethrow(error: PolicyError): never {
  throw error
}

/** Runs a part of the check. Its error ends this part only. */
function collect(refuse: Refuse, check: () => void): void {
  try {
    check()
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    refuse(error)
  }
}

/** Returns the attributes of callers that the conditions of a policy read, in lower case, in their order. */
export function contextNamesOf({ roles }: Policy): readonly string[] {
  return [...new Set([...roles.values()].flatMap(({ contextNames }) => contextNames))].sort()
}

/** A column of a condition whose values the times of reads can show. */
export interface TimedColumn {
  readonly role: string
  readonly table: string
  readonly column: string
}

/** Returns the sealed columns that conditions of the policy open, once for each role. */
export function timedColumns({ roles }: Policy): readonly TimedColumn[] {
  return [...roles].flatMap(([role, { rules }]) =>
    [...rules].flatMap(([{ name: table }, ofTable]) => {
      const names = ofTable.flatMap(({ when }) => when?.opened.map(({ name }) => name) ?? [])
      return [...new Set(names)].map((column) => ({ role, table, column }))
    }),
  )
}

function entriesOf(definition: unknown): readonly (readonly [string, unknown])[] {
  if (typeof definition === 'object' && definition !== null && !Array.isArray(definition)) return Object.entries(definition)
  throw new VaultError('invalid_request', 'Invalid policy: expected an object of roles by name, each an array of statements.')
}

function assertRoleName(role: string): void {
  if (Object.hasOwn(BUILT_IN_ROLES, role)) {
    throw roleError(role, `role "${role}" is built in and cannot be redefined. Use another name.`)
  }
  if (role === '' || role.length > MAX_ROLE_LENGTH) {
    throw roleError(role, `a role name must have 1 to ${MAX_ROLE_LENGTH} characters.`)
  }
}

function roleError(role: string, message: string): PolicyError {
  return new PolicyError('invalid_request', '', { role, message })
}

function compileRole(layout: Layout, role: string, statements: unknown, refuse: Refuse): Role {
  if (!Array.isArray(statements)) throw roleError(role, `role ${printableRole(role)} must be an array of statements.`)
  const rules = new Map<Table, Rule[]>()
  const parsed: Statement[] = []
  for (const [index, input] of statements.entries()) {
    collect(refuse, () => {
      const statement = parseStatement({ role, position: index + 1 }, input)
      for (const [table, rule] of rulesOf(layout, statement)) rules.set(table, [...(rules.get(table) ?? []), rule])
      parsed.push(statement)
    })
  }
  return {
    rules,
    statements: parsed.map(({ text }) => text),
    contextNames: [...new Set([...rules.values()].flat().flatMap((rule) => rule.when?.contextNames ?? []))],
    grantsEverything: parsed.some(isOfOwner),
    denies: parsed.some(({ effect }) => effect === 'DENY'),
  }
}

/** True for ALLOW ALL ON * WITH REDACTION = PLAIN_TEXT, which has no condition: one would be about one table. */
function isOfOwner({ effect, isAll, targets, level }: Statement): boolean {
  return effect === 'ALLOW' && isAll && level === 'PLAIN_TEXT' && targets.some(({ table }) => table === undefined)
}

/** Splits a statement into one rule per table. */
function rulesOf(layout: Layout, statement: Statement): readonly (readonly [Table, Rule])[] {
  const { location, text, effect, targets, level } = statement
  const covered = coverage(layout, targets)
  const when = conditionOf(layout, statement)
  return [...covered].map(([table, covers]) => {
    const rule = { origin: { role: location.role, position: location.position, text }, targets, effect, covers, level, when }
    return [table, { ...rule, actions: actionsOn(statement) }] as const
  })
}

/** ALL on a table does not include AUDIT: the audit trail belongs to no table. */
function actionsOn({ actions, targets }: Statement): ActionSet {
  const isWhole = targets.some((target) => target.table === undefined)
  return actionSet(actions.filter((action) => action !== 'AUDIT' || isWhole))
}

/** The columns that the targets cover, by table: true at the position of each covered column. */
function coverage(layout: Layout, targets: readonly Target[]): ReadonlyMap<Table, readonly boolean[]> {
  const covered = new Map<Table, boolean[]>()
  for (const target of targets) {
    for (const table of target.table === undefined ? layout.tables.values() : [tableAt(layout, target)]) {
      const covers = covered.get(table) ?? table.columns.map(() => false)
      covered.set(table, covers)
      for (const position of positionsAt(table, target)) covers[position] = true
    }
  }
  return covered
}

function tableAt(layout: Layout, { table, location, at }: Target): Table {
  const name = required(table, 'The table of a target')
  const found = layout.tables.get(name) ?? layout.erased.get(name)
  if (found !== undefined) return found
  throw policyError(location, say`Table ${name} does not exist. Expected a table of the schema, or *.`, at)
}

function positionsAt(table: Table, target: Target): readonly number[] {
  if (target.column === undefined) return table.columns.map((column) => column.position)
  const column = table.byName.get(target.column)
  if (column !== undefined) return [column.position]
  const sentence = say`Column ${target.column} of table ${table.name} does not exist. Expected a column of it, or *.`
  throw policyError(target.location, sentence, target.at)
}

function conditionOf(layout: Layout, { where, targets, effect }: Statement): RuleCondition | undefined {
  const [target] = targets
  if (where === undefined || target === undefined) return undefined
  return ruleConditionOf(tableAt(layout, target), where, effect)
}

/** Limits the conditional rules per table. Each takes one bit of an integer, and each condition is evaluated on every row. */
function assertFewConditions(layout: Layout, roles: ReadonlyMap<string, Role>): void {
  for (const table of layout.tables.values()) {
    const rules = [...roles.values()].flatMap((role) => role.rules.get(table) ?? [])
    const count = rules.filter((rule) => rule.when !== undefined).length
    if (count <= MAX_CONDITIONAL_RULES) continue
    const message = `table "${table.name}" has ${count} statements with WHERE over all roles; the limit is ${MAX_CONDITIONAL_RULES}. Combine some with OR.`
    throw new PolicyError('limit_exceeded', '', { message }, { table: table.name })
  }
}
