/** Issue bearer: exchanges an assertion of a service account for a bearer. Performed by `vault.credentials.issueBearer`. */
import { v4 as uuid } from 'uuid'
import type { Barrier } from '../barrier/barrier.ts'
import { signBearer } from '../credentials/bearer.ts'
import { findCredential, isValidAt, type Nonce, type StoredCredential, storeSpent } from '../credentials/credential-store.ts'
import { entriesIn } from '../credentials/entry-rows.ts'
import { type Fault, fault, isVaultError } from '../errors.ts'
import type { OperationContext } from '../execution/context.ts'
import type { Operation } from '../execution/operation.ts'
import type { CallerContext } from '../policy/caller.ts'
import type { Storage } from '../ports/storage.ts'
import { nowMs } from '../util/time.ts'

/** What a bearer is issued for. The caller has verified the assertion with the public key of the service account. */
export interface IssueBearerInput {
  /** Key id of the service account. */
  readonly keyId: string
  /** The assertion, if it serves once, and the time until which it would be accepted, in milliseconds since 1970. Absent: it serves until then. */
  readonly assertion?: Nonce
  /** Roles of the bearer, each one of the service account. Default: all of them. */
  readonly roles?: readonly string[]
  /** Attributes for `ctx.name` of policies, from the client. Those of the service account take precedence. */
  readonly context?: CallerContext
}

/** A bearer. */
export interface IssuedBearer {
  /** A compact JWS of at most 8,192 characters. */
  readonly bearer: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Maximum lifetime of a bearer in seconds. Source: specification, "Limits". */
const LIFETIME_SECONDS = 60 * 60
/** Maximum length of a bearer: that of any credential. */
const MAX_BEARER_LENGTH = 8192

/**
 * Issues a bearer for at most 60 minutes. Throws `unauthenticated` for a credential that is not valid or an assertion that has served,
 * `forbidden` for a role that the service account does not have, `limit_exceeded` if roles and context are too long.
 */
export const issueBearer: Operation<IssueBearerInput, IssueBearerInput, IssuedBearer> = {
  action: 'ISSUE_BEARER',
  resourceType: 'CREDENTIAL',
  verb: 'Issue bearer',
  members: ['keyId', 'assertion', 'roles', 'context'],
  recorded: { keyId: 'value', assertion: 'omitted', roles: 'value', context: 'value' },
  // The input is that of `vault.credentials`, which has checked its types.
  parse: (given) => given as IssueBearerInput,
  async execute(context, request) {
    const { unit, barrier, event } = context
    return unit.change(async ({ storage }) => {
      const found = await findCredential(entriesIn(storage, barrier), request.keyId)
      const credential = requireServiceAccount(context, found?.credential)
      event.setCredential(credential.keyId)
      const issued = issue(context, credential, request)
      if (request.assertion !== undefined) await spend(storage, barrier, request.assertion)
      return issued
    })
  },
}

/** Throws `unauthenticated` for an assertion that has served. */
async function spend(storage: Storage, barrier: Barrier, assertion: Nonce): Promise<void> {
  await storeSpent(storage, barrier, assertion).catch((error: unknown) => {
    throw isVaultError(error, 'conflict') ? notValid() : error
  })
}

function requireServiceAccount(context: OperationContext, credential: StoredCredential | undefined): StoredCredential {
  if (credential?.kind !== 'SERVICE_ACCOUNT' || !isValidAt(credential, nowMs(context))) throw notValid()
  return credential
}

function issue(context: OperationContext, credential: StoredCredential, request: IssueBearerInput): IssuedBearer {
  const { access, barrier, audit } = context
  const { roles = credential.roles, context: attributes } = request
  if (!roles.every((role) => credential.roles.includes(role)))
    throw fault('forbidden')`The scope names a role that the service account does not have.`
  if (!access.denyingRoles.every((role) => roles.includes(role)))
    throw fault('forbidden')`The scope leaves out a role with a DENY. Name every role of the service account that has one.`
  const iat = Math.floor(nowMs(context) / 1000)
  const exp = Math.min(iat + LIFETIME_SECONDS, Math.floor((credential.expiresAt ?? Number.POSITIVE_INFINITY) / 1000))
  const { vaultID } = audit
  const bearer = signBearer(
    { ring: barrier.ring, hash: audit.hash },
    {
      iss: vaultID,
      aud: vaultID,
      sub: credential.actor,
      key: credential.keyId,
      iat,
      exp,
      jti: uuid({ random: barrier.entropy.bytes(16) }),
      roles: [...new Set(roles)],
      ...(attributes === undefined ? {} : { ctx: attributes }),
    },
  )
  if (bearer.length > MAX_BEARER_LENGTH)
    throw fault('limit_exceeded')`Roles and context are too long for a bearer. Ask for fewer roles by the scope.`
  return { bearer, expiresAt: exp * 1000 }
}

/** The one error of a credential or an assertion that is not valid. */
function notValid(): Fault {
  return fault('unauthenticated')`The credential is not valid. Check the key and the time.`
}
