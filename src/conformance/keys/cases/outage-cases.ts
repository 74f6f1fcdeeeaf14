/** What a provider does while its key service is away. Clause O: it says so in time, and goes on after it. */
import { assertEqual } from '../../assert.ts'
import { type KeyProviderCase, type KeyServiceFault, keyCase } from '../key-case.ts'
import { assertFails, assertUnwraps, dataOf, rootKey, wrapped } from '../sample.ts'

const OUTAGES: readonly KeyServiceFault[] = ['throttled', 'failing', 'hanging', 'reset']
/** Tries of one call, at most. */
const MAX_TRIES = 5

export const outageCases: readonly KeyProviderCase[] = [
  ...OUTAGES.map((fault, at) =>
    keyCase(`O${at + 1} a service that is ${fault} is unavailable, until it answers`, ['fail'], async ({ keys, fail }) => {
      const made = await wrapped(keys)
      await fail(fault)
      await Promise.all([
        assertFails(keys.unwrap(made, dataOf()), 'unavailable', 'an unwrap'),
        assertFails(keys.wrap(rootKey(), dataOf()), 'unavailable', 'a wrap'),
      ])
      await fail(undefined)
      await assertUnwraps(keys, made)
      await assertUnwraps(keys, await wrapped(keys))
    }),
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
  keyCase('O10 tries are few, also of many unwraps at once', ['fail', 'calls'], async ({ keys, fail, calls }) => {
    const made = await wrapped(keys)
    await fail('throttled')
    const before = calls()
    await Promise.all(Array.from({ length: 100 }, () => assertFails(keys.unwrap(made, dataOf()), 'unavailable', 'an unwrap')))
    assertEqual(calls() - before <= MAX_TRIES, true, `that there are ${MAX_TRIES} calls at most`)
  }),
]
