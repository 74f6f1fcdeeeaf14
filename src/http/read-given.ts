/** Reads options of the host. What their getters throw, and names that are no names, can quote a value, so no error repeats them. */
import { VaultError } from '../index.ts'

/** Runs code that reads options, and returns its result. Throws `invalid_request` if a getter or a Proxy throws. Errors of the library itself pass. */
export function readGiven<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (VaultError.isGenuine(error)) throw error
    throw new VaultError(
      'invalid_request',
      'The options cannot be read: one of their objects threw an error. Pass plain objects and values.',
    )
  }
}

/** Returns the name of an option for an error: unchanged if it has the form of a name, else a description, because it may be a value. */
export function shownName(name: PropertyKey): string {
  return typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name) ? name : '(not a valid name)'
}
