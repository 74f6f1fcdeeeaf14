/** Keys and associated data that the conformance cases of key providers share. */

import type { ErrorCode } from '../../core/errors.ts'
import type { KeyProvider, WrappedKey } from '../../core/ports/crypto.ts'
import { AAD_BYTES } from '../../core/ports/crypto.ts'
import { assert, assertEqual, assertRejects } from '../assert.ts'

export const KEY_BYTES = 32

/** A root key: bytes that differ between seeds, and from each other. */
export function rootKey(seed = 1): Uint8Array {
  return Uint8Array.from({ length: KEY_BYTES }, (_, at) => (at * 37 + seed * 101 + 11) & 0xff)
}

/** Associated data of a vault, by its number. */
export function dataOf(vault = 1): Uint8Array {
  return Uint8Array.from({ length: AAD_BYTES }, (_, at) => (at * 13 + vault * 59) & 0xff)
}

/** Wraps the root key of a seed for vault 1, and checks what a wrapped key is. */
export async function wrapped(keys: KeyProvider, seed = 1): Promise<WrappedKey> {
  const made = await keys.wrap(rootKey(seed), dataOf())
  assert(typeof made.keyId === 'string' && made.keyId !== '', '`keyId` should be a text that is not empty')
  assert(made.bytes instanceof Uint8Array && made.bytes.length >= KEY_BYTES, '`bytes` should be at least as long as the key')
  return { keyId: made.keyId, bytes: Uint8Array.from(made.bytes) }
}

/** Asserts that the wrapped root key of a seed unwraps. */
export async function assertUnwraps(keys: KeyProvider, wrappedKey: WrappedKey, seed = 1): Promise<void> {
  assertEqual(Uint8Array.from(await keys.unwrap(wrappedKey, dataOf())), rootKey(seed), 'the root key')
}

/** Asserts that a call rejects with this code, and with no text of the key. */
export async function assertFails(call: Promise<unknown>, code: ErrorCode, what: string): Promise<void> {
  const { message, cause } = await assertRejects(call, code, what)
  const text = `${message} ${cause}`
  for (const encoding of ['hex', 'base64', 'base64url'] as const)
    assert(!text.includes(Buffer.from(rootKey()).toString(encoding)), `the error of ${what} should have no text of the key`)
}

/** Asserts that a call to a service that is away rejects with `unavailable`, in time. */
export async function assertUnavailable(call: Promise<unknown>, what: string, patienceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} should reject within ${patienceMs} ms`)), patienceMs)
  })
  try {
    await assertFails(Promise.race([call, end]), 'unavailable', what)
  } finally {
    clearTimeout(timer)
  }
}
