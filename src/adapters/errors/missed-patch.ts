/** A patch that does not apply, in changes that are stored all or none: it undoes the others, and is no error of the caller. */

/** Thrown where a patch of a `commit` does not apply. It never leaves the storage. */
const MISSED = new Error('a patch does not apply')

/** Throws if one of these patches was not applied. */
export function assertApplied(applied: readonly boolean[]): void {
  if (applied.includes(false)) throw MISSED
}

/** Returns false for the error of `assertApplied`. Rethrows any other. */
export function falseIfMissed(error: unknown): false {
  if (error !== MISSED) throw error
  return false
}
