/** What the conformance cases assert, without any test runner. */
import { type ErrorCode, isVaultError, type VaultError } from '../core/errors.ts'

/** Longest rendering of a value in a failure message. */
const MAX_SHOWN_LENGTH = 300

export function assert(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message)
}

/** Deep equality of cells, rows and lists. Zero and minus zero are equal, bytes must be equal bytewise, key order is free. */
export function assertEqual(actual: unknown, expected: unknown, what = 'the result'): void {
  if (!isEqual(actual, expected)) throw new Error(`${what} should be ${show(expected)} and is ${show(actual)}`)
}

/** Awaits a rejection with a `VaultError` of this code and returns the error. */
export async function assertRejects(promise: Promise<unknown>, code: ErrorCode, what = 'the call'): Promise<VaultError> {
  const error = await rejectionOf(promise, what)
  if (!isVaultError(error)) throw new Error(`${what} should reject with a VaultError and rejects with ${show(error)}`)
  if (error.code !== code) throw new Error(`${what} should reject with ${code} and rejects with ${error.code}: ${error.message}`)
  return error
}

/** Awaits a rejection and returns its reason, of any type. */
export async function rejectionOf(promise: Promise<unknown>, what = 'the call'): Promise<unknown> {
  let result: unknown
  try {
    result = await promise
  } catch (error) {
    return error
  }
  throw new Error(`${what} should reject and returns ${show(result)}`)
}

function isEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    return left.length === right.length && left.every((byte, at) => byte === right[at])
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, at) => isEqual(item, right[at]))
  }
  if (!isPlain(left) || !isPlain(right)) return false
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && isEqual(left[key], right[key]))
  )
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
}

function show(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`.slice(0, MAX_SHOWN_LENGTH)
  const text = JSON.stringify(value, (_, each) =>
    typeof each === 'bigint' ? `${each}n` : each instanceof Uint8Array ? `bytes(${each})` : each,
  )
  return (text ?? String(value)).slice(0, MAX_SHOWN_LENGTH)
}
