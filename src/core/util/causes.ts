/** Errors of the runtime, of engines and of defects: their codes, and causes without foreign text, which can quote a value. */
import { VaultError } from '../errors.ts'

/** The causes made here. An error of another origin can quote a value, and is no cause of a `VaultError` that leaves the vault. */
const bareCauses = new WeakSet<Error>()

/** Returns a cause with this text: a name and a code, and never text of an engine or a caller. */
export function bareCause(text: string): Error {
  const cause = new Error(text)
  bareCauses.add(cause)
  return cause
}

/** True for a cause that `bareCause` made. */
export function isBareCause(cause: unknown): boolean {
  return cause instanceof Error && bareCauses.has(cause)
}

/** Returns a cause with the name of the class of a thrown value, and nothing else of it. */
export function causeOf(thrown: unknown): Error {
  return bareCause(`${classNameOf(thrown)} (its text is removed, because it can quote a value)`)
}

/** The class names that are repeated. */
const CLASS_NAME = /^[A-Z][A-Za-z0-9]{0,60}(Error|Exception)$/

function classNameOf(thrown: unknown): string {
  try {
    const name: unknown = thrown instanceof Error ? thrown.constructor.name : undefined
    return typeof name === 'string' && CLASS_NAME.test(name) ? name : 'Error'
  } catch {
    return 'Error' // A Proxy or a getter threw.
  }
}

/** Returns the code of an error, such as `ENOENT`; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' && /^[A-Z][A-Z0-9_]{0,40}$/.test(error.code) ? error.code : undefined
}

/** Returns the text of an error, to recognize it. It can quote a value. */
export function errorText(error: unknown): string {
  const text = typeof error === 'object' && error !== null && 'message' in error ? error.message : ''
  return typeof text === 'string' ? text : ''
}

/** True if a permission that the process was started without refused a call: by its code in Node, by its name in Deno, which gives none. */
export function isForbidden(error: unknown): boolean {
  if (errorCode(error) === 'ERR_ACCESS_DENIED') return true
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'NotCapable'
}

export function unreachable(value: never): never {
  throw new Error(`unreachable case of type ${typeof value}`)
}

/** Has `Symbol.asyncDispose`, which does what `close` does. */
export type ClosedByUsing = typeof Symbol extends { readonly asyncDispose: infer Key extends symbol }
  ? { readonly [Name in Key]: () => Promise<void> }
  : object

const KEY = /^[0-9a-f]{32}$/

/** Throws `internal` for anything but 32 lower-case hex digits. */
export function assertBlobKeys(keys: readonly string[]): void {
  if (keys.every((key) => typeof key === 'string' && KEY.test(key))) return
  throw new VaultError('internal', 'The key of a blob must be 32 lower-case hex digits. This is misuse of the blob port.')
}

/** Throws `internal` for anything but two offsets in order. */
export function assertByteRange({ start, end }: { readonly start: number; readonly end: number }): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end) return
  throw new VaultError(
    'internal',
    'The range of a blob must be two whole offsets from 0, in order. This is misuse of the blob port.',
  )
}

/** `not_found`: the store has no whole blob of the key. */
export function noBlobError(): VaultError {
  return new VaultError('not_found', 'There is no blob of this key. It was deleted, or never written.')
}
