/** Tests that explanations name the deciding statements, and with an example record decide every column. */
import { describe, expect, it } from 'vitest'
import { isVaultError } from '../../../src/core/errors.ts'
import { compilePolicy } from '../../../src/core/policy/compile-policy.ts'
import { type ColumnExplanation, type ExplainRequest, explainAccess } from '../../../src/core/policy/explain-access.ts'
import { LAYOUT, table } from './sample-vault.ts'

const POLICY = compilePolicy(
  {
    clerk: [
      'ALLOW READ ON persons.*',
      "ALLOW READ ON persons.name\n  WITH REDACTION = PLAIN_TEXT\n  WHERE country = 'S  E'",
      { effect: 'DENY', actions: ['READ'], on: ['persons.ssn'], where: 'age > 17' },
      'ALLOW READ ON persons.age WHERE country = ctx.home',
    ],
    guard: ['DENY READ ON persons.notes'],
  },
  LAYOUT,
)

function explained(name: string, question: Partial<ExplainRequest> = {}, context = {}): ColumnExplanation | undefined {
  const caller = { roles: ['clerk', 'guard', 'unknown'], context }
  const { columns } = explainAccess(POLICY, caller, { action: 'READ', table: table(), ...question })
  return columns.find(({ column }) => column === name)
}

describe('an explanation', () => {
  it('lists each statement relevant to a column, in one line, and whether it applies', () => {
    expect(explained('name')).toEqual({
      column: 'name',
      decision: 'ALLOWED',
      level: 'MASKED',
      highestLevel: 'PLAIN_TEXT',
      statements: [
        { role: 'clerk', position: 1, text: 'ALLOW READ ON persons.*', applies: 'ALWAYS' },
        {
          role: 'clerk',
          position: 2,
          text: "ALLOW READ ON persons.name WITH REDACTION = PLAIN_TEXT WHERE country = 'S  E'",
          applies: 'SOMETIMES',
        },
      ],
    })
  })

  it('prints a typed statement as text', () => {
    const statements = explained('ssn')?.statements
    expect(statements?.[1]).toEqual({
      role: 'clerk',
      position: 3,
      text: 'DENY READ ON persons.ssn WHERE age > 17',
      applies: 'SOMETIMES',
    })
    expect(explained('ssn')).toMatchObject({ decision: 'CONDITIONAL', level: undefined, highestLevel: 'REDACTED' })
  })

  it('names the denial of another role', () => {
    expect(explained('notes')).toMatchObject({ decision: 'DENIED', level: undefined, highestLevel: undefined })
    expect(explained('notes')?.statements.map(({ role }) => role)).toEqual(['clerk', 'guard'])
  })

  it('marks a statement NEVER if the caller context lacks an attribute it uses', () => {
    const appliesOf = (context: Record<string, string>) => explained('age', {}, context)?.statements[1]?.applies
    expect([appliesOf({}), appliesOf({ home: 'SE' })]).toEqual(['NEVER', 'SOMETIMES'])
  })

  it('names the grants that imply SEARCH', () => {
    const policy = compilePolicy({ writer: ['ALLOW UPDATE ON persons.*', 'DENY SEARCH ON persons.*'] }, LAYOUT)
    const { columns } = explainAccess(policy, { roles: ['writer'] }, { action: 'SEARCH', table: table() })
    const [ssn, email] = ['ssn', 'email'].map((name) => columns.find(({ column }) => column === name))
    expect([ssn?.decision, ssn?.statements.length]).toEqual(['DENIED', 1])
    expect([email?.decision, email?.statements.length]).toEqual(['ALLOWED', 2])
  })

  it('of AUDIT is the same for every column', () => {
    const decisions = (role: string) => {
      const { columns } = explainAccess(POLICY, { roles: [role] }, { action: 'AUDIT', table: table() })
      return new Set(columns.map(({ decision }) => decision))
    }
    expect([decisions('VAULT_OWNER'), decisions('VAULT_EDITOR')]).toEqual([new Set(['ALLOWED']), new Set(['DENIED'])])
  })
})

describe('an example record', () => {
  it('decides every condition', () => {
    const adult = { record: { country: 'S  E', age: 18 } }
    expect(explained('name', adult)).toMatchObject({ decision: 'ALLOWED', level: 'PLAIN_TEXT', highestLevel: 'PLAIN_TEXT' })
    expect(explained('ssn', adult)).toMatchObject({ decision: 'DENIED', level: undefined })
    expect(explained('ssn', { record: { age: 17 } })).toMatchObject({ decision: 'ALLOWED', level: 'REDACTED' })
    expect(explained('ssn', { record: {} })?.decision).toBe('DENIED')
  })

  it('is rejected if the table cannot hold it, without repeating a value', () => {
    const cases: readonly (readonly [record: unknown, code: 'invalid_request' | 'unprocessable', sentence: string])[] = [
      [{ contry: 'canary' }, 'invalid_request', 'Column "contry" of table "persons" is invalid.'],
      [{ age: 'canary' }, 'unprocessable', 'Column "age" of table "persons" in record must be'],
      [['canary'], 'invalid_request', 'record must be an object'],
      [null, 'invalid_request', 'record must be an object'],
    ]
    for (const [record, code, sentence] of cases) {
      // JavaScript callers can pass values that the type excludes.
      const thrown = caught(() => explained('age', { record: record as Record<string, unknown> }))
      expect(isVaultError(thrown, code) && thrown.message).toContain(sentence)
      expect(String(thrown)).not.toContain('canary')
    }
  })

  it('rejects an unknown action', () => {
    const thrown = caught(() => explained('age', { action: 'PEEK' as 'READ' })) // A JavaScript caller may send any text.
    expect(isVaultError(thrown, 'invalid_request') && thrown.message).toContain('Action "PEEK" is unknown. Supported: CREATE')
  })
})

function caught(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
