/** Statements that decide nothing are found, and removing all that are found changes no decision. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../../../src/core/policy/compile-policy.ts'
import { explainAccess } from '../../../src/core/policy/explain-access.ts'
import { findIdleStatements } from '../../../src/core/policy/policy-findings.ts'
import { ACTIONS } from '../../../src/core/policy/statement.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import { layoutSchema } from '../../../src/core/schema/layout.ts'
import { column } from '../../../src/index.ts'

const tables = {
  people: {
    name: column.string({ token: 'random', redaction: 'MASKED' }),
    country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
  },
  notes: { text: column.string() },
}
const LAYOUT = layoutSchema(assignIds(tables, EMPTY_CATALOG_SCHEMA))

const findings = (...clerk: readonly string[]) =>
  findIdleStatements(compilePolicy({ clerk }, LAYOUT)).map(({ position, finding }) => `${position} ${finding}`)

describe('findings', () => {
  const cases: readonly (readonly [statements: readonly string[], found: readonly string[]])[] = [
    [['ALLOW READ ON people.*'], []],
    [['ALLOW DETOKENIZATION ON people.country'], ['1 names nothing']],
    [['ALLOW DETOKENIZATION ON people.*'], []],
    [['ALLOW READ ON people.* WHERE FALSE'], ['1 never true']],
    [['ALLOW READ ON people.* WHERE country = ctx.home'], []],
    [['ALLOW READ ON people.name', 'DENY READ ON people.*'], ['1 denied']],
    [['ALLOW READ, UPDATE ON people.name', 'DENY READ ON people.*'], []],
    [["DENY READ ON people.* WHERE country = 'SE'", 'ALLOW READ ON people.name'], []],
    [['ALLOW READ ON people.*', 'ALLOW READ ON people.name'], ['2 repeated']],
    [['ALLOW READ ON people.*', 'ALLOW READ ON people.*'], ['2 repeated']],
    [['ALLOW READ ON people.* WITH REDACTION = MASKED', 'ALLOW READ ON people.country WITH REDACTION = PLAIN_TEXT'], []],
    [['ALLOW READ ON people.country WITH REDACTION = PLAIN_TEXT', 'ALLOW READ ON people.country'], ['2 repeated']],
    [['ALLOW READ ON people.*', "ALLOW READ ON people.* WHERE country = 'SE'"], ['2 repeated']],
    [["ALLOW READ ON people.* WHERE country = 'SE'", 'ALLOW READ ON people.*'], ['1 repeated']],
    [['DENY READ ON *', 'DENY READ ON notes.text'], ['2 repeated']],
    [['ALLOW READ ON people.name', 'ALLOW READ ON people.country', 'ALLOW READ ON people.*'], ['3 repeated']],
    [['ALLOW AUDIT ON *'], []],
  ]
  for (const [statements, found] of cases) it(statements.join('; '), () => expect(findings(...statements)).toEqual(found))

  it('are of the role that has them, in order, and never of a built-in role', () => {
    const policy = compilePolicy(
      { a: ['ALLOW READ ON people.*'], b: ['ALLOW READ ON people.*', 'ALLOW READ ON people.name'] },
      LAYOUT,
    )
    expect(findIdleStatements(policy)).toEqual([
      { role: 'b', position: 2, text: 'ALLOW READ ON people.name', finding: 'repeated' },
    ])
  })
})

const TARGETS = ['people.*', 'people.name', 'people.country', 'notes.*', '*'] as const
const statement = fc
  .record({
    effect: fc.constantFrom('ALLOW', 'ALLOW', 'DENY'),
    actions: fc.subarray(['READ', 'UPDATE', 'DETOKENIZATION', 'SEARCH'], { minLength: 1 }),
    on: fc.constantFrom(...TARGETS),
    level: fc.constantFrom('', ' WITH REDACTION = PLAIN_TEXT', ' WITH REDACTION = MASKED'),
    where: fc.constantFrom('', '', " WHERE country = 'SE'", ' WHERE country = ctx.home', ' WHERE FALSE'),
  })
  .map(({ effect, actions, on, level, where }) => {
    const shown = effect === 'ALLOW' && actions.includes('READ') ? level : ''
    return `${effect} ${actions.join(', ')} ON ${on}${shown}${on.startsWith('people') ? where : ''}`
  })

/** All decisions of a role. Those about tokens of a column without tokens decide nothing. */
function decisions(statements: readonly string[]) {
  const policy = compilePolicy({ clerk: statements }, LAYOUT)
  return [{}, { home: 'SE' }].flatMap((context) =>
    [...LAYOUT.tables.values()].flatMap((table) =>
      ACTIONS.flatMap((action) =>
        explainAccess(policy, { roles: ['clerk'], context }, { action, table }).columns.flatMap((one) => {
          const isOfTokens = action.endsWith('TOKENIZATION') && table.byName.get(one.column)?.token === undefined
          return isOfTokens ? [] : [[action, one.column, one.decision, one.level, one.highestLevel].join(' ')]
        }),
      ),
    ),
  )
}

/** Returns the statements that stay when those that were found are removed. */
function kept(
  statements: readonly string[],
  isFound: (statements: readonly string[]) => readonly { readonly position: number }[],
) {
  const found = new Set(isFound(statements).map(({ position }) => position))
  return statements.filter((_, index) => !found.has(index + 1))
}

const list = fc.array(statement, { maxLength: 6 })
const law = (isFound: Parameters<typeof kept>[1]) =>
  fc.property(list, (statements) => {
    expect(decisions(kept(statements, isFound))).toEqual(decisions(statements))
  })

describe('without what was found', () => {
  it('every decision is the same', () => {
    fc.assert(
      law((statements) => findIdleStatements(compilePolicy({ clerk: statements }, LAYOUT))),
      { numRuns: 500 },
    )
  })

  it('another decision is noticed: a finder that takes each second statement is wrong', () => {
    const wrong = (statements: readonly string[]) =>
      statements.flatMap((_, index) => (index % 2 === 1 ? [{ position: index + 1 }] : []))
    expect(() => fc.assert(law(wrong), { numRuns: 500 })).toThrow()
  })
})
