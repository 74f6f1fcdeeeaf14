/** Tests statements with WHERE: the rows to which they apply, the caller's context, and the sharing of access objects. */
import { describe, expect, it } from 'vitest'
import type { Truth } from '../../../src/core/expressions/condition.ts'
import { compileCondition } from '../../../src/core/expressions/evaluate-condition.ts'
import { compilePolicy } from '../../../src/core/policy/compile-policy.ts'
import { accessOf } from '../../../src/core/policy/create-access.ts'
import { accessBy, accessUnder, columnAt, LAYOUT, table } from './sample-vault.ts'

const NAME = columnAt('name')
const SSN = columnAt('ssn')
const ALWAYS = { kind: 'truth', truth: true }
const NEVER = { kind: 'truth', truth: false }

describe('a conditional statement', () => {
  it('that allows applies if its condition is true, not if it is false or unknown', () => {
    const access = accessBy("ALLOW READ ON persons.name WHERE country = 'SE'")
    const levels = ([true, false, undefined] as const).map((truth) => access.forRow([truth]).level(NAME))
    expect(levels).toEqual(['MASKED', undefined, undefined])
  })

  it('that denies applies unless its condition is false', () => {
    const access = accessBy('ALLOW READ ON persons.*', "DENY READ ON persons.name WHERE country = 'SE'")
    const levels = ([true, false, undefined] as const).map((truth) => access.forRow([truth]).level(NAME))
    expect(levels).toEqual([undefined, 'MASKED', undefined])
  })

  it('can raise the level of some rows', () => {
    const access = accessBy('ALLOW READ ON persons.*', 'ALLOW READ ON persons.name WITH REDACTION = PLAIN_TEXT WHERE age > 17')
    expect(([true, false] as const).map((truth) => access.forRow([truth]).level(NAME))).toEqual(['PLAIN_TEXT', 'MASKED'])
    expect(access.alwaysMeets({ action: 'READ', columns: [NAME] })).toBe(true)
    expect(access.pushdownCondition({ action: 'READ', columns: [NAME] })).toEqual(ALWAYS)
  })

  it('shares one condition and one row access with others of the same text', () => {
    const access = accessBy(
      "ALLOW READ ON persons.name WHERE country = 'SE'",
      "ALLOW READ ON persons.ssn WITH REDACTION = PLAIN_TEXT WHERE country = 'SE'",
      'ALLOW UPDATE ON persons.name WHERE age > 17',
    )
    expect(access.conditions).toHaveLength(2)
    expect(access.conditionColumns.map(({ name }) => name)).toEqual(['country', 'age'])
    const truths: readonly Truth[] = [true, false, undefined]
    const rows = truths.flatMap((first) => truths.map((second) => access.forRow([first, second])))
    expect(new Set(rows).size).toBe(4)
  })

  it('is pushed down as it is written', () => {
    const access = accessBy('ALLOW READ ON persons.name WHERE age > 17', 'DENY READ ON persons.ssn')
    expect(access.pushdownCondition({ action: 'READ', columns: [NAME] })).toEqual(access.conditions[0])
    expect(access.pushdownCondition({ action: 'READ', columns: [] })).toEqual(access.conditions[0])
    expect(access.pushdownCondition({ action: 'READ', columns: [NAME, SSN] })).toEqual(NEVER)
  })

  it('that denies READ removes the SEARCH implied by READ', () => {
    const access = accessBy('ALLOW READ ON persons.email', 'DENY READ ON persons.email WHERE age > 17')
    const [condition] = access.conditions
    expect(access.pushdownCondition({ action: 'SEARCH', columns: [columnAt('email')] })).toEqual({ kind: 'not', condition })
  })

  it('can be one of thirty, of which the last applies like the first', () => {
    const ages = Array.from({ length: 30 }, (_, age) => `ALLOW READ ON persons.name WHERE age = ${age}`)
    const access = accessBy(...ages)
    const truths = (only: number) => ages.map((_, index) => index === only)
    expect(access.forRow(truths(0)).level(NAME)).toBe('MASKED')
    expect(access.forRow(truths(29)).level(NAME)).toBe('MASKED')
    expect(access.forRow(truths(30)).level(NAME)).toBe(undefined)
  })

  it('is evaluated correctly when there are more combinations than the cache holds', () => {
    const ages = Array.from({ length: 12 }, (_, age) => `ALLOW READ ON persons.name WHERE age = ${age}`)
    const access = accessBy(...ages)
    for (let verdict = 0; verdict < 2 ** ages.length; verdict++) {
      const truths = ages.map((_, bit) => (verdict & (1 << bit)) !== 0)
      expect(access.forRow(truths).level(NAME)).toBe(verdict === 0 ? undefined : 'MASKED')
    }
  })
})

describe("the caller's context", () => {
  const policy = { clerk: ['ALLOW READ ON persons.* WHERE country = ctx.home', 'DENY READ ON persons.ssn WHERE age = ctx.grade'] }
  const accessWith = (context?: Record<string, string | number | boolean>) =>
    accessUnder(policy, ['clerk'], context).table(table())

  it('becomes a constant of the condition', () => {
    const [home] = accessWith({ home: 'SE', grade: 7 }).conditions
    expect(home).toMatchObject({ kind: 'compare', right: { kind: 'constant', value: 'SE' } })
  })

  it('without an attribute allows nothing by it and denies everything by it', () => {
    const nothing = accessWith()
    expect([nothing.conditions, nothing.hasAnyGrant]).toEqual([[], false])
    const caller = accessWith({ home: 'SE' })
    expect(caller.conditions).toHaveLength(1)
    expect([caller.possiblyVisible(NAME), caller.possiblyVisible(SSN)]).toEqual([true, false])
  })

  it('has only its own attributes', () => {
    for (const fact of ['constructor', 'toString', '__proto__']) {
      const access = accessUnder({ clerk: [`ALLOW READ ON persons.* WHERE name > ctx."${fact}"`] }, ['clerk'], {})
      expect(access.table(table()).hasAnyGrant).toBe(false)
    }
  })

  it('with an attribute of the wrong type is treated as without it', () => {
    const access = accessWith({ home: 'SE', grade: 'seven' })
    expect([access.possiblyVisible(NAME), access.possiblyVisible(SSN)]).toEqual([true, false])
  })

  it('ignores the case of attribute names, and two that differ only in case count as absent', () => {
    const named = (context: Record<string, string>) =>
      accessUnder({ clerk: ['ALLOW READ ON persons.* WHERE country = ctx.homeCountry'] }, ['clerk'], context).table(table())
        .hasAnyGrant
    expect([named({ homeCountry: 'SE' }), named({ HOMECOUNTRY: 'SE' })]).toEqual([true, true])
    expect(named({ homeCountry: 'SE', homecountry: 'DE' })).toBe(false)
  })

  it('never makes an access fail, whatever its attributes', () => {
    const attributes = [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.MAX_VALUE,
      -Number.MIN_VALUE,
      2 ** 64,
      '',
      '\\',
      '%',
      true,
      '\ud800',
    ]
    const conditions = [
      'age > ctx.fact',
      'age = ctx.fact',
      'country = ctx.fact',
      'country LIKE ctx.fact',
      'NOT ctx.fact = ctx.fact',
    ]
    for (const fact of attributes) {
      for (const condition of conditions) {
        const access = accessUnder({ clerk: [`ALLOW READ ON persons.* WHERE ${condition}`] }, ['clerk'], { fact }).table(table())
        for (const one of access.conditions) compileCondition(one)(({ column }) => (column?.name === 'age' ? 7 : 'SE'))
      }
    }
  })

  it('takes precedence over a table named ctx, whose columns are used without qualifier', () => {
    const access = accessUnder(
      { clerk: ["ALLOW READ ON ctx.region WHERE region = 'north' AND ctx.region = 'south'"] },
      ['clerk'],
      {
        region: 'south',
      },
    )
    const [condition] = access.table(table('ctx')).conditions
    expect(condition).toMatchObject({ kind: 'compare', right: { kind: 'constant', value: 'north' } })
  })
})

describe('access', () => {
  const policy = compilePolicy(
    { clerk: ["ALLOW READ ON persons.* WHERE country = 'SE'"], local: ['ALLOW READ ON persons.* WHERE country = ctx.home'] },
    LAYOUT,
  )

  it('is shared by all callers with the same roles, in any order and with duplicates', () => {
    const first = accessOf(policy, { roles: ['clerk', 'VAULT_VIEWER'] })
    expect(accessOf(policy, { roles: ['VAULT_VIEWER', 'clerk', 'clerk', 'unknown'], context: { home: 'SE' } })).toBe(first)
    expect(first.table(table())).toBe(first.table(table()))
    expect(accessOf(policy, { roles: ['clerk'] })).not.toBe(first)
    expect(accessOf(policy, { roles: ['VAULT_VIEWER'] })).not.toBe(first)
  })

  it("is not shared if a condition uses the caller's context", () => {
    const [sweden, germany] = ['SE', 'DE'].map((home) => accessOf(policy, { roles: ['local'], context: { home } }).table(table()))
    expect(sweden?.conditions).not.toEqual(germany?.conditions)
  })
})
