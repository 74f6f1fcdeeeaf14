/** Property tests of access: random policies decide every row and column like a slow oracle, and one DENY more never shows more. */
import { describe, expect, it } from 'vitest'
import type { Condition, ValueOf } from '../../../src/core/expressions/condition.ts'
import { compileCondition } from '../../../src/core/expressions/evaluate-condition.ts'
import { compilePolicy } from '../../../src/core/policy/compile-policy.ts'
import { accessOf } from '../../../src/core/policy/create-access.ts'
import { explainAccess } from '../../../src/core/policy/explain-access.ts'
import { ACTIONS, type Action, type StatementDefinition } from '../../../src/core/policy/statement.ts'
import type { RequiredGrant, RowAccess, TableAccess } from '../../../src/core/policy/table-access.ts'
import { REDACTION_LEVELS } from '../../../src/core/redaction.ts'
import type { Column } from '../../../src/core/schema/column-layout.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { CONDITIONS, type ExampleContext, type ExampleRow, oracleLevel, oracleMay, type Situation } from './access-oracle.ts'
import { LAYOUT, table } from './sample-vault.ts'

const CASES = 2_000
const PERSONS = table()
const TABLE_ACTIONS = ACTIONS.filter((action) => action !== 'AUDIT')

const ROWS: readonly ExampleRow[] = ['SE', 'DE', null].flatMap((country) => [20, 40, null].map((age) => ({ country, age })))
const CONTEXTS: readonly ExampleContext[] = [{}, { home: 'SE' }, { home: 'DE', other: 7 }]

type Random = () => number

function pick<T>(random: Random, list: readonly T[]): T {
  const picked = list[Math.floor(random() * list.length)]
  if (picked === undefined) throw new Error('nothing to pick from')
  return picked
}

function several<T>(random: Random, list: readonly T[]): T[] {
  const kept = list.filter(() => random() < 0.3)
  return kept.length === 0 ? [pick(random, list)] : kept
}

function randomStatement(random: Random): StatementDefinition {
  const isWhole = random() < 0.15
  const where = isWhole || random() < 0.4 ? undefined : pick(random, Object.keys(CONDITIONS))
  const columns = PERSONS.columns.map((column) => `persons.${column.name}`)
  const on = isWhole ? ['*'] : random() < 0.3 ? ['persons.*'] : several(random, columns)
  const actions = random() < 0.2 ? (['ALL'] as const) : several(random, TABLE_ACTIONS)
  const common = { actions, on, ...(where === undefined ? {} : { where }) }
  if (random() < 0.3) return { effect: 'DENY', ...common }
  const shows = actions.some((action) => action === 'READ' || action === 'ALL')
  const redaction = shows && random() < 0.6 ? pick(random, [...REDACTION_LEVELS, 'DEFAULT'] as const) : undefined
  return { effect: 'ALLOW', ...common, ...(redaction === undefined ? {} : { redaction }) }
}

function asText({ effect, actions, on, where, ...rest }: StatementDefinition): string {
  const redaction = 'redaction' in rest && rest.redaction !== undefined ? ` with redaction = ${rest.redaction}` : ''
  return `${effect} ${actions.join(', ')} ON ${on.join(' , ')}${redaction}${where === undefined ? '' : `\nWHERE ${where}`}`
}

/** Statements in two roles of a policy, as text or objects. */
function accessBy(random: Random, statements: readonly StatementDefinition[], context: ExampleContext): TableAccess {
  return accessOf(policyOf(random, statements), { roles: ['first', 'second'], context }).table(PERSONS)
}

function policyOf(random: Random, statements: readonly StatementDefinition[]): ReturnType<typeof compilePolicy> {
  const cut = Math.floor(random() * (statements.length + 1))
  const written = statements.map((statement) => (random() < 0.5 ? statement : asText(statement)))
  return compilePolicy({ first: written.slice(0, cut), second: written.slice(cut) }, LAYOUT)
}

function valueOfRow(row: ExampleRow): ValueOf {
  return ({ column }) => (column?.name === 'country' ? row.country : column?.name === 'age' ? row.age : null)
}

function truthIn(row: ExampleRow): (condition: Condition) => boolean | undefined {
  return (condition) => compileCondition(condition)(valueOfRow(row))
}

function rowAccess(access: TableAccess, row: ExampleRow): RowAccess {
  return access.forRow(access.conditions.map(truthIn(row)))
}

/** The grants of a row as text, one line per column. Equal only if all grants are equal. */
function printed(access: RowAccess): string {
  const line = (column: Column) =>
    `${column.name} ${access.level(column)} ${TABLE_ACTIONS.filter((action) => access.allows(action, column))}`
  return PERSONS.columns.map(line).join('\n')
}

function printedOracle(situation: Situation): string {
  const line = (column: Column) =>
    `${column.name} ${oracleLevel(situation, column)} ${TABLE_ACTIONS.filter((action) => oracleMay(situation, action, column))}`
  return PERSONS.columns.map(line).join('\n')
}

function randomNeed(random: Random): RequiredGrant {
  const action = pick<Action>(random, TABLE_ACTIONS)
  return { action, columns: random() < 0.3 ? [] : several(random, PERSONS.columns) }
}

interface Case extends Omit<Situation, 'row'> {
  readonly random: Random
  readonly access: TableAccess
}

function forCases(name: string, check: (one: Case) => void): void {
  const random = seededRandom(name)
  for (let index = 0; index < CASES; index++) {
    const statements = Array.from({ length: Math.floor(random() * 6) }, () => randomStatement(random))
    const context = pick(random, CONTEXTS)
    check({ random, table: PERSONS, statements, context, access: accessBy(random, statements, context) })
  }
}

describe('random policies', () => {
  it('grant in every row exactly what the oracle grants', () => {
    const seen = { shown: 0, hidden: 0, conditional: 0 }
    forCases('policy-oracle', ({ access, statements, table, context }) => {
      const granted = ROWS.map((row) => printed(rowAccess(access, row))).join('\n')
      expect(granted).toBe(ROWS.map((row) => printedOracle({ table, statements, row, context })).join('\n'))
      if (access.conditions.length > 0) seen.conditional++
      for (const column of table.columns) seen[access.possiblyVisible(column) ? 'shown' : 'hidden']++
    })
    // Policies that never apply would also pass, so this run must contain every kind.
    expect(Math.min(seen.shown, seen.hidden, seen.conditional)).toBeGreaterThan(CASES / 4)
  })

  it('possibly grant what some row grants, and always grant only what every row grants', () => {
    forCases('policy-bounds', ({ access, random }) => {
      const rows = ROWS.map((row) => rowAccess(access, row))
      const need = randomNeed(random)
      if (rows.some((row) => row.meets(need))) expect(access.possiblyMeets(need)).toBe(true)
      if (!rows.every((row) => row.meets(need))) expect(access.alwaysMeets(need)).toBe(false)
      for (const column of PERSONS.columns) {
        if (rows.some((row) => row.level(column) !== undefined)) expect(access.possiblyVisible(column)).toBe(true)
        if (rows.some((row) => row.allows(need.action, column))) expect(access.possiblyAllows(need.action, column)).toBe(true)
      }
      expect(access.hasAnyGrant).toBe(TABLE_ACTIONS.some((action) => access.possiblyMeets({ action, columns: [] })))
    })
  })

  it('push down a condition that finds exactly the rows that meet a need', () => {
    let asked = 0
    forCases('policy-necessary', ({ access, random }) => {
      for (const need of [randomNeed(random), { action: 'SEARCH', columns: [pick(random, PERSONS.columns)] } as const]) {
        const necessary = access.pushdownCondition(need)
        if (necessary.kind !== 'truth') asked++
        const found = ROWS.map((row) => truthIn(row)(necessary) === true)
        expect(found).toEqual(ROWS.map((row) => rowAccess(access, row).meets(need)))
      }
    })
    expect(asked).toBeGreaterThan(CASES / 10)
  })

  it('list the columns of their conditions', () => {
    forCases('policy-evaluated', ({ access }) => {
      for (const column of access.conditionColumns) expect(['country', 'age']).toContain(column.name)
      expect(access.conditionColumns.length > 0).toBe(access.conditions.length > 0)
    })
  })

  it('show no more with one DENY more, and no less with one ALLOW more', () => {
    forCases('policy-monotone', ({ random, statements, context, access }) => {
      const extra = randomStatement(random)
      const more = accessBy(random, [...statements, extra], context)
      const [less, richer] = extra.effect === 'DENY' ? [more, access] : [access, more]
      expect(ROWS.flatMap((row) => excess(rowAccess(less, row), rowAccess(richer, row)))).toEqual([])
    })
  })

  it('are explained as they decide, with a record and without', () => {
    forCases('policy-explained', ({ random, statements, context }) => {
      const policy = policyOf(random, statements)
      const caller = { roles: ['first', 'second'], context }
      const access = accessOf(policy, caller).table(PERSONS)
      const action = pick<Action>(random, TABLE_ACTIONS)
      const row = pick(random, ROWS)
      const open = explainAccess(policy, caller, { action, table: PERSONS })
      const explained = explainAccess(policy, caller, { action, table: PERSONS, record: { ...row } })
      const here = rowAccess(access, row)
      expect(open.columns.map(({ decision }) => decision)).toEqual(
        PERSONS.columns.map((column) => {
          const need: RequiredGrant = { action, columns: [column] }
          return access.alwaysMeets(need) ? 'ALLOWED' : access.possiblyMeets(need) ? 'CONDITIONAL' : 'DENIED'
        }),
      )
      expect(explained.columns.map(({ decision, level, highestLevel }) => [decision, level, highestLevel])).toEqual(
        PERSONS.columns.map((column) => {
          const level = here.level(column)
          return [here.allows(action, column) ? 'ALLOWED' : 'DENIED', level, level]
        }),
      )
    })
  })
})

const HEIGHTS = ['REDACTED', 'MASKED', 'PLAIN_TEXT']

/** The grants of one row that the other does not have. */
function excess(one: RowAccess, other: RowAccess): string[] {
  return PERSONS.columns.flatMap((column) => {
    const isHigher = HEIGHTS.indexOf(one.level(column) ?? '') > HEIGHTS.indexOf(other.level(column) ?? '')
    const actions = TABLE_ACTIONS.filter((action) => one.allows(action, column) && !other.allows(action, column))
    return [...(isHigher ? [`level of ${column.name}`] : []), ...actions.map((action) => `${action} on ${column.name}`)]
  })
}
