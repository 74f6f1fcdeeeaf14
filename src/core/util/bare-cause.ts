/** Causes without foreign text: the error of an engine or library, reduced to a code or the name of its class. */

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
