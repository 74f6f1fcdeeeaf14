/** Refuse request: records a request that failed before it had a session. Performed by `vault.recordRefusal`. */
import type { VaultError } from '../errors.ts'
import type { Operation } from '../execution/operation.ts'

/** Returns the operation that throws this error, so that its event has the code and the message of the error. */
export function refusedBy(refusal: VaultError): Operation<Record<never, never>, undefined, never> {
  return {
    action: 'REQUEST',
    resourceType: 'VAULT',
    verb: 'Request',
    members: [],
    recorded: {},
    parse: () => undefined,
    async execute() {
      throw refusal
    },
  }
}
