/** The boundary to code that is not the vault's: objects of callers, storages, key providers, clocks. Their errors can quote a value, so none passes. */
import { type ErrorCode, Fault, fault, isErrorCode, isVaultError, VaultError } from '../errors.ts'
import { causeOf, isBareCause } from './causes.ts'

/**
 * Runs code that reads objects of a caller, and returns its result. Throws `invalid_request` if one of them throws: a getter, a Proxy or
 * a conversion. Errors of `read` itself pass: faults, unless `isOwn` says otherwise.
 */
export function readInput<T>(read: () => T, isOwn: (error: unknown) => boolean = Fault.isFault): T {
  try {
    return read()
  } catch (error) {
    throw toInputError(error, isOwn)
  }
}

/** Returns an error of code that reads objects of a caller, as `readInput` throws it. */
export function toInputError(error: unknown, isOwn: (error: unknown) => boolean = Fault.isFault): unknown {
  if (isOwn(error)) return error
  return fault('invalid_request')`The input cannot be read: one of its objects threw an error. Pass plain objects and values.`
}

/**
 * Returns an error as it may leave the vault. A `VaultError` is returned unchanged, except that a foreign cause is reduced to the name of
 * its class. Any other error becomes `internal`. One that imitates a `VaultError`, as another copy of the package does, keeps its code.
 * `failed` begins the message: "Insert failed."
 */
export function toVaultError(error: unknown, failed: string): VaultError {
  if (VaultError.isGenuine(error)) return withoutForeignText(error)
  const code = codeOf(error)
  const what = code === 'internal' ? 'Something unexpected went wrong' : `A storage or key provider reported "${code}"`
  const message = `${failed} ${what}. The text of the error is not repeated, because it can quote a value.`
  return new VaultError(code, message, {}, { cause: causeOf(error) })
}

/** Runs work, and throws its errors as they may leave the vault. `failed` as for `toVaultError`. */
export function guard<T>(failed: string, work: () => Promise<T>): Promise<T> {
  return guardAround(failed, work)
}

/** Runs a callback of the application. */
export type RunCallback = <R>(callback: () => Promise<R>) => Promise<R>

/** The same for work that calls the application back. What a callback throws is the application's own, and is rethrown unchanged. */
export async function guardAround<T>(failed: string, work: (run: RunCallback) => Promise<T>): Promise<T> {
  const own = new Set<unknown>()
  try {
    return await work(async (callback) => {
      try {
        return await callback()
      } catch (error) {
        own.add(error)
        throw error
      }
    })
  } catch (error) {
    throw own.has(error) ? error : toVaultError(error, failed)
  }
}

/** The properties of a `VaultError`, beside its cause. */
const PROPERTIES: ReadonlySet<PropertyKey> = new Set([
  'name',
  'message',
  'stack',
  'code',
  'httpStatus',
  'grpcCode',
  'details',
] satisfies (keyof VaultError)[])

/** Removes a foreign cause and foreign properties in place: storages recognize errors that are thrown through their transactions. */
function withoutForeignText(error: VaultError): VaultError {
  for (const property of Reflect.ownKeys(error)) {
    if (PROPERTIES.has(property) || (property === 'cause' && isOwnCause(error.cause))) continue
    const value: unknown = property === 'cause' ? causeOf(error.cause) : undefined
    if (!Reflect.defineProperty(error, property, { value, writable: true, enumerable: false, configurable: true }))
      return new VaultError(error.code, error.message, error.details, { httpStatus: error.httpStatus })
  }
  return error
}

/** True for no cause, one that this library made of a code alone, and a `VaultError` that has no other. */
function isOwnCause(cause: unknown): boolean {
  if (cause === undefined || isBareCause(cause)) return true
  return VaultError.isGenuine(cause) && isOwnCause(cause.cause)
}

/** The code of an error that imitates a `VaultError`; otherwise `internal`. */
function codeOf(error: unknown): ErrorCode {
  if (!isVaultError(error)) return 'internal'
  try {
    const code: unknown = error.code
    return isErrorCode(code) ? code : 'internal'
  } catch {
    return 'internal' // A getter threw.
  }
}

/** How far the work has come. Its method says what is counted. */
export interface Progress {
  readonly done: number
  /** As counted at the start, so it can differ from what is done at the end. Absent if it is not known. */
  readonly total?: number
  /** What it waits for from now on, in a few words. Absent: it goes on. */
  readonly waitsFor?: string
}

/** A callback of the caller. It is awaited between two steps of the work; what it throws ends the work, and is thrown to the caller unchanged. */
export type OnProgress = (progress: Progress) => unknown

/** Reports progress to the caller; undefined if the caller does not ask for it. */
export type ReportProgress = ((progress: Progress) => Promise<void>) | undefined

/** Returns the function that reports. Throws `invalid_request` for anything but a function: calling it would throw as if it were the callback's own error. */
export function parseOnProgress(given: unknown, run: RunCallback): ReportProgress {
  if (given === undefined) return undefined
  if (!isOnProgress(given)) throw fault('invalid_request')`onProgress must be a function.`
  return (progress) =>
    run(async () => {
      await given(progress)
    })
}

function isOnProgress(given: unknown): given is OnProgress {
  return typeof given === 'function'
}
