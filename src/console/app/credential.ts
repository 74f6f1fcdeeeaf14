/** The credential of this tab: one variable, in memory. Nothing writes it to a storage, a cookie, a URL or a title. */

/** What a request is sent with. */
export interface Credential {
  readonly vaultID: string
  /** Returns what the Authorization header has after "Bearer ". A service account renews it before it expires. */
  bearer(): string | Promise<string>
}

let current: Credential | undefined

/** Returns the credential; undefined if there is none. */
export function credential(): Credential | undefined {
  return current
}

/** Keeps a credential in place of the earlier one, or none. */
export function keepCredential(next: Credential | undefined): void {
  current = next
}
