/** Combines authenticators. */
import type { Authenticate } from './authenticate.ts'

/** Returns an authenticator that tries several in order. */
export function combined(given: Authenticate | readonly Authenticate[]): Authenticate {
  const all = typeof given === 'function' ? [given] : given
  return async (request) => {
    for (const authenticate of all) {
      const checked = await authenticate(request)
      if (checked !== undefined) return checked
    }
    return undefined
  }
}
