/** Enters a vault with the credential of a request: opens it, checks the credential, and gives the session of its caller. */
import { decodePurpose } from '../../core/util/purpose.ts'
import { type Caller, isVaultError, VaultError } from '../../index.ts'
import type { Authenticate } from '../credentials/authenticate.ts'
import type { HttpLog } from '../options.ts'
import type { HostedVault } from '../vaults/open-vaults.ts'
import type { Call, VaultAccess } from './route.ts'

/** Enters a vault. Throws the one `unauthenticated` for a missing, malformed, unknown, expired or revoked credential, and for a vault that does not exist. */
export type Entry = (call: Call, vaultID: string) => Promise<VaultAccess>

/** Returns how vaults are entered with the credentials that the authenticator knows. */
export function createEntry(authenticate: Authenticate, log: HttpLog): Entry {
  return async ({ request, scope }, vaultID) => {
    const opening = scope.open(vaultID)
    const vault = opening instanceof Promise ? await opening : opening
    if (vault !== undefined) scope.named(vault)
    const credential = bearerOf(request.header('authorization'))
    if (credential === undefined) throw unauthenticated()
    const checked = await authenticate({ credential, vault, vaultID, header: (name) => request.header(name) })
    if (checked === undefined || 'refused' in checked || vault === undefined) {
      log.warn({ requestID: scope.context.requestID, reason: reasonOf(checked) }, 'credential refused')
      throw unauthenticated()
    }
    const purpose = statedPurpose(request.header('x-purpose'), checked.caller)
    const caller: Caller = { ...checked.caller, ...purpose, request: { ...scope.context, ...checked.credential } }
    const session = sessionOf(vault, caller, log)
    scope.named(vault, caller)
    return {
      vault,
      caller,
      session: {
        perform(name, input) {
          scope.began()
          const idempotencyKey = request.header('idempotency-key')
          return session.perform(name, input, idempotencyKey === undefined ? undefined : { idempotencyKey })
        },
      },
    }
  }
}

function reasonOf(checked: Awaited<ReturnType<Authenticate>>): string {
  if (checked === undefined) return 'unknown kind of credential'
  return 'refused' in checked ? checked.refused : 'unknown vault or kind of credential'
}

/** Returns the session of a caller. Throws `internal` for one that the host's authenticator describes wrongly: the client can do nothing about it. */
function sessionOf(vault: HostedVault, caller: Caller, log: HttpLog): ReturnType<HostedVault['as']> {
  try {
    return vault.as(caller)
  } catch (error) {
    if (!isVaultError(error, 'invalid_request')) throw error
    log.error({ reason: error.message }, 'caller of the authenticator refused')
    throw new VaultError('internal', 'The authenticator of this server described the caller wrongly. Its log says how.')
  }
}

/** Returns the purpose of the header `X-Purpose`. Throws `invalid_request` for one that is malformed, or that is not the one to which the credential is bound. */
function statedPurpose(header: string | undefined, { context }: Pick<Caller, 'context'>): Pick<Caller, 'purpose'> {
  if (header === undefined) return {}
  const purpose = decodePurpose(header)
  if (purpose === undefined) {
    throw new VaultError(
      'invalid_request',
      'The header X-Purpose is malformed. Send 1 to 128 characters, percent-encoded where they are not printable ASCII.',
    )
  }
  const bound = context?.purpose
  if (bound === undefined || bound === null || bound === purpose) return { purpose }
  throw new VaultError('invalid_request', 'The header X-Purpose is not the purpose of this credential. Leave it out.')
}

/** The one error of credentials. */
function unauthenticated(): VaultError {
  return new VaultError(
    'unauthenticated',
    'The credential is not valid for this vault. Send a valid one as "Authorization: Bearer <token>".',
  )
}

// Visible ASCII without the comma, which joins the values of a header that is sent twice.
const BEARER = /^bearer +([\x21-\x2b\x2d-\x7e]{1,8192})$/i

/** Returns the text after "Bearer "; undefined unless the header is exactly one bearer credential of 1 to 8,192 visible characters. */
export function bearerOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1]
}
