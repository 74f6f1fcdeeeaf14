/** Signals by which a caller ends long work early: an `AbortSignal`, or what looks like one. Core has no DOM types. */
import { type Fault, fault } from '../errors.ts'
import { readInput } from './boundary.ts'

/** The members of an `AbortSignal` that are used. */
export interface Signal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Returns a signal that can be read without errors of the caller's own. Throws `invalid_request` for anything but a signal. */
export function parseSignal(given: unknown): Signal | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'object' || given === null || !('aborted' in given))
    throw fault('invalid_request')`signal must be an AbortSignal.`
  const call = (name: 'addEventListener' | 'removeEventListener', listener: () => void): void => {
    readInput(() => {
      const method: unknown = Reflect.get(given, name)
      // An object that only has `aborted` is looked at between two steps of the work.
      if (typeof method === 'function') Reflect.apply(method, given, ['abort', listener])
    })
  }
  return {
    get aborted() {
      return readInput(() => given.aborted === true)
    },
    addEventListener: (_, listener) => call('addEventListener', listener),
    removeEventListener: (_, listener) => call('removeEventListener', listener),
  }
}

/** Throws `cancelled` after an abort. */
export function assertNotAborted(signal: Pick<Signal, 'aborted'> | undefined): void {
  if (signal?.aborted === true) throw abortedError()
}

/** Returns the result of work, or throws `cancelled` at an abort. The work goes on then, and its result is dropped. */
export async function unlessAborted<T>(signal: Signal | undefined, work: () => Promise<T>): Promise<T> {
  if (signal === undefined) return work()
  assertNotAborted(signal)
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(abortedError())
  })
  aborted.catch(() => {})
  signal.addEventListener('abort', stop)
  try {
    return await Promise.race([work(), aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** A signal, and what aborts it. */
export interface Abortable {
  readonly signal: Signal
  abort(): void
}

/** Returns a signal of the vault's own. Errors of its listeners keep neither the others nor the vault from going on. */
export function createAbortable(): Abortable {
  const listeners = new Set<() => void>()
  let aborted = false
  return {
    signal: {
      get aborted() {
        return aborted
      },
      addEventListener: (_, listener) => void listeners.add(listener),
      removeEventListener: (_, listener) => void listeners.delete(listener),
    },
    abort() {
      aborted = true
      for (const listener of listeners) runQuietly(listener)
      listeners.clear()
    },
  }
}

function runQuietly(listener: () => void): void {
  try {
    listener()
  } catch {
    // The work that it belongs to ends all the same.
  }
}

function abortedError(): Fault {
  return fault('cancelled')`It was cancelled by its AbortSignal.`
}
