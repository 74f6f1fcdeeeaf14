/** What wrapping and unwrapping return. Clause W: the key comes back; B: memory; A: associated data and bytes are authenticated; M: many calls at once. */
import { assert, assertEqual } from '../../assert.ts'
import { type KeyProviderCase, keyCase } from '../key-case.ts'
import { assertFails, assertUnwraps, dataOf, KEY_BYTES, rootKey, wrapped } from '../sample.ts'

const MANY = 1000
/** Bytes of a key that cannot be in other bytes by chance. */
const PART_BYTES = 8

export const wrapCases: readonly KeyProviderCase[] = [
  keyCase('W1 a wrapped key is unwrapped, also again and by another provider of the same key', [], async ({ keys, another }) => {
    const made = await wrapped(keys)
    await assertUnwraps(keys, made)
    await assertUnwraps(keys, made)
    await assertUnwraps(await another(), made)
  }),
  keyCase('W2 any key of 32 bytes is unwrapped as it was', [], async ({ keys }) => {
    for (const key of [new Uint8Array(32), new Uint8Array(32).fill(0xff), rootKey(2)])
      assertEqual(Uint8Array.from(await keys.unwrap(await keys.wrap(key, dataOf()), dataOf())), key, 'the root key')
  }),
  keyCase('W3 wrapped bytes have no part of the key', [], async ({ keys }) => {
    const { bytes } = await wrapped(keys)
    for (let start = 0; start < KEY_BYTES; start += PART_BYTES) {
      const part = Buffer.from(rootKey().subarray(start, start + PART_BYTES))
      assert(!Buffer.from(bytes).includes(part), `wrapped bytes should have no ${PART_BYTES} bytes of the key`)
    }
  }),
  keyCase('B1 the provider does not keep the memory of a key', [], async ({ keys }) => {
    const key = rootKey()
    const made = await keys.wrap(key, dataOf())
    key.fill(0)
    await assertUnwraps(keys, made)
  }),
  keyCase('B2 an unwrapped key is in an array of its own', [], async ({ keys }) => {
    const made = await wrapped(keys)
    const [first, second] = await Promise.all([keys.unwrap(made, dataOf()), keys.unwrap(made, dataOf())])
    first.fill(0)
    assertEqual(Uint8Array.from(second), rootKey(), 'the root key that another caller has')
    await assertUnwraps(keys, made)
  }),
  keyCase('A1 other associated data is refused', [], async ({ keys }) => {
    const made = await wrapped(keys)
    const changed = dataOf()
    changed[31] = 1 ^ (changed[31] ?? 0)
    for (const data of [dataOf(2), changed, dataOf().subarray(1), new Uint8Array()])
      await assertFails(keys.unwrap(made, data), 'failed_precondition', 'an unwrap with other associated data')
    await assertUnwraps(keys, made)
  }),
  keyCase('A2 bytes that were cut, extended or changed are refused', [], async ({ keys }) => {
    const { keyId, bytes } = await wrapped(keys)
    const { length } = bytes
    const flipped = (at: number) => bytes.map((byte, place) => (place === at ? byte ^ 1 : byte))
    const cut = [0, 1, Math.floor(length / 2), length - 1].map((end) => bytes.subarray(0, end))
    const changed = [Math.floor(length / 2), length - 17, length - 1].map(flipped)
    const extended = Uint8Array.from([...bytes, 0])
    for (const other of [...cut, ...changed, extended])
      await assertFails(keys.unwrap({ keyId, bytes: other }, dataOf()), 'failed_precondition', 'an unwrap of other bytes')
  }),
  keyCase('A3 the name of another key is refused', [], async ({ keys }) => {
    const { bytes } = await wrapped(keys)
    for (const keyId of ['another', '', '0'])
      await assertFails(keys.unwrap({ keyId, bytes }, dataOf()), 'failed_precondition', 'an unwrap with another name')
  }),
  keyCase(`M1 ${MANY} unwraps at once each return the key in an array of its own`, [], async ({ keys }) => {
    const made = await wrapped(keys)
    const unwrapped = await Promise.all(Array.from({ length: MANY }, () => keys.unwrap(made, dataOf())))
    for (const key of unwrapped) {
      assertEqual(Uint8Array.from(key), rootKey(), 'the root key')
      key.fill(0)
    }
  }),
  keyCase(`M2 ${MANY} equal unwraps at once make one call`, ['calls'], async ({ keys, calls }) => {
    const made = await wrapped(keys)
    const before = calls()
    await Promise.all(Array.from({ length: MANY }, () => keys.unwrap(made, dataOf())))
    assertEqual(calls() - before, 1, 'the number of calls')
    await keys.unwrap(made, dataOf())
    assertEqual(calls() - before, 2, 'the number of calls, with one more after them')
  }),
  keyCase('M3 unwraps of different keys at once each return their own', [], async ({ keys }) => {
    const made = await Promise.all([1, 2, 3].map((seed) => wrapped(keys, seed)))
    await Promise.all(made.map((each, at) => assertUnwraps(keys, each, at + 1)))
  }),
]
