/** Tests how statements combine: deny by default, DENY wins, the highest level applies, and which grants are implied. */
import { describe, expect, it } from 'vitest'
import { ACTIONS, type PolicyDefinition } from '../../../src/core/policy/statement.ts'
import { accessBy, accessUnder, columnAt, table } from './sample-vault.ts'

const NAME = columnAt('name')
const SSN = columnAt('ssn')
const EMAIL = columnAt('email')
const COUNTRY = columnAt('country')

describe('levels', () => {
  const cases: readonly (readonly [sentence: string, statements: PolicyDefinition[string], level: string | undefined])[] = [
    ['no statement hides', [], undefined],
    ['another column said hides', ['ALLOW READ ON persons.ssn'], undefined],
    ["without a redaction the column's own level holds", ['ALLOW READ ON persons.name'], 'MASKED'],
    ['DEFAULT is the same as saying nothing', ['ALLOW READ ON persons.name WITH REDACTION = DEFAULT'], 'MASKED'],
    ['a redaction may raise the level', ['ALLOW READ ON persons.name WITH REDACTION = PLAIN_TEXT'], 'PLAIN_TEXT'],
    ['a redaction may lower the level', ['ALLOW READ ON persons.name WITH REDACTION = REDACTED'], 'REDACTED'],
    [
      'of several the highest counts, whatever the order',
      ['ALLOW READ ON persons.name WITH REDACTION = PLAIN_TEXT', 'ALLOW READ ON persons.name WITH REDACTION = REDACTED'],
      'PLAIN_TEXT',
    ],
    ['DENY READ hides', ['ALLOW READ ON persons.name', 'DENY READ ON persons.name'], undefined],
    ['DENY wins over a later ALLOW', ['DENY READ ON persons.name', 'ALLOW ALL ON *'], undefined],
    ['DENY ALL hides', ['ALLOW READ ON persons.name', 'DENY ALL ON persons.*'], undefined],
    ['DENY of everything hides', ['ALLOW READ ON persons.name', 'DENY READ ON *'], undefined],
    ['DENY of another action hides nothing', ['ALLOW ALL ON persons.*', 'DENY UPDATE, SEARCH ON persons.*'], 'MASKED'],
    ['DENY of another table hides nothing', ['ALLOW ALL ON persons.*', 'DENY ALL ON orders.*'], 'MASKED'],
    [
      'granting another action shows nothing',
      ['ALLOW CREATE, UPDATE, DELETE, DETOKENIZATION, TOKENIZATION, SEARCH ON *'],
      undefined,
    ],
    ['text in any case means the same', ['allow Read on PERSONS.Name with redaction = plain_text;'], 'PLAIN_TEXT'],
    [
      'a typed statement means the same',
      [{ effect: 'ALLOW', actions: ['READ'], on: ['persons.*'], redaction: 'PLAIN_TEXT' }],
      'PLAIN_TEXT',
    ],
  ]
  it.each(cases)('%s', (_, statements, level) => {
    const access = accessBy(...statements)
    expect(access.forRow([]).level(NAME)).toBe(level)
    expect(access.possiblyVisible(NAME)).toBe(level !== undefined)
  })

  it('roles add up, and a DENY in one wins over an ALLOW in another', () => {
    const policy: PolicyDefinition = {
      reader: ['ALLOW READ ON persons.*'],
      auditor: ['ALLOW READ ON persons.ssn WITH REDACTION = PLAIN_TEXT'],
      outsider: ['DENY READ ON persons.ssn'],
    }
    const levelFor = (...roles: string[]) => accessUnder(policy, roles).table(table()).forRow([]).level(SSN)
    expect(levelFor('reader')).toBe('REDACTED')
    expect(levelFor('auditor', 'reader')).toBe('PLAIN_TEXT')
    expect(levelFor('reader', 'auditor', 'outsider')).toBe(undefined)
    expect(levelFor('VAULT_OWNER', 'outsider')).toBe(undefined)
  })

  it('an unknown role grants nothing, even if it has the name of an inherited object member', () => {
    for (const role of ['unknown', 'constructor', '__proto__', 'toString', 'vault_owner']) {
      const access = accessUnder({}, [role])
      expect(access.table(table()).hasAnyGrant).toBe(false)
      expect(ACTIONS.filter((action) => access.possiblyAllowsAnywhere(action))).toEqual([])
    }
  })
})

describe('views', () => {
  const access = accessBy('ALLOW READ ON persons.name, persons.email', 'ALLOW READ ON persons.ssn WITH REDACTION = PLAIN_TEXT')
  const levels = (asked: 'DEFAULT' | 'PLAIN_TEXT' | 'MASKED' | 'REDACTED') =>
    Object.fromEntries(
      access
        .forRow([])
        .views(table().columns, asked)
        .map((view) => [view.column.name, view.level]),
    )

  it('show the lower of the requested and the granted level, and no hidden column', () => {
    expect(levels('PLAIN_TEXT')).toEqual({ name: 'MASKED', ssn: 'PLAIN_TEXT', email: 'PLAIN_TEXT' })
    // What has no mask is redacted.
    expect(levels('MASKED')).toEqual({ name: 'MASKED', ssn: 'REDACTED', email: 'REDACTED' })
    expect(levels('REDACTED')).toEqual({ name: 'REDACTED', ssn: 'REDACTED', email: 'REDACTED' })
  })

  it("at DEFAULT show the column's own level, even if more is granted", () => {
    expect(levels('DEFAULT')).toEqual({ name: 'MASKED', ssn: 'REDACTED', email: 'PLAIN_TEXT' })
  })

  it('keep the requested order and cache the last list', () => {
    const columns = [EMAIL, COUNTRY, NAME]
    const row = access.forRow([])
    const views = row.views(columns, 'DEFAULT')
    expect(views.map(({ column }) => column.name)).toEqual(['email', 'name'])
    expect(row.views(columns, 'DEFAULT')).toBe(views)
    expect(row.views([NAME], 'DEFAULT').map(({ column }) => column.name)).toEqual(['name'])
    expect(row.views(columns, 'DEFAULT')).toEqual(views)
  })
})

describe('SEARCH', () => {
  const cases: readonly (readonly [sentence: string, statements: PolicyDefinition[string], ssn: boolean, email: boolean])[] = [
    ['comes of SEARCH', ['ALLOW SEARCH ON persons.*'], true, true],
    ['comes of READ in plain text', ['ALLOW READ ON persons.*'], false, true],
    ['comes of READ raised to plain text', ['ALLOW READ ON persons.* WITH REDACTION = PLAIN_TEXT'], true, true],
    ['does not come of READ below plain text', ['ALLOW READ ON persons.* WITH REDACTION = MASKED'], false, false],
    ['comes of CREATE on a unique column', ['ALLOW CREATE ON persons.*'], false, true],
    ['comes of UPDATE on a unique column', ['ALLOW UPDATE ON persons.*'], false, true],
    ['does not come of DELETE', ['ALLOW DELETE ON persons.*'], false, false],
    ['is taken by DENY SEARCH', ['ALLOW SEARCH ON persons.*', 'DENY SEARCH ON persons.*'], false, false],
    [
      'is removed by DENY SEARCH even if READ shows plain text',
      ['ALLOW READ ON persons.* WITH REDACTION = PLAIN_TEXT', 'DENY SEARCH ON persons.*'],
      false,
      false,
    ],
    [
      'stays with callers who can write a unique column, despite a DENY',
      ['ALLOW CREATE ON persons.*', 'DENY SEARCH ON persons.*'],
      false,
      true,
    ],
    ['ends with the grant to write', ['ALLOW CREATE ON persons.*', 'DENY CREATE ON persons.*'], false, false],
    ['does not come of a READ that is denied', ['ALLOW READ ON persons.*', 'DENY READ ON persons.*'], false, false],
  ]
  it.each(cases)('%s', (_, statements, ssn, email) => {
    const access = accessBy(...statements)
    expect([access.possiblyAllows('SEARCH', SSN), access.possiblyAllows('SEARCH', EMAIL)]).toEqual([ssn, email])
    expect(access.alwaysMeets({ action: 'SEARCH', columns: [SSN, EMAIL] })).toBe(ssn && email)
    expect(access.pushdownCondition({ action: 'SEARCH', columns: [EMAIL] })).toEqual({ kind: 'truth', truth: email })
  })
})

describe('needs', () => {
  const access = accessBy('ALLOW DELETE ON persons.*', 'DENY DELETE ON persons.ssn', 'ALLOW UPDATE ON persons.name')

  it('are met if the action is granted on every listed column', () => {
    expect(access.possiblyMeets({ action: 'DELETE', columns: [NAME, EMAIL] })).toBe(true)
    expect(access.possiblyMeets({ action: 'DELETE', columns: [NAME, SSN] })).toBe(false)
    expect(access.possiblyMeets({ action: 'DELETE', columns: table().columns })).toBe(false)
  })

  it('without columns are met by one granted column', () => {
    expect(access.alwaysMeets({ action: 'UPDATE', columns: [] })).toBe(true)
    expect(access.alwaysMeets({ action: 'CREATE', columns: [] })).toBe(false)
  })

  it('a table without grants has none', () => {
    const mixed = accessUnder({ clerk: ['ALLOW READ ON orders.memo', 'DENY ALL ON persons.*'] }, ['clerk'])
    expect([mixed.table(table()).hasAnyGrant, mixed.table(table('orders')).hasAnyGrant]).toEqual([false, true])
    expect([mixed.possiblyAllowsAnywhere('READ'), mixed.possiblyAllowsAnywhere('CREATE')]).toEqual([true, false])
  })
})

describe('AUDIT', () => {
  const cases: readonly (readonly [sentence: string, statements: PolicyDefinition[string], mayAudit: boolean])[] = [
    ['is not granted by default', ['ALLOW READ ON *'], false],
    ['is granted ON *', ['ALLOW AUDIT ON *'], true],
    ['is part of ALL ON *', ['ALLOW ALL ON *'], true],
    ['is no part of ALL on tables', ['ALLOW ALL ON persons.*, orders.*, ctx.*'], false],
    ['is denied ON *', ['ALLOW ALL ON *', 'DENY AUDIT ON *'], false],
    ['is denied by DENY ALL ON *', ['ALLOW AUDIT ON *', 'DENY ALL ON *'], false],
    ['is not denied by DENY ALL on tables', ['ALLOW AUDIT ON *', 'DENY ALL ON persons.*, orders.*, ctx.*'], true],
  ]
  it.each(cases)('%s', (_, statements, mayAudit) => {
    const access = accessUnder({ clerk: statements }, ['clerk'])
    expect(access.allowsAudit).toBe(mayAudit)
    expect(access.possiblyAllowsAnywhere('AUDIT')).toBe(mayAudit)
  })

  it('alone grants nothing on any table', () => {
    expect(accessBy('ALLOW AUDIT ON *').hasAnyGrant).toBe(false)
  })
})

describe('built-in roles', () => {
  const held = (role: string) => {
    const access = accessUnder({}, [role])
    return ACTIONS.filter((action) => access.possiblyAllowsAnywhere(action))
  }

  it('grant the actions of their statements', () => {
    expect(held('VAULT_OWNER')).toEqual(ACTIONS)
    expect(held('VAULT_EDITOR')).toEqual(ACTIONS.filter((action) => action !== 'AUDIT'))
    // READ implies SEARCH on columns whose own level is PLAIN_TEXT.
    expect(held('VAULT_VIEWER')).toEqual(['READ', 'SEARCH'])
  })

  it('show the owner plain text, and others each column at its own level', () => {
    const levels = (role: string) =>
      table().columns.map((column) => accessUnder({}, [role]).table(table()).forRow([]).level(column))
    expect(new Set(levels('VAULT_OWNER'))).toEqual(new Set(['PLAIN_TEXT']))
    expect(levels('VAULT_EDITOR')).toEqual(table().columns.map((column) => column.level))
    expect(levels('VAULT_VIEWER')).toEqual(levels('VAULT_EDITOR'))
  })

  it('need no condition and share one access', () => {
    const policy = { clerk: ["ALLOW READ ON persons.* WHERE country = 'SE'"] }
    const owner = accessUnder(policy, ['VAULT_OWNER']).table(table())
    expect([owner.conditions, owner.conditionColumns]).toEqual([[], []])
    expect(owner.alwaysMeets({ action: 'DELETE', columns: table().columns })).toBe(true)
    expect(owner.pushdownCondition({ action: 'READ', columns: [] })).toEqual({ kind: 'truth', truth: true })
    expect(owner.forRow([])).toBe(owner.forRow([]))
  })
})
