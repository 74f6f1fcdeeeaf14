/** Refused credentials are counted by source and by key, in windows, and within a bound. */
import { describe, expect, it, vi } from 'vitest'
import { createRefusalLimit, namesOf, type RefusedCredential } from '../../../src/cli/serve/refusal-limit.ts'

const KEY_ID = '6f1d7a44-0f5b-4c6e-9a3b-2f8f0c1d9e70'
const keyWith = (secret: string) => `sr_${KEY_ID}_${secret}`

function open(
  options: { readonly failuresPerSource?: number; readonly failuresPerKey?: number; readonly remembered?: number } = {},
) {
  let now = 1000
  const limit = createRefusalLimit({ failuresPerSource: 3, failuresPerKey: 5, remembered: 10, now: () => now, ...options })
  return {
    limit,
    pass: (ms: number) => {
      now += ms
    },
    fail: (refused: RefusedCredential, times = 1) => {
      const reached = Array.from({ length: times }, () => limit.refused(namesOf(refused)))
      return reached.at(-1)
    },
    waitOf: (refused: RefusedCredential) => limit.waitOf(() => refused),
  }
}

describe('the limit', () => {
  it('makes a source wait until its minute is over, whatever it sends, and no other source', () => {
    const { fail, waitOf, pass } = open()
    expect(fail({ address: '192.0.2.1', credential: 'a' }, 2)).toBe(undefined)
    expect(waitOf({ address: '192.0.2.1', credential: undefined })).toBe(undefined)
    pass(20_000)
    expect(fail({ address: '192.0.2.1', credential: undefined })).toBe('source')
    expect(waitOf({ address: '192.0.2.1', credential: 'another' })).toEqual({ ms: 40_000, of: 'source' })
    expect(waitOf({ address: '192.0.2.2', credential: 'another' })).toBe(undefined)
    pass(40_000)
    expect(waitOf({ address: '192.0.2.1', credential: 'a' })).toBe(undefined)
    expect(fail({ address: '192.0.2.1', credential: 'a' })).toBe(undefined)
  })

  it('makes a key id wait, with whatever secret and from wherever', () => {
    const { fail, waitOf } = open()
    for (let index = 0; index < 5; index++) fail({ address: `192.0.2.${index}`, credential: keyWith(`secret-${index}`) })
    expect(waitOf({ address: '198.51.100.1', credential: keyWith('x') })).toEqual({ ms: 60_000, of: 'key' })
    expect(waitOf({ address: '198.51.100.1', credential: `sr_${KEY_ID.replace('6', '7')}_x` })).toBe(undefined)
  })

  it('does not keep out a key in use, so that wrong secrets with its id do it no harm', () => {
    const { limit, fail, waitOf, pass } = open()
    expect([limit.accepted(KEY_ID), limit.accepted(KEY_ID)]).toEqual([true, false])
    for (let index = 0; index < 9; index++) fail({ address: `192.0.2.${index}`, credential: keyWith('wrong') })
    expect(waitOf({ address: '198.51.100.1', credential: keyWith('right') })).toBe(undefined)
    pass(3_600_000)
    for (let index = 0; index < 5; index++) fail({ address: `192.0.2.${index}`, credential: keyWith('wrong') })
    expect(waitOf({ address: '198.51.100.1', credential: keyWith('right') })?.of).toBe('key')
  })

  it('keeps a key in use for as long as it is used', () => {
    const { limit, fail, waitOf, pass } = open()
    for (let minute = 0; minute < 150; minute++) {
      fail({ address: `192.0.2.${minute}`, credential: keyWith('wrong') }, 2)
      pass(30_000)
      fail({ address: `198.51.100.${minute}`, credential: keyWith('wrong') }, 3)
      if (minute > 0) expect(waitOf({ address: '203.0.113.1', credential: keyWith('right') })).toBe(undefined)
      expect(limit.accepted(KEY_ID)).toBe(minute % 2 === 0)
    }
  })

  it('takes a network of 64 bits of IPv6 for one source', () => {
    const { fail, waitOf } = open()
    for (const end of ['1', 'a:b:c:d', 'ffff'])
      fail({ address: `2001:db8:1:2::${end}`.replace('::a', ':a'), credential: undefined })
    expect(waitOf({ address: '2001:db8:1:2::9', credential: undefined })?.of).toBe('source')
    expect(waitOf({ address: '2001:db8:1:3::9', credential: undefined })).toBe(undefined)
    expect(namesOf({ address: '2001:db8::1', credential: undefined }).source).toBe('2001:db8:0:0')
  })

  it('names no secret to other processes', () => {
    const credential = 'eyJhbGciOiJSUzI1NiJ9.claims.signature'
    expect(JSON.stringify(namesOf({ address: '192.0.2.1', credential }))).not.toContain('claims')
    expect(namesOf({ address: '192.0.2.1', credential: keyWith('secret') }).key).toBe(KEY_ID)
  })
})

describe('what is remembered', () => {
  it('has a bound, of sources, of keys and of keys in use', () => {
    const { limit, fail } = open()
    for (let index = 0; index < 1000; index++) {
      fail({ address: `192.0.${index >> 8}.${index & 255}`, credential: `credential ${index}` })
      limit.accepted(`key ${index}`)
      expect(limit.remembered()).toBeLessThanOrEqual(10)
    }
    expect(limit.remembered()).toBe(10)
  })

  it('is forgotten in the order in which it ends: as many others as are remembered do not free a source', () => {
    const { fail, waitOf } = open()
    fail({ address: '192.0.2.1', credential: undefined }, 3)
    for (let index = 0; index < 9; index++) fail({ address: `198.51.100.${index}`, credential: undefined })
    expect(waitOf({ address: '192.0.2.1', credential: undefined })?.of).toBe('source')
    fail({ address: '203.0.113.1', credential: undefined })
    expect(waitOf({ address: '192.0.2.1', credential: undefined })).toBe(undefined)
  })

  it('looks for the oldest seldom when it is full: a Map is slow to find them', () => {
    const { limit } = open({ remembered: 10_000 })
    const looks = vi.spyOn(Map.prototype, 'keys')
    try {
      for (let index = 0; index < 50_000; index++) limit.refused({ source: `source ${index}`, key: `key ${index}` })
      expect(looks.mock.calls.length).toBeGreaterThan(0)
      expect(looks.mock.calls.length).toBeLessThan(200)
    } finally {
      looks.mockRestore()
    }
  })

  it('is gone when its time is over', () => {
    const { limit, fail, pass } = open()
    for (let index = 0; index < 9; index++) fail({ address: `198.51.100.${index}`, credential: undefined })
    pass(60_000)
    fail({ address: '203.0.113.1', credential: undefined })
    expect(limit.remembered()).toBe(1)
  })
})
