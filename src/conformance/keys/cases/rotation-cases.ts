/** What happens to wrapped keys during the life of the key that wraps them. Clause R: it is rotated; D: it is disabled or withdrawn. */
import type { KeyProvider, WrappedKey } from '../../../core/ports/crypto.ts'
import { assert, assertEqual } from '../../assert.ts'
import { type KeyProviderCase, keyCase } from '../key-case.ts'
import { assertFails, assertUnwraps, dataOf, rootKey, wrapped } from '../sample.ts'

export const rotationCases: readonly KeyProviderCase[] = [
  keyCase('R1 bytes from before a rotation are unwrapped', ['rotate'], async ({ keys, another, rotate }) => {
    const made = await wrapped(keys)
    await rotate()
    await assertUnwraps(keys, made)
    await assertUnwraps(await another(), made)
    await assertUnwraps(keys, await wrapped(keys))
  }),
  keyCase('R2 the current key is the one that wraps', [], async ({ keys }) => {
    assertEqual((await wrapped(keys)).keyId, await currentName(keys), 'its name')
  }),
  keyCase('R3 a rotation changes the name of the key that wraps', ['rotate'], async ({ keys, rotate }) => {
    const before = await wrapped(keys)
    await rotate()
    const { keyId } = await wrapped(keys)
    assert(keyId !== before.keyId, 'the name should change with the key')
    assertEqual(await currentName(keys), keyId, 'the name of the current key')
  }),
  keyCase('R4 a key that is wrapped again is that of the new one', ['rotate'], async ({ keys, rotate }) => {
    const before = await wrapped(keys)
    await rotate()
    const again = await wrappedAgain(keys, before)
    assertEqual(again.keyId, (await wrapped(keys)).keyId, 'the name of the key that wrapped again')
    await assertUnwraps(keys, again)
    await assertUnwraps(keys, before)
    await assertFails(keys.unwrap(again, dataOf(2)), 'failed_precondition', 'an unwrap with other associated data')
  }),
  keyCase('R5 other bytes or associated data are not wrapped again', [], async ({ keys }) => {
    const { keyId, bytes } = await wrapped(keys)
    const cut = { keyId, bytes: bytes.subarray(0, bytes.length - 1) }
    await assertFails(wrappedAgain(keys, cut), 'failed_precondition', 'a rewrap of cut bytes')
    await assertFails(
      wrappedAgain(keys, { keyId, bytes }, dataOf(2)),
      'failed_precondition',
      'a rewrap with other associated data',
    )
  }),
  keyCase('D1 a disabled key is refused, until it is enabled', ['disable', 'enable'], async ({ keys, disable, enable }) => {
    const made = await wrapped(keys)
    await disable()
    await assertFails(keys.unwrap(made, dataOf()), 'failed_precondition', 'an unwrap with a disabled key')
    await assertFails(keys.wrap(rootKey(), dataOf()), 'failed_precondition', 'a wrap with a disabled key')
    await enable()
    await assertUnwraps(keys, made)
  }),
  keyCase('D2 a withdrawn key is refused', ['withdraw'], async ({ keys, withdraw }) => {
    const made = await wrapped(keys)
    await withdraw()
    await assertFails(keys.unwrap(made, dataOf()), 'failed_precondition', 'an unwrap with a withdrawn key')
    await assertFails(keys.wrap(rootKey(), dataOf()), 'failed_precondition', 'a wrap with a withdrawn key')
  }),
  keyCase('D3 a refusal is not tried again', ['withdraw', 'calls'], async ({ keys, withdraw, calls }) => {
    const made = await wrapped(keys)
    await withdraw()
    const before = calls()
    await assertFails(keys.unwrap(made, dataOf()), 'failed_precondition', 'an unwrap with a withdrawn key')
    assertEqual(calls() - before, 1, 'the number of calls')
  }),
]

/** Wraps again as a vault does. */
async function wrappedAgain(keys: KeyProvider, wrappedKey: WrappedKey, data: Uint8Array = dataOf()): Promise<WrappedKey> {
  if (keys.rewrap !== undefined) return keys.rewrap(wrappedKey, data)
  return keys.wrap(await keys.unwrap(wrappedKey, data), data)
}

/** A provider that does not say it shows it by wrapping. */
async function currentName(keys: KeyProvider): Promise<string> {
  return keys.currentKeyId === undefined ? (await wrapped(keys)).keyId : keys.currentKeyId()
}
