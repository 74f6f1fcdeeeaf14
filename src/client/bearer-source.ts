/** Where the bearer of requests comes from: a text, or a function that is asked for one, and again once it is refused. */

/** What is sent after "Bearer ": an API key or a bearer, or a function that returns one. `renew` is true after the one before was refused. */
export type ClientCredentials = string | ((how: { readonly renew: boolean }) => string | Promise<string>)

/** A bearer, or one that is still to come. */
type Bearer = Promise<string>

/** The source of bearers. */
export interface BearerSource {
  /** True if a refused bearer can be replaced. */
  readonly isRenewable: boolean
  /** Returns the bearer. `refused` is one that it returned before, and that the vault refused. */
  current(refused?: Bearer): Bearer
}

/** Returns the source. A function is asked once for all requests that wait for the same bearer. What it throws, the caller of the request gets. */
export function bearerSource(credentials: ClientCredentials): BearerSource {
  if (typeof credentials === 'string') return { isRenewable: false, current: async () => credentials }
  let bearer: Bearer | undefined
  return {
    isRenewable: true,
    current(refused) {
      if (bearer !== undefined && bearer !== refused) return bearer
      const asked = Promise.resolve().then(() => credentials({ renew: refused !== undefined }))
      bearer = asked
      asked.catch(() => {
        if (bearer === asked) bearer = undefined
      })
      return asked
    },
  }
}
