/** What providers of key services share: time limits, tries, one call for equal ones at once, wiped keys, and what errors say. */
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type KeyService, type KeyServiceFailure, serviceKeys } from '../../../../src/adapters/keys/services/service-keys.ts'
import { VaultError } from '../../../../src/core/errors.ts'

const DATA = new Uint8Array(32)
const WRAPPED = { keyId: 'key/1', bytes: new Uint8Array(60).fill(7) }
/** What the client of a service throws: it quotes a key. */
const FOREIGN = new Error('SERVICE_TEXT c2VjcmV0')

/** A provider of a service with these members, whose errors all mean the same. */
function open(members: Partial<KeyService>, kind: KeyServiceFailure['kind'] = 'unavailable', limits = {}) {
  const unexpected = () => Promise.reject(new Error('It was not expected.'))
  const service = {
    name: 'Test KMS',
    wrap: unexpected,
    unwrap: unexpected,
    failureOf: () => ({ kind, code: 'Code' }),
    ...members,
  }
  return serviceKeys(service, limits)
}

/** How a call ended, and after how many milliseconds. */
async function endOf(call: Promise<unknown>): Promise<{ readonly ms: number; readonly error: unknown }> {
  const begun = performance.now()
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return { ms: performance.now() - begun, error }
}

describe('a call', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockReturnValue(1)
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it('is tried three times, after pauses that double', async () => {
    const times: number[] = []
    const keys = open({
      async unwrap() {
        times.push(performance.now())
        throw FOREIGN
      },
    })
    const end = endOf(keys.unwrap(WRAPPED, DATA))
    await vi.runAllTimersAsync()
    expect((await end).error).toMatchObject({ code: 'unavailable' })
    expect(times.map((time) => Math.round(time - (times[0] ?? 0)))).toEqual([0, 200, 600])
  })

  it('that hangs is aborted after 5 seconds, and given up after 10 in all', async () => {
    const signals: AbortSignal[] = []
    const keys = open({
      unwrap(_, __, signal) {
        signals.push(signal)
        return new Promise(() => {})
      },
    })
    const end = endOf(keys.unwrap(WRAPPED, DATA))
    await vi.advanceTimersByTimeAsync(4999)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    await vi.advanceTimersByTimeAsync(1)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    await vi.runAllTimersAsync()
    const { ms, error } = await end
    expect(Math.round(ms)).toBe(10_000)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
    expect(error).toMatchObject({ code: 'unavailable', cause: { message: 'Test KMS reported no answer within the time limit' } })
  })

  it('has the time limits that are given', async () => {
    const keys = open({ wrap: () => new Promise(() => {}) }, 'unavailable', { callTimeoutMs: 70, openTimeoutMs: 100 })
    const end = endOf(keys.wrap(new Uint8Array(32), DATA))
    await vi.runAllTimersAsync()
    expect(Math.round((await end).ms)).toBe(100)
  })

  it('is not tried again after a refusal, a mismatch or an unknown error', async () => {
    for (const kind of ['refused', 'mismatch', 'unknown'] as const) {
      const unwrap = vi.fn(() => Promise.reject(FOREIGN))
      const end = endOf(open({ unwrap }, kind).unwrap(WRAPPED, DATA))
      await vi.runAllTimersAsync()
      expect((await end).error).toMatchObject({ code: kind === 'unknown' ? 'internal' : 'failed_precondition' })
      expect(unwrap).toHaveBeenCalledOnce()
    }
  })

  it('that answers after its time limit has its key overwritten', async () => {
    const late: Uint8Array[] = []
    const keys = open({
      unwrap: () =>
        new Promise((resolve) => {
          const key = new Uint8Array(32).fill(9)
          late.push(key)
          setTimeout(resolve, 60_000, key)
        }),
    })
    const end = endOf(keys.unwrap(WRAPPED, DATA))
    await vi.runAllTimersAsync()
    expect((await end).error).toMatchObject({ code: 'unavailable' })
    expect(late).toEqual([new Uint8Array(32), new Uint8Array(32)])
  })
})

describe('equal unwraps at the same time', () => {
  it('are one call, whose answer is overwritten once each has a copy', async () => {
    const answers: Uint8Array[] = []
    const keys = open({
      async unwrap() {
        const key = new Uint8Array(32).fill(9)
        answers.push(key)
        return key
      },
    })
    const unwrapped = await Promise.all(Array.from({ length: 1000 }, () => keys.unwrap(WRAPPED, DATA)))
    expect(answers).toEqual([new Uint8Array(32)])
    expect(new Set(unwrapped.map(({ buffer }) => buffer)).size).toBe(1000)
    for (const key of unwrapped) {
      expect(key).toEqual(new Uint8Array(32).fill(9))
      key.fill(0)
    }
    await keys.unwrap(WRAPPED, DATA)
    expect(answers).toHaveLength(2)
  })

  it('fail together, and leave nothing behind', async () => {
    const unwrap = vi.fn<KeyService['unwrap']>().mockRejectedValueOnce(FOREIGN).mockResolvedValue(new Uint8Array(32).fill(9))
    const keys = open({ unwrap }, 'refused')
    const ends = await Promise.all([endOf(keys.unwrap(WRAPPED, DATA)), endOf(keys.unwrap(WRAPPED, DATA))])
    for (const { error } of ends) expect(error).toMatchObject({ code: 'failed_precondition' })
    expect(await keys.unwrap(WRAPPED, DATA)).toEqual(new Uint8Array(32).fill(9))
  })

  it('with another key, other bytes or other data are not equal', async () => {
    const unwrap = vi.fn<KeyService['unwrap']>(async () => new Uint8Array(32))
    const keys = open({ unwrap })
    const others = [{ ...WRAPPED, keyId: 'key/2' }, { ...WRAPPED, bytes: new Uint8Array(60).fill(8) }, WRAPPED]
    await Promise.all([
      ...others.map((wrapped) => keys.unwrap(wrapped, DATA)),
      keys.unwrap(WRAPPED, new Uint8Array(32).fill(1)),
      keys.unwrap(WRAPPED, DATA),
    ])
    expect(unwrap).toHaveBeenCalledTimes(4)
  })
})

describe('an error', () => {
  it.each([
    ['throttled', 'unavailable', 'Test KMS could not wrap a root key: there were too many calls'],
    ['unavailable', 'unavailable', 'Test KMS could not wrap a root key: it cannot be reached'],
    ['refused', 'failed_precondition', 'Test KMS could not wrap a root key: the key is disabled, deleted or unknown'],
    ['mismatch', 'failed_precondition', 'Test KMS could not wrap a root key: the wrapped bytes were changed'],
    ['unknown', 'internal', 'Test KMS could not wrap a root key: its client threw an error that is not expected'],
  ] as const)('of a service that is %s is %s, without text of the service', async (kind, code, message) => {
    const keys = open({ wrap: () => Promise.reject(FOREIGN) }, kind, { openTimeoutMs: 50 })
    const { error } = await endOf(keys.wrap(new Uint8Array(32), DATA))
    expect(error).toMatchObject({ code, message: expect.stringContaining(message), cause: { message: 'Test KMS reported Code' } })
    expect(inspect(error)).not.toMatch(/SERVICE_TEXT|c2VjcmV0/)
  })

  it('without a code has the class of what was thrown as its cause', async () => {
    const keys = open({ wrap: () => Promise.reject(new TypeError('SERVICE_TEXT')), failureOf: () => ({ kind: 'unknown' }) })
    const { error } = await endOf(keys.wrap(new Uint8Array(32), DATA))
    expect(error).toMatchObject({ cause: { message: expect.stringContaining('TypeError') } })
    expect(inspect(error)).not.toContain('SERVICE_TEXT')
  })

  it('that is one of the vault stays as it is', async () => {
    const own = new VaultError('failed_precondition', 'The package is missing.')
    expect((await endOf(open({ wrap: () => Promise.reject(own) }).wrap(new Uint8Array(32), DATA))).error).toBe(own)
  })
})

it('a provider has the optional methods that its service has', () => {
  expect(Object.keys(open({})).toSorted()).toEqual(['unwrap', 'wrap'])
  const rewrap = async () => WRAPPED
  const all = open({ rewrap, currentKeyId: async () => 'key/1', close: async () => {} })
  expect(Object.keys(all).toSorted()).toEqual(['close', 'currentKeyId', 'rewrap', 'unwrap', 'wrap'])
})
