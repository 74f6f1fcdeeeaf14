/** The error of an operation: with its verb before the message, for the caller and for the event. */
import { type Outcome, outcomeOf } from '../audit/event.ts'
import { Fault, VaultError } from '../errors.ts'
import { toVaultError } from '../util/boundary.ts'
import type { SessionContext } from './context.ts'
import type { Operation } from './operation.ts'

/** How errors name an operation, and the HTTP status of its `not_found`. */
export type NamedOperation = Pick<Operation<never, never, never>, 'verb' | 'notFoundStatus'>

/** Returns the outcome of a failure for its event, with names masked that the schema does not have. `thrown` is the error as the caller gets it. */
export function recordedOutcome(
  { layout }: Pick<SessionContext, 'layout'>,
  { verb }: NamedOperation,
  { error, thrown }: { readonly error: unknown; readonly thrown: VaultError },
): Outcome {
  const outcome = outcomeOf(thrown)
  if (!Fault.isFault(error)) return outcome
  return {
    ...outcome,
    message: prefixed(
      verb,
      error.recordedText((text) => layout.names.has(text)),
    ),
  }
}

/** Returns a fault with the verb before its message and the HTTP status of its operation; any other error as it may leave the vault. */
export function withVerbOf({ verb, notFoundStatus }: NamedOperation, error: unknown): VaultError {
  if (!Fault.isFault(error)) return toVaultError(error, `${verb} failed.`)
  const httpStatus = error.code === 'not_found' ? notFoundStatus : undefined
  return new VaultError(error.code, prefixed(verb, error.message), error.details, { httpStatus })
}

/** Returns a message that begins with the verb: "Insert failed. …" */
export function prefixed(verb: string, message: string): string {
  return `${verb} failed. ${message}`
}

/** Runs work that is not an operation, and puts a verb before the message of its faults. */
export function withVerb<T>(verb: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw withVerbOf({ verb }, error)
  }
}
