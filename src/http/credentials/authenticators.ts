/** Several kinds of credentials as one: the first authenticator that recognizes a credential decides. */
import type { Authenticate } from './authenticate.ts'

/** Returns an authenticator that asks one, or each of a list in order, and refuses a credential that none of them recognizes. */
export function combined(given: Authenticate | readonly Authenticate[]): Authenticate {
  const authenticators = typeof given === 'function' ? [given] : [...given]
  return async (request) => {
    for (const authenticate of authenticators) {
      const answer = await authenticate(request)
      if (answer !== undefined) return answer
    }
    return { refused: 'unknown kind of credential' }
  }
}
