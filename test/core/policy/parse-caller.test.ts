/** Callers are checked and copied: the first invalid member is named, and nothing of it is repeated. */
import { describe, expect, it } from 'vitest'
import { parseCaller } from '../../../src/core/policy/caller.ts'

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
