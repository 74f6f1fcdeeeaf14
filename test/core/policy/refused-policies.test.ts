/** Tests that `compilePolicy` rejects invalid policies and names role, statement, line and column, and what was expected. */
import { describe, expect, it } from 'vitest'
import { isVaultError } from '../../../src/core/errors.ts'
import { compilePolicy } from '../../../src/core/policy/compile-policy.ts'
import type { PolicyDefinition } from '../../../src/core/policy/statement.ts'
import { LAYOUT } from './sample-vault.ts'

/** The error message, or undefined if the policy is accepted. */
function refusalOf(definition: unknown): string | undefined {
  try {
    // JavaScript callers can pass values that the type excludes.
    compilePolicy(definition as PolicyDefinition, LAYOUT)
    return undefined
  } catch (error) {
    if (!isVaultError(error)) throw error
    return error.message
  }
}

const OF_STATEMENT = 'Invalid policy: statement 1 of role "clerk"'

describe('a statement in text form is rejected with its line and column', () => {
  const cases: readonly (readonly [statement: string, line: number, column: number, sentence: string])[] = [
    ['', 1, 1, 'Expected ALLOW or DENY.'],
    ['GRANT READ ON *', 1, 1, 'Expected ALLOW or DENY.'],
    ['ALLOW', 1, 6, 'Expected an action such as READ or ALL.'],
    ['ALLOW ON *', 1, 7, 'Expected an action such as READ or ALL.'],
    ['ALLOW READ, ON *', 1, 13, 'Expected an action such as READ or ALL.'],
    ["ALLOW 'READ' ON *", 1, 7, 'Expected an action such as READ or ALL.'],
    ['ALLOW REED ON *', 1, 7, 'Action "reed" is unknown.'],
    ['ALLOW READ, ALL ON *', 1, 13, 'ALL includes every other action.'],
    ['ALLOW READ', 1, 11, 'Expected ON.'],
    ['ALLOW READ WRITE ON *', 1, 12, 'Expected ON.'],
    ['ALLOW READ ON', 1, 14, 'Expected *, table.* or table.column.'],
    ['ALLOW READ ON persons', 1, 22, 'Expected ".".'],
    ['ALLOW READ ON persons.', 1, 23, 'Expected a column or *.'],
    ['ALLOW READ ON persons.name,', 1, 28, 'Expected *, table.*'],
    ['ALLOW READ ON persons.name.first', 1, 27, 'Expected ",", WITH, WHERE or the end.'],
    ['ALLOW READ ON persns.name', 1, 15, 'Table "persns" does not exist.'],
    ['ALLOW READ ON orders.*,\n  persons.naem', 2, 3, 'Column "naem" of table "persons" does not exist.'],
    ['ALLOW READ ON\r\n\tpersons.name,\r\n\tpersons.id', 3, 2, 'Column "id" of table "persons" does not exist.'],
    ['ALLOW READ ON "4111 1111".name', 1, 15, 'Table (not a valid name) does not exist.'],
    ['ALLOW READ ON * WITH', 1, 21, 'Expected REDACTION.'],
    ['ALLOW READ ON * WITH REDACTION MASKED', 1, 32, 'Expected "=".'],
    ['ALLOW READ ON * WITH REDACTION = HIDDEN', 1, 34, 'Redaction "hidden" is unknown.'],
    ['ALLOW READ ON * WITH REDACTION =', 1, 33, 'Expected PLAIN_TEXT, MASKED, REDACTED or DEFAULT.'],
    ['DENY READ ON * WITH REDACTION = MASKED', 1, 33, 'DENY cannot have a redaction'],
    ['ALLOW UPDATE ON * WITH REDACTION = MASKED', 1, 36, 'A redaction requires READ.'],
    ['ALLOW READ ON * WITH REDACTION = MASKED MASKED', 1, 41, 'Expected WHERE or the end.'],
    ['ALLOW READ ON *; ALLOW READ ON *', 1, 18, 'Expected ",", WITH, WHERE or the end.'],
    ['ALLOW AUDIT ON persons.*', 1, 7, 'AUDIT can only be granted ON *.'],
    ['DENY READ, AUDIT ON persons.name', 1, 12, 'AUDIT can only be granted ON *.'],
    ["ALLOW READ ON * WHERE country = 'SE'", 1, 15, 'A statement with WHERE must target one table.'],
    ["ALLOW READ ON persons.*, orders.* WHERE country = 'SE'", 1, 26, 'A statement with WHERE must target one table.'],
    ['ALLOW READ ON persons.* WHERE', 1, 30, 'Expected'],
    ["ALLOW READ ON persons.* WHERE country = 'SE' WITH REDACTION = MASKED", 1, 46, 'Expected AND, OR or the end.'],
    ['ALLOW READ ON persons.* WHERE contry IS NULL', 1, 31, 'Column "contry" of table "persons" does not exist.'],
    ['ALLOW READ ON persons.* WHERE persons.contry IS NULL', 1, 31, 'Column "contry" of table "persons" does not exist.'],
    ['ALLOW READ ON persons.* WHERE orders.total IS NULL', 1, 31, 'The condition is about table "persons"'],
    ["ALLOW READ ON persons.* WHERE country = 'SE'\n  AND otp = '1'", 2, 7, ''],
    ['ALLOW READ ON persons.* WHERE age = TRUE', 1, 37, ''],
    ["ALLOW READ ON persons.* WHERE age = 'old'", 1, 37, ''],
    ['ALLOW READ ON persons.* WHERE notes = age', 1, 31, ''],
    [
      'ALLOW READ ON persons.* WHERE country = ctx.home OR NOT country LIKE name',
      1,
      70,
      'A LIKE pattern in a policy cannot be a column.',
    ],
    ["ALLOW READ ON persons.* WHERE country LIKE 'a\\'", 1, 44, ''],
    ["ALLOW READ ON persons.* WHERE country = 'SE", 1, 41, ''],
  ]
  it.each(cases)('%s', (statement, line, column, sentence) => {
    expect(refusalOf({ clerk: [statement] })).toContain(`${OF_STATEMENT}, line ${line}, column ${column}: ${sentence}`)
  })

  it('names the number of the invalid statement', () => {
    expect(refusalOf({ reader: ['ALLOW READ ON *'], clerk: ['ALLOW READ ON *', 'DENY READ'] })).toContain(
      'statement 2 of role "clerk", line 1, column 10: Expected ON.',
    )
  })
})

describe('a typed statement is rejected with its member', () => {
  const good = { effect: 'ALLOW', actions: ['READ'], on: ['persons.*'] }
  const cases: readonly (readonly [sentence: string, statement: unknown])[] = [
    [': Expected a statement, as text or as an object.', undefined],
    [': Expected a statement, as text or as an object.', null],
    [': Expected a statement, as text or as an object.', 7],
    [': Expected a statement, as text or as an object.', [good]],
    [': Member "efect" is unknown. Expected effect, actions, on, redaction, where.', { ...good, efect: 'DENY' }],
    [': Member (not a valid name) is unknown.', { ...good, 'a b': 1 }],
    [', effect: Expected a string.', { actions: ['READ'], on: ['*'] }],
    [', effect: Expected ALLOW or DENY.', { ...good, effect: 'PERMIT' }],
    [', actions: Expected a non-empty array of strings.', { ...good, actions: 'READ' }],
    [', actions: Expected a non-empty array of strings.', { ...good, actions: [] }],
    [', actions: Expected a string.', { ...good, actions: [1] }],
    [', actions: Action "WRITE" is unknown.', { ...good, actions: ['READ', 'WRITE'] }],
    [', actions: ALL includes every other action.', { ...good, actions: ['ALL', 'READ'] }],
    [', actions: AUDIT can only be granted ON *.', { ...good, actions: ['AUDIT'] }],
    [', on: Expected a non-empty array of strings.', { ...good, on: undefined }],
    [', on: Expected *, table.* or table.column.', { ...good, on: ['persons'] }],
    [', on: Expected *, table.* or table.column.', { ...good, on: ['persons.*, orders.*'] }],
    [', on: Table "persns" does not exist.', { ...good, on: ['persns.*'] }],
    [', on: Column "naem" of table "persons" does not exist.', { ...good, on: ['persons.*', 'persons.naem'] }],
    [', redaction: Redaction "SECRET" is unknown.', { ...good, redaction: 'SECRET' }],
    [', redaction: Expected a string.', { ...good, redaction: null }],
    [', redaction: DENY cannot have a redaction', { ...good, effect: 'DENY', redaction: 'MASKED' }],
    [', on: A statement with WHERE must target one table.', { ...good, on: ['*'], where: 'age > 1' }],
    [', where: Expected a string.', { ...good, where: 7 }],
    [', where, line 1, column 1: Expected', { ...good, where: '' }],
    [', where, line 2, column 5: Column "contry" of table "persons"', { ...good, where: 'age > 1\nAND contry IS NULL' }],
    [', where, line 1, column 9: Expected AND, OR or the end.', { ...good, where: 'age > 1 WITH' }],
  ]
  it.each(cases)('%s', (sentence, statement) => {
    expect(refusalOf({ clerk: [statement] })).toContain(`${OF_STATEMENT}${sentence}`)
  })
})

describe('compilePolicy rejects a policy', () => {
  it('that is not an object of arrays', () => {
    for (const definition of [null, [], 'ALLOW ALL ON *', 7])
      expect(refusalOf(definition)).toContain('expected an object of roles by name')
    expect(refusalOf({ clerk: 'ALLOW ALL ON *' })).toContain('role "clerk" must be an array of statements.')
  })

  it('that redefines a built-in role', () => {
    for (const role of ['VAULT_OWNER', 'VAULT_EDITOR', 'VAULT_VIEWER']) {
      expect(refusalOf({ [role]: ['ALLOW READ ON *'] })).toContain(`role "${role}" is built in and cannot be redefined.`)
    }
  })

  it('whose role name is empty or too long', () => {
    expect(refusalOf({ '': [] })).toContain('must have 1 to 128 characters')
    expect(refusalOf({ ['r'.repeat(129)]: [] })).toContain('must have 1 to 128 characters')
    expect(refusalOf({ ['r'.repeat(128)]: [] })).toBe(undefined)
  })

  it('and does not repeat a role name of several words', () => {
    expect(refusalOf({ 'ann (4111 1111)': ['ALLOW'] })).toContain('of role (not a single word), line 1')
  })

  it('with more than 30 conditional statements for one table over all roles', () => {
    const some = (count: number, from = 0) =>
      Array.from({ length: count }, (_, i) => `ALLOW READ ON persons.* WHERE age = ${from + i}`)
    const other = ['ALLOW READ ON orders.* WHERE total > 1', 'ALLOW READ ON persons.*']
    expect(refusalOf({ clerk: [...some(15), ...other], reader: some(15, 15) })).toBe(undefined)
    expect(refusalOf({ clerk: [...some(15), ...other], reader: some(16, 15) })).toContain(
      'table "persons" has 31 statements with WHERE over all roles; the limit is 30.',
    )
  })

  it('and repeats no literal of its conditions', () => {
    for (const where of ["name = 'canary-7341", "age = 'canary-7341'", "canary_7341_is 'canary-7341'", "notes = 'canary-7341'"]) {
      const message = refusalOf({ clerk: [`ALLOW READ ON persons.* WHERE ${where}`] })
      expect(message).toContain('Invalid policy:')
      expect(message).not.toContain('canary-7341')
    }
  })
})

describe('the code of a rejected policy', () => {
  const codeOf = (definition: PolicyDefinition): string | undefined => {
    try {
      compilePolicy(definition, LAYOUT)
      return undefined
    } catch (error) {
      return isVaultError(error) ? error.code : 'another error'
    }
  }

  it.each([
    ['ALLOW READ', 'invalid_request'],
    ['ALLOW READ ON persns.*', 'invalid_request'],
    ['ALLOW READ ON persons.* WHERE naem IS NULL', 'invalid_request'],
    ['ALLOW READ ON persons.* WHERE age = TRUE', 'unprocessable'],
    ['ALLOW READ ON persons.* WHERE age <= 5', 'unsupported'],
    [`ALLOW READ ON persons.* WHERE ${'('.repeat(65)}age = 1${')'.repeat(65)}`, 'limit_exceeded'],
  ])('of %j is %s', (statement, code) => {
    expect(codeOf({ clerk: [statement] })).toBe(code)
  })

  it('is limit_exceeded for too many conditional statements', () => {
    const statements = Array.from({ length: 31 }, (_, age) => `ALLOW READ ON persons.* WHERE age = ${age}`)
    expect(codeOf({ clerk: statements })).toBe('limit_exceeded')
  })
})
