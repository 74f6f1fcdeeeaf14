/** The context of a caller: nested members, null, limits, and what conditions see of them. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { parseCaller } from '../../../src/core/policy/caller.ts'
import { column } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const caller = (context: unknown, role = 'clerk') =>
  ({ actor: 'eve@acme.example', actorType: 'USER', roles: [role], context }) as unknown as typeof OWNER

describe('a context', () => {
  it('keeps text, numbers, booleans, lists and objects, and drops null', () => {
    const context = { name: 'Eve', age: 7, ok: true, list: ['a', null], nested: { a: { b: null } }, none: null }
    const { none: _, ...kept } = context
    expect(parseCaller(caller(context)).context).toEqual(kept)
  })

  it('is a copy', () => {
    const nested = { a: ['x'] }
    const { context } = parseCaller(caller({ nested }))
    nested.a.push('y')
    expect(context).toEqual({ nested: { a: ['x'] } })
  })

  it.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a date', new Date(0)],
    ['a nested bigint', { a: [1n] }],
    ['a number that is not finite', Number.NaN],
    ['a lone surrogate', '\ud800'],
  ])('refuses %s, and names the member', (_what, member) => {
    expect(() => parseCaller(caller({ claim: member }))).toThrow('Invalid caller: "context.claim" is missing or invalid.')
  })

  it('is bounded in bytes, values and levels', () => {
    const nestedBy = (levels: number): unknown => (levels === 0 ? 'x' : { in: nestedBy(levels - 1) })
    const list = (length: number) => Array.from({ length }, () => 1)
    const accepted = [{ note: 'n'.repeat(16_384 - 11) }, { list: list(998) }, nestedBy(8)]
    const refused = [{ note: 'n'.repeat(16_384 - 10) }, { note: 'é'.repeat(8190) }, { list: list(999) }, nestedBy(9)]
    for (const context of accepted) expect(parseCaller(caller(context)).context).toEqual(context)
    for (const context of refused)
      expect(() => parseCaller(caller(context))).toThrow(
        'Invalid caller: "context" can have at most 16384 bytes of JSON, 1000 values and 8 levels. Shorten it.',
      )
  })

  it('with a getter that throws is refused', () => {
    const hostile = {
      get claim() {
        throw new Error('TEST_SECRET')
      },
    }
    expect(() => parseCaller(caller({ nested: hostile }))).toThrow('Invalid caller')
    expect(() => parseCaller(caller(hostile))).toThrow('cannot be read')
  })
})

describe('a condition on a member of the context', () => {
  const policy = {
    equal: ['ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE country = ctx.country'],
    absent: ['ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE ctx.country IS NULL'],
    present: ['ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE NOT ctx.country IS NULL'],
    denied: ['ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT', 'DENY READ ON people.* WHERE country = ctx.country'],
    guarded: ['ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT', 'DENY READ ON people.* WHERE NOT ctx.country IS NULL'],
  }

  async function shown(role: keyof typeof policy, context: unknown): Promise<number | string> {
    const { vault } = await openLoose(memoryStorage(), { people: { country: column.string({ encrypted: false }) } }, { policy })
    await vault.as(OWNER).insert('people', [{ fields: { country: 'SE' } }, { fields: { country: 'NO' } }])
    return vault
      .as(caller(context, role))
      .get('people')
      .then(
        ({ records }) => records.length,
        (error: unknown) => String(Reflect.get(Object(error), 'code')),
      )
  }

  it.each([
    ['text', { country: 'SE' }, [1, 'forbidden', 2, 1, 'forbidden']],
    ['null', { country: null }, ['forbidden', 2, 'forbidden', 'forbidden', 2]],
    ['absent', {}, ['forbidden', 2, 'forbidden', 'forbidden', 2]],
    ['a list', { country: ['SE'] }, ['forbidden', 'forbidden', 'forbidden', 'forbidden', 'forbidden']],
    ['an object', { country: { is: 'SE' } }, ['forbidden', 'forbidden', 'forbidden', 'forbidden', 'forbidden']],
    ['two spellings', { country: 'SE', Country: 'SE' }, ['forbidden', 'forbidden', 'forbidden', 'forbidden', 'forbidden']],
    ['one of two spellings', { country: 'SE', Country: null }, [1, 'forbidden', 2, 1, 'forbidden']],
  ])('that is %s grants nothing that is unknown, and denies it', async (_what, context, expected) => {
    const roles = ['equal', 'absent', 'present', 'denied', 'guarded'] as const
    expect(await Promise.all(roles.map((role) => shown(role, context)))).toEqual(expected)
  })
})
