/** What a provider does while its key service is away. Clause O: it says so in time, and goes on after it. */
import { assert } from '../../assert.ts'
import { type KeyProviderCase, type KeyServiceFault, keyCase } from '../key-case.ts'
import { assertUnavailable, assertUnwraps, dataOf, rootKey, wrapped } from '../sample.ts'

const OUTAGES: readonly KeyServiceFault[] = ['throttled', 'failing', 'hanging', 'reset']
/** Tries of one call, at most. */
const MAX_TRIES = 5
const MANY = 100

export const outageCases: readonly KeyProviderCase[] = [
  ...OUTAGES.map((fault, at) =>
    keyCase(
      `O${at + 1} a service that is ${fault} is unavailable, until it answers`,
      ['fail'],
      async ({ keys, fail, patienceMs }) => {
        const made = await wrapped(keys)
        await fail(fault)
        await Promise.all([
          assertUnavailable(keys.unwrap(made, dataOf()), 'an unwrap', patienceMs),
          assertUnavailable(keys.wrap(rootKey(), dataOf()), 'a wrap', patienceMs),
        ])
        await fail(undefined)
        await assertUnwraps(keys, made)
        await assertUnwraps(keys, await wrapped(keys))
      },
    ),
  ),
  keyCase('O5 a slow service is waited for', ['fail'], async ({ keys, fail }) => {
    const made = await wrapped(keys)
    await fail('slow')
    await assertUnwraps(keys, made)
    await assertUnwraps(keys, await wrapped(keys))
  }),
  ...OUTAGES.map((fault, at) =>
    keyCase(`O${at + 6} a call of a service that is ${fault} once is tried again`, ['fail'], async ({ keys, fail }) => {
      const made = await wrapped(keys)
      await fail(fault, 1)
      await assertUnwraps(keys, made)
    }),
  ),
  keyCase('O10 tries are few, also of many unwraps at once', ['fail', 'calls'], async ({ keys, fail, calls, patienceMs }) => {
    const made = await wrapped(keys)
    await fail('throttled')
    const before = calls()
    const many = Array.from({ length: MANY }, () => assertUnavailable(keys.unwrap(made, dataOf()), 'an unwrap', patienceMs))
    await Promise.all(many)
    assert(calls() - before <= MAX_TRIES, `there should be at most ${MAX_TRIES} calls, and there are ${calls() - before}`)
  }),
]
