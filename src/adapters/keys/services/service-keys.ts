/** What the providers of all key services share: time limits, tries after a failure, one call for equal ones at once, and errors without a text of the service. */
import { isVaultError, VaultError } from '../../../core/errors.ts'
import type { KeyProvider, WrappedKey } from '../../../core/ports/crypto.ts'
import { attempt, jitteredMs } from '../../../core/util/attempt.ts'
import { bareCause, causeOf } from '../../../core/util/causes.ts'
import { readOptions } from '../../../core/util/options.ts'
import { copySecret, wipe } from '../key-bytes.ts'

/** The calls of one key service, as its client makes them. Each rejects with whatever the client throws, and can throw a `VaultError` of its own. */
export interface KeyService {
  /** The name in errors, such as `AWS KMS`. */
  readonly name: string
  /** `signal` is aborted at the end of the time limit. A client that cannot take it is not waited for any longer. */
  wrap(key: Uint8Array, associatedData: Uint8Array, signal: AbortSignal): Promise<WrappedKey>
  /** Returns the key in an array that is overwritten after use. */
  unwrap(wrapped: WrappedKey, associatedData: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
  /** Wraps again inside the service. Absent where it cannot. */
  rewrap?(wrapped: WrappedKey, associatedData: Uint8Array, signal: AbortSignal): Promise<WrappedKey>
  currentKeyId?(signal: AbortSignal): Promise<string>
  close?(): Promise<void>
  /** Says what an error of the client means. A service can answer different faults alike: `task` separates them. */
  failureOf(error: unknown, task: KeyServiceTask): KeyServiceFailure
}

/** What a failed call of a key service means. */
export interface KeyServiceFailure {
  /**
   * `throttled`: there were too many calls. `unavailable`: no connection, no answer, or a fault of the service. `refused`: the key is
   * disabled, deleted or unknown, or the process has no right to use it. `mismatch`: the wrapped bytes or their associated data differ.
   * `unknown`: anything else. The first two are tried again.
   */
  readonly kind: 'throttled' | 'unavailable' | 'refused' | 'mismatch' | 'unknown'
  /** The code or the status of the error, for its cause. Text of the service is no code. */
  readonly code?: string | number | undefined
}

/** How long a key service is waited for. */
export interface KeyServiceLimits {
  /** Milliseconds that one call may take. Default 5,000. */
  readonly callTimeoutMs?: number | undefined
  /** Milliseconds that all tries of a call may take together. Default 10,000. */
  readonly openTimeoutMs?: number | undefined
}

/** Tries of a call that ends with `unavailable`. */
const MAX_TRIES = 3
/** The pause after the first try lasts up to 200 ms; the bound doubles after each one. */
const PAUSE = { firstMs: 200, maxMs: 2000 }
/** Bounds of both limits, in milliseconds. */
const MAX_LIMIT_MS = 600_000
/** What is thrown at the end of the time limit. */
const TIMED_OUT = new Error('No answer within the time limit')

/** What a call does, for errors. */
const TASKS = {
  wrap: 'wrap a root key',
  unwrap: 'unwrap a root key',
  rewrap: 'wrap a root key again',
  currentKeyId: 'name its current key',
}
/** A call of a key service. */
export type KeyServiceTask = keyof typeof TASKS

/**
 * Returns a key provider that calls a service. Calls that end with `unavailable` are tried three times, with pauses of random length, until
 * `openTimeoutMs` is over. Equal `unwrap`s at the same time make one call. Throws `unavailable` if the service does not answer, fails or
 * throttles; `failed_precondition` if it refuses, or if bytes or associated data differ; `internal` for any other error.
 */
export function serviceKeys(service: KeyService, limits: KeyServiceLimits = {}): KeyProvider {
  const given = readOptions(limits, ['callTimeoutMs', 'openTimeoutMs'], { of: 'serviceKeys' })
  const callTimeoutMs = limitOf(service, 'callTimeoutMs', given.callTimeoutMs ?? 5000)
  const openTimeoutMs = limitOf(service, 'openTimeoutMs', given.openTimeoutMs ?? 10_000)
  const call = <T>(
    task: KeyServiceTask,
    work: (signal: AbortSignal) => Promise<T>,
    discard: (late: T) => void = ignore,
  ): Promise<T> => {
    const end = performance.now() + openTimeoutMs
    const rest = () => end - performance.now()
    const again = {
      is: (error: unknown) => isVaultError(error, 'unavailable') && rest() > 0,
      most: MAX_TRIES,
      // Half of the rest at most, so that the next try has time.
      between: (count: number) =>
        new Promise<void>((wake) => {
          setTimeout(wake, Math.min(jitteredMs(count, PAUSE, Math.random()), rest() / 2))
        }),
    }
    return attempt([again], async () => {
      try {
        return await within(Math.max(1, Math.min(callTimeoutMs, rest())), work, discard)
      } catch (error) {
        throw errorOf(service, task, error)
      }
    })
  }
  const { rewrap, currentKeyId, close } = service
  return {
    wrap: (key, associatedData) => call('wrap', (signal) => service.wrap(key, associatedData, signal)),
    unwrap: sharedUnwrap((wrapped, associatedData) =>
      call('unwrap', (signal) => service.unwrap(wrapped, associatedData, signal), wipe),
    ),
    ...(rewrap === undefined
      ? {}
      : {
          rewrap: (wrapped: WrappedKey, associatedData: Uint8Array) =>
            call('rewrap', (signal) => rewrap.call(service, wrapped, associatedData, signal)),
        }),
    ...(currentKeyId === undefined
      ? {}
      : { currentKeyId: () => call('currentKeyId', (signal) => currentKeyId.call(service, signal)) }),
    ...(close === undefined ? {} : { close: () => close.call(service) }),
  }
}

function limitOf({ name }: KeyService, option: string, value: unknown): number {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_LIMIT_MS) return Number(value)
  throw new VaultError('invalid_request', `${name}: \`${option}\` must be a whole number from 1 to ${MAX_LIMIT_MS}.`)
}

/** One call that others with the same arguments wait for. */
interface SharedCall {
  readonly key: Promise<Uint8Array>
  /** Callers that have not taken their copy. */
  waiting: number
}

/** Many vaults that open at once would each unwrap the same root key. Each caller gets a copy, and the last one overwrites the answer. */
function sharedUnwrap(unwrap: KeyProvider['unwrap']): KeyProvider['unwrap'] {
  const calls = new Map<string, SharedCall>()
  const start = (id: string, wrapped: WrappedKey, associatedData: Uint8Array): SharedCall => {
    const key = unwrap(wrapped, associatedData).finally(() => calls.delete(id))
    const shared = { key, waiting: 0 }
    calls.set(id, shared)
    return shared
  }
  return async (wrapped, associatedData) => {
    const id = [wrapped.bytes, associatedData].map((bytes) => Buffer.from(bytes).toString('base64')).join(' ') + wrapped.keyId
    const shared = calls.get(id) ?? start(id, wrapped, associatedData)
    shared.waiting++
    const key = await shared.key
    const copy = copySecret(key)
    if (--shared.waiting === 0) wipe(key)
    return copy
  }
}

/** Runs work for some milliseconds at most. What it returns later is passed to `discard`. */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>, discard: (late: T) => void): Promise<T> {
  const abort = new AbortController()
  const running = work(abort.signal)
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(TIMED_OUT)
      abort.abort()
    }, ms)
  })
  try {
    return await Promise.race([running, end])
  } catch (error) {
    running.then(discard, ignore)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function ignore(): void {}

/** Returns the error to throw for anything that a call threw. */
function errorOf(service: KeyService, task: KeyServiceTask, error: unknown): VaultError {
  if (isVaultError(error)) return error
  const { kind, code }: KeyServiceFailure =
    error === TIMED_OUT ? { kind: 'unavailable', code: 'no answer within the time limit' } : service.failureOf(error, task)
  const cause = code === undefined ? causeOf(error) : bareCause(`${service.name} reported ${code}`)
  const [errorCode, reason] = FAILURES[kind]
  return new VaultError(errorCode, `${service.name} could not ${TASKS[task]}: ${reason}`, {}, { cause })
}

const FAILURES = {
  throttled: ['unavailable', 'there were too many calls. Retry later, or raise its quota.'],
  unavailable: [
    'unavailable',
    'it cannot be reached, does not answer in time, or fails. Check the network and the service, then retry.',
  ],
  refused: [
    'failed_precondition',
    'the key is disabled, deleted or unknown, or this process has no right to use it. Check the key and its permissions.',
  ],
  mismatch: ['failed_precondition', 'the wrapped bytes were changed, or belong to another key or vault. Restore them.'],
  unknown: ['internal', 'its client threw an error that is not expected. Check the client and its version.'],
} as const
