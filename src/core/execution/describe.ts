/** Answers what a caller asks about themselves and the vault, without an event and without showing a record. It checks no grant. */
import { fault } from '../errors.ts'
import { readInput } from '../util/boundary.ts'
import { assertMembers } from '../util/options.ts'
import type { SessionContext } from './context.ts'
import type { Untrusted } from './operation.ts'
import { withVerbOf } from './perform.ts'

/** One question. It is performed by its name, like an operation. */
export interface Description<Given, Result> {
  /** First word of its errors. */
  readonly verb: string
  /** The members of the input. Another one is refused. */
  readonly members: readonly (keyof Given & string)[]
  /** The HTTP status of `not_found`, if the routes of the question have no 404. */
  readonly notFoundStatus?: 400
  /** Returns the answer. It names only what the caller knows. */
  describe(given: Untrusted<Given>, session: SessionContext): Result | Promise<Result>
}

/** Returns the answer. Throws `invalid_request` for an input that is no object, and `failed_precondition` after the vault was closed. */
export async function describe<Given extends object, Result>(
  of: SessionContext,
  description: Description<Given, Result>,
  given: Given,
): Promise<Result> {
  if (typeof given !== 'object' || given === null) throw fault('invalid_request')`The input of an operation must be an object.`
  const session = of.current()
  const { lifetime } = session
  const age = lifetime.begin()
  try {
    readInput(() => assertMembers(given, description.members))
    return await description.describe(given, session)
  } catch (error) {
    throw withVerbOf(description, error)
  } finally {
    lifetime.end(age)
  }
}
