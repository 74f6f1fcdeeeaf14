/** Revoke credential: a stored credential by its key id, or a JWT by its id, in effect at once in every process. */
import { findCredential, MAX_ENTRY_NAME_LENGTH, storeRevoked, storeRevokedJwt } from '../credentials/credential-store.ts'
import { fault, isVaultError } from '../errors.ts'
import type { OperationContext } from '../execution/context.ts'
import { assertOwner } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { nowMs } from '../util/time.ts'

/** Input of revoking: a key id, or a JWT with the time it expires, in milliseconds since 1970. */
export type RevokeCredentialInput =
  | { readonly keyId: string; readonly jti?: undefined; readonly expiresAt?: undefined }
  | { readonly jti: string; readonly expiresAt: number; readonly keyId?: undefined }

/** A revoked credential. */
export interface RevokedCredential {
  readonly revoked: true
}

/** All members that an input can have. */
type AnyInput = { readonly [Member in 'keyId' | 'jti' | 'expiresAt']?: unknown }

/** Revokes. Needs ALL ON * in plain text. Throws `invalid_request`, and `not_found` for an unknown key id. Again does nothing more. */
export const revokeCredential: Operation<RevokeCredentialInput, RevokeCredentialInput, RevokedCredential> = {
  action: 'REVOKE_CREDENTIAL',
  resourceType: 'CREDENTIAL',
  verb: 'Revoke credential',
  members: ['keyId', 'jti', 'expiresAt'],
  recorded: { keyId: 'value', jti: 'value', expiresAt: 'number' },
  parse({ keyId, jti, expiresAt }: AnyInput) {
    if (isName(keyId) && jti === undefined && expiresAt === undefined)
      return { keyId: UUID.test(keyId) ? keyId.toLowerCase() : keyId }
    if (isName(jti) && keyId === undefined && typeof expiresAt === 'number' && Number.isSafeInteger(expiresAt))
      return { jti, expiresAt }
    throw fault('invalid_request')`Specify keyId, or jti with expiresAt in milliseconds since 1970.`
  },
  async execute(context, request) {
    assertOwner(context)
    if (request.keyId === undefined) await revokeJwt(context, request)
    else await revokeKey(context, request.keyId)
    return { revoked: true }
  },
}

/** The key id of an API key, which can be given in capitals. That of a service account also names the vault, letter for letter. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function isName(given: unknown): given is string {
  return typeof given === 'string' && given !== '' && given.length <= MAX_ENTRY_NAME_LENGTH
}

async function revokeKey({ unit, barrier, clock, event }: OperationContext, keyId: string): Promise<void> {
  await unit.change(async ({ storage }) => {
    const found = await findCredential(storage, barrier, { keyId, newest: true })
    if (found === undefined) throw fault('not_found')`No credential has this key id.`
    event.setCredential(keyId)
    if (found.credential.revokedAt !== undefined) return
    const credential = { ...found.credential, revokedAt: nowMs({ clock }) }
    if (!(await storeRevoked(storage, barrier, { ...found, credential })))
      throw fault('aborted')`The credential was changed at the same time. Retry.`
  })
}

async function revokeJwt(
  { unit, barrier }: OperationContext,
  jwt: { readonly jti: string; readonly expiresAt: number },
): Promise<void> {
  const revoke = () => unit.change(({ storage }) => storeRevokedJwt(storage, barrier, jwt))
  try {
    await revoke()
  } catch (error) {
    // Another caller revoked it at the same time. The second attempt finds that.
    if (!isVaultError(error, 'conflict')) throw error
    await revoke()
  }
}
