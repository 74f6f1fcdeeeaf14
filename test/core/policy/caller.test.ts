/** Callers are checked and copied: the first invalid member is named, and nothing of it is repeated. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { parseCaller } from '../../../src/core/policy/caller.ts'
import { column } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const GOOD = { actor: 'ann@acme.example', actorType: 'USER', roles: ['clerk'] }
const REQUEST = {
  ...{ requestID: 'r', traceID: 'f'.repeat(32), traceparent: '00', sessionID: 's', clientTraceID: 'c', ipAddress: '192.0.2.1' },
  ...{ origin: 'https://acme.example', authMode: 'API_KEY', jwtID: 'j', keyID: 'k', bearerTokenContextID: 'b', subject: 'u' },
  accessType: 'SQL',
}

/** A caller whose members are on its prototype. */
class Described {
  get actor(): string {
    return GOOD.actor
  }
  get actorType(): string {
    return GOOD.actorType
  }
  get roles(): string[] {
    return GOOD.roles
  }
}

describe('a caller', () => {
  it('with every member is copied', () => {
    const given = { ...GOOD, context: { site: 'north', gone: null }, request: { ...REQUEST } }
    const parsed = parseCaller(given)
    given.roles = []
    given.request.subject = 'changed'
    expect(parsed).toEqual({ ...GOOD, context: { site: 'north' }, request: REQUEST })
    expect(parsed.roles).not.toBe(GOOD.roles)
  })

  it('can be an object of a class, and absent members are left out', () => {
    expect(parseCaller(new Described())).toEqual(GOOD)
    expect(Object.keys(parseCaller({ ...GOOD, context: undefined, request: { subject: undefined } }).request ?? {})).toEqual([])
  })

  it.each([
    ['"actor"', { ...GOOD, actor: '' }],
    ['"actor"', { ...GOOD, actor: 'x'.repeat(321) }],
    ['"actorType"', { ...GOOD, actorType: 'ROBOT' }],
    ['"roles"', { ...GOOD, roles: 'clerk' }],
    ['"roles"', { ...GOOD, roles: Array(101).fill('clerk') }],
    ['"roles[1]"', { ...GOOD, roles: ['clerk', ''] }],
    ['"roles[0]"', { ...GOOD, roles: [new String('clerk')] }],
    ['"context"', { ...GOOD, context: 'north' }],
    ['"request"', { ...GOOD, request: [] }],
    ['"request.traceID"', { ...GOOD, request: { traceID: 'F'.repeat(32) } }],
    ['"request.ipAddress"', { ...GOOD, request: { ipAddress: '1'.repeat(65) } }],
    ['"request.authMode"', { ...GOOD, request: { authMode: 'PASSWORD' } }],
    ['"request.keyID"', { ...GOOD, request: { keyID: null } }],
  ])('is refused for %s', (member, given) => {
    expect(() => parseCaller(given)).toThrow(`Invalid caller: ${member} is missing or invalid.`)
  })

  it.each([
    ['it must be an object', null],
    ['it must be an object', []],
    ['"more" is unknown', { ...GOOD, more: 1 }],
    ['"request.more" is unknown', { ...GOOD, request: { ...REQUEST, more: 1 } }],
    ['"(not a valid name)" is unknown', { ...GOOD, 'a secret': 1 }],
  ])('is refused because %s', (problem, given) => {
    expect(() => parseCaller(given)).toThrow(`Invalid caller: ${problem}. Required: actor, actorType, roles.`)
  })

  it('that throws where it is read is refused without the text of the error', () => {
    const given = {
      ...GOOD,
      get request(): never {
        throw new Error('secret')
      },
    }
    expect(() => parseCaller(given)).toThrow('The input cannot be read: one of its objects threw an error.')
  })

  it('that throws where the reason of its refusal is read is refused without the text of the error', () => {
    const traceID = new Proxy(
      {},
      {
        getPrototypeOf() {
          throw new Error('secret')
        },
        has() {
          throw new Error('secret')
        },
      },
    )
    const { proxy, revoke } = Proxy.revocable([], {})
    revoke()
    for (const given of [traceID, proxy])
      expect(() => parseCaller({ ...GOOD, request: { traceID: given } })).toThrow('The input cannot be read')
  })
})

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
