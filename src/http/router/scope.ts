/** What one request holds: the vaults in use until its response is sent, and who it turned out to be from. */
import type { Caller, RequestContext } from '../../index.ts'
import type { HostedVault, Lease } from '../vaults/open-vaults.ts'
import type { VaultDirectory } from '../vaults/vault-directory.ts'
import type { Failure } from './error-response.ts'
import type { HttpResponse } from './http-message.ts'
import type { RefusalPace } from './refusal-pace.ts'

/** One request. */
export interface Scope {
  /** Origin of the request, as events record it. */
  readonly context: RequestContext & { readonly requestID: string }
  /** Opens a vault, which stays in use until the response is sent; undefined for an unknown one. */
  open(vaultID: string): Promise<HostedVault | undefined> | HostedVault | undefined
  /** Returns the ids of the vaults of an account; of every account if none is given. */
  vaultsOfAccount(accountID: string | undefined): Promise<readonly string[]>
  /** The vault that the request names, and its caller once the credential is checked. What fails from here on is recorded there. */
  named(vault: HostedVault, caller?: Caller): void
  /** True once the credential of the request was checked and accepted. */
  isAuthenticated(): boolean
  /** An operation began: it records itself. */
  began(): void
  /** Records a failure in the vault that the request names, if no operation began. If there is no such vault, takes the time of it. */
  recordRefusal(failure: Failure): Promise<void>
  /** Returns the response, after which the vaults are released. `onError` gets the error that ends its body early. */
  released(response: HttpResponse, onError?: (error: unknown) => void): HttpResponse
}

/** What the scopes of a handler share. */
export interface ScopeParts {
  readonly vaults: VaultDirectory
  readonly pace: RefusalPace
}

/** Returns the scope of one request. */
export function createScope({ vaults, pace }: ScopeParts, context: Scope['context']): Scope {
  const leases: Lease[] = []
  let place: { readonly vault: HostedVault; readonly caller: Caller | undefined } | undefined
  let isRecorded = false
  let isUnknown = false
  const release = (): void => {
    for (const lease of leases.splice(0)) lease.release()
  }
  const hold = (lease: Lease | undefined): HostedVault | undefined => {
    if (lease === undefined) isUnknown = true
    else leases.push(lease)
    return lease?.vault
  }
  return {
    context,
    vaultsOfAccount: (accountID) => vaults.vaultsOfAccount(accountID),
    open(vaultID) {
      const lease = vaults.lease(vaultID)
      return lease instanceof Promise ? lease.then(hold) : hold(lease)
    },
    named(vault, caller) {
      place = { vault, caller }
    },
    isAuthenticated: () => place?.caller !== undefined,
    began() {
      isRecorded = true
    },
    async recordRefusal({ error, status }) {
      if (isRecorded) return
      if (place === undefined) return isUnknown ? pace.withoutVault() : undefined
      const { vault, caller } = place
      const refusal = { request: context, error, httpStatus: status, ...(caller === undefined ? {} : { caller }) }
      await pace.recording(() => vault.recordRefusal(refusal))
    },
    released(response, onError = () => {}) {
      const { body } = response
      if (typeof body !== 'object' || body instanceof Uint8Array) {
        release()
        return response
      }
      return { ...response, body: releasing(body, release, onError) }
    },
  }
}

/** Returns the chunks. Release is called once: at their end, at an error, or when the reader ends them, also before the first one. The error is passed on. */
function releasing(
  chunks: AsyncIterable<Uint8Array>,
  release: () => void,
  onError: (error: unknown) => void,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = chunks[Symbol.asyncIterator]()
      return {
        async next() {
          try {
            const result = await iterator.next()
            if (result.done === true) release()
            return result
          } catch (error) {
            release()
            onError(error)
            throw error
          }
        },
        async return() {
          try {
            await iterator.return?.()
          } finally {
            release()
          }
          return { done: true, value: undefined }
        },
      }
    },
  }
}
