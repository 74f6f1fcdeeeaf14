/** Finds statements of a policy that decide nothing: about tokens of columns without tokens, never true, denied by another one, or said twice. */
import { lowerLevel } from '../redaction.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { required } from '../util/lists.ts'
import type { Policy } from './compile-policy.ts'
import { appliesTo, levelBy, type Rule, type StatementOrigin } from './rule.ts'
import { ACTIONS, type Action, BITS, BUILT_IN_ROLES } from './statement.ts'
import { appliesFor } from './table-access.ts'

/** A statement without an effect, and why. */
export interface PolicyFinding extends StatementOrigin {
  /**
   * `names nothing`: no column that it covers has tokens. `never true`: its condition is false in every row. `denied`: DENY statements of the same
   * role take all of it away. `repeated`: other statements of the role say all of it.
   */
  readonly finding: 'names nothing' | 'never true' | 'denied' | 'repeated'
}

/** A statement, as the rules of the tables that it is about. */
interface RuledStatement {
  readonly origin: StatementOrigin
  readonly rules: readonly (readonly [Table, Rule])[]
}

/** Returns the statements of a policy that no caller would miss, in the order of roles and statements. The built-in roles are left out. */
export function findIdleStatements({ roles }: Policy): readonly PolicyFinding[] {
  return [...roles].flatMap(([role, { rules }]) => (Object.hasOwn(BUILT_IN_ROLES, role) ? [] : findIdle(statementsOf(rules))))
}

function statementsOf(rules: ReadonlyMap<Table, readonly Rule[]>): RuledStatement[] {
  const statements = new Map<number, { origin: StatementOrigin; rules: (readonly [Table, Rule])[] }>()
  for (const [table, ofTable] of rules) {
    for (const rule of ofTable) {
      const { origin } = rule
      const statement = statements.get(origin.position) ?? { origin, rules: [] }
      statement.rules.push([table, rule])
      statements.set(origin.position, statement)
    }
  }
  return [...statements.values()].sort((left, right) => left.origin.position - right.origin.position)
}

function findIdle(statements: readonly RuledStatement[]): PolicyFinding[] {
  const findings: PolicyFinding[] = []
  // From the last one, so that of two that say the same the later one is found, and only one of them.
  let others = statements
  for (const statement of [...statements].reverse()) {
    const rest = others.filter((one) => one !== statement)
    const finding = findingOf(statement, rest)
    if (finding === undefined) continue
    others = rest
    findings.unshift({ ...statement.origin, finding })
  }
  return findings
}

function findingOf({ rules }: RuledStatement, others: readonly RuledStatement[]): PolicyFinding['finding'] | undefined {
  const cells = rules.flatMap(([table, rule]) => cellsOf(table, rule))
  if (cells.length === 0) return 'names nothing'
  if (rules.every(([, rule]) => isNeverTrue(rule))) return 'never true'
  const rulesOf = (table: Table) => others.flatMap(({ rules: own }) => own.flatMap(([of, rule]) => (of === table ? [rule] : [])))
  const rivals = new Map(rules.map(([table]) => [table, rulesOf(table)]))
  const isCovered = (covers: (cell: RuledCell, rival: Rule) => boolean) =>
    cells.every((cell) =>
      required(rivals.get(cell.table)).some((rival) => appliesTo(rival, BITS[cell.action], cell.column) && covers(cell, rival)),
    )
  if (isCovered(({ rule }, rival) => rule.effect === 'ALLOW' && rival.effect === 'DENY' && rival.when === undefined))
    return 'denied'
  return isCovered(saysTheSame) ? 'repeated' : undefined
}

/** One action on one column, as a rule covers it. */
interface RuledCell {
  readonly table: Table
  readonly rule: Rule
  readonly column: Column
  readonly action: Action
}

/** Actions that are about the tokens of a column. One of a column group stands for all of the group. */
const OF_TOKENS: ReadonlySet<Action> = new Set(['TOKENIZATION', 'DETOKENIZATION'])

/** The actions that say something about a column. */
export function actionsOn({ token, group }: Column): readonly Action[] {
  const hasTokens = token !== undefined || group !== undefined
  return ACTIONS.filter((action) => hasTokens || !OF_TOKENS.has(action))
}

function cellsOf(table: Table, rule: Rule): RuledCell[] {
  return table.columns.flatMap((column) =>
    actionsOn(column)
      .filter((action) => appliesTo(rule, BITS[action], column))
      .map((action) => ({ table, rule, column, action })),
  )
}

/** True for a condition that is false in every row. One on the context of the caller can be true for one of them. */
function isNeverTrue({ when, effect }: Rule): boolean {
  if (when === undefined || when.contextNames.length > 0) return false
  const condition = when.bind(undefined)
  return condition.kind === 'truth' && !appliesFor(effect, condition.truth)
}

/** True if the rival grants or denies the cell at least as widely, and shows it at least as openly. */
function saysTheSame({ rule, column, action }: RuledCell, rival: Rule): boolean {
  if (rival.effect !== rule.effect || (rival.when !== undefined && rival.when.key !== rule.when?.key)) return false
  if (rule.effect === 'DENY' || action !== 'READ') return true
  const level = levelBy(rule, column)
  return lowerLevel(levelBy(rival, column), level) === level
}
