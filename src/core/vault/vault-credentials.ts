/** What authenticators ask a vault: its stored credentials, what is revoked or has served, and bearers of service accounts. */
import * as z from 'zod'
import { type Barrier, CATALOG_MOVED, OUTDATED, retryingBarrier, UNKNOWN_KEY } from '../barrier/barrier.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import { openBearer } from '../credentials/bearer.ts'
import {
  findCredential,
  findForBearer,
  isRevokedJwt,
  isValidAt,
  MAX_ENTRY_NAME_LENGTH,
  type StoredCredential,
  spendOnce,
} from '../credentials/credential-store.ts'
import { type EntryName, type FindEntries, locateEntries, type OpenLocated } from '../credentials/entry-rows.ts'
import { type Fault, fault, VaultError, words } from '../errors.ts'
import type { SessionContext } from '../execution/context.ts'
import { perform } from '../execution/perform.ts'
import { type IssueBearerInput, type IssuedBearer, issueBearer } from '../operations/issue-bearer.ts'
import { refusedBy } from '../operations/record-scan.ts'
import {
  type Caller,
  type CallerContext,
  parseCaller,
  parseContext,
  type RequestContext,
  UNKNOWN_CALLER,
} from '../policy/caller.ts'
import type { Storage } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { type AsOne, gatherItems } from '../unit-of-work/gather.ts'
import { attempt } from '../util/attempt.ts'
import { readInput, toVaultError } from '../util/boundary.ts'
import { assertMembers, readOptions } from '../util/options.ts'
import { nowMs } from '../util/time.ts'

/** A stored credential as it is now. */
export interface FoundCredential extends StoredCredential {
  /** False if it is revoked or expired, by the clock of the vault. */
  readonly isValid: boolean
}

/** A bearer of a service account that is valid now. */
export interface VerifiedBearer extends Pick<Caller, 'actor' | 'actorType' | 'roles' | 'context'> {
  readonly keyId: string
  /** Id of the bearer itself. */
  readonly jwtID: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** A request to issue a bearer, and its origin for the event. */
export interface BearerRequest extends IssueBearerInput {
  readonly request?: RequestContext
}

/**
 * The credentials of a vault, for authenticators. Each read asks storage, once, so a revocation is in effect at once in every process.
 * These methods check no policy. Errors are `VaultError`s that quote nothing of a credential.
 */
export interface VaultCredentials {
  /** Returns a credential, also a revoked or expired one; undefined if it does not exist, after the same work. Records no event. */
  find(keyId: string): Promise<FoundCredential | undefined>
  /** Returns whether `session.revokeCredential` revoked the JWT with this `jti`. Throws `invalid_request` for text of over 8,192 characters. */
  isRevoked(jti: string): Promise<boolean>
  /** Returns true the first time that any process passes this text, and false from then on, until it expires, in milliseconds since 1970. */
  spendOnce(text: string, expiresAt: number): Promise<boolean>
  /**
   * Exchanges the assertion of a service account, which the caller has verified, for a bearer of at most 60 minutes. With `assertion` it serves once.
   * Records one event. Throws `unauthenticated`, `forbidden` for roles that are not those of the service account or leave out one with a DENY,
   * `limit_exceeded`.
   */
  issueBearer(request: BearerRequest): Promise<IssuedBearer>
  /** Returns who a bearer is; undefined if it is not one of this vault, is expired or revoked, or its service account is. One read. */
  verifyBearer(text: string): Promise<VerifiedBearer | undefined>
}

/** A request that was refused before it had a session. */
export interface Refusal {
  /** Default: an unknown one. */
  readonly caller?: Caller
  /** Origin of the request. Default: that of the caller. */
  readonly request?: RequestContext
  /** Its code and its message are recorded, so the message must quote nothing of the request. */
  readonly error: VaultError
  /** The HTTP status of the response. Default: that of the error. */
  readonly httpStatus?: number
}

/** The dependencies of a vault's credentials. */
interface CredentialPorts {
  readonly clock: Clock
  readonly storage: Storage
  readonly barrier: Barrier
  readonly catalog: CatalogFence
  readonly scheduler: Scheduler
  /** True if no call of the vault is in progress besides the one that asks. */
  isAlone(): boolean
  contextOf(caller: Caller): SessionContext
  /** Runs a call outside of every transaction, while the vault is open. */
  outside<T>(failed: string, work: () => Promise<T>): Promise<T>
}

const FAILED = 'Authentication failed.'

const text = z.string().min(1).max(MAX_ENTRY_NAME_LENGTH)
const instant = z.int()
const bearerShape = z.object({
  keyId: text,
  assertion: z.object({ text, expiresAt: instant }).optional(),
  roles: z.array(z.string().max(128)).min(1).max(100).optional(),
  context: z.record(z.string(), z.unknown()).optional(),
  request: z.unknown().optional(),
})

/** Returns the credentials of a vault. */
export function createVaultCredentials(ports: CredentialPorts): VaultCredentials {
  const readEntries = gatherEntries(ports)
  const find = (keyId: unknown) =>
    reading(ports, async (barrier) => {
      const name = text.safeParse(keyId)
      const found = name.success ? await findCredential(readEntries(barrier), name.data) : undefined
      return found && { ...found.credential, isValid: isValidAt(found.credential, nowMs(ports)) }
    })
  return {
    find,
    isRevoked: (jti) => reading(ports, (barrier) => isRevokedJwt(readEntries(barrier), parsed('jti', text, jti))),
    // What it stores is compared with the catalog by itself.
    spendOnce: (given, until) =>
      ports.outside(FAILED, async () => {
        const nonce = { text: parsed('text', text, given), expiresAt: parsed('expiresAt', instant, until) }
        return spendOnce(ports, retryingBarrier(ports.barrier), nonce)
      }),
    async issueBearer(given) {
      readInput(() => {
        assertMembers(given, Object.keys(bearerShape.shape), { of: 'issueBearer' })
        assertMembers(given?.assertion, ['text', 'expiresAt'], { of: 'issueBearer', member: 'assertion' })
      })
      const { request, keyId, assertion, roles, context } = parsed('request', bearerShape, given)
      const found = await find(keyId)
      const caller = found === undefined ? UNKNOWN_CALLER : callerOf(found)
      const input = {
        keyId,
        ...(assertion && { assertion }),
        ...(roles && { roles }),
        ...(context && { context: contextOf(context) }),
      }
      return perform(ports.contextOf(withRequest(caller, request)), issueBearer, input)
    },
    verifyBearer: (given) => reading(ports, (barrier) => verify(ports, { barrier, find: readEntries(barrier) }, given)),
  }
}

/** Records a refused request. Resolves when its event is stored, and throws what `perform` throws if it is not. */
export async function recordRefusal({ contextOf }: Pick<CredentialPorts, 'contextOf'>, given: Refusal): Promise<void> {
  const {
    caller = UNKNOWN_CALLER,
    request,
    error,
    httpStatus,
  } = readOptions(given, ['caller', 'request', 'error', 'httpStatus'], {
    of: 'recordRefusal',
  })
  const { code, message, httpStatus: own } = toVaultError(error, 'Request failed.')
  const refusal = new VaultError(code, message, [], { httpStatus: httpStatus ?? own })
  const session = contextOf(withRequest(parseCaller(caller), request))
  try {
    await perform(session, refusedBy(refusal), {})
  } catch (thrown) {
    if (thrown !== refusal) throw thrown
  }
}

/** Maximum number of names that one read looks up. */
const MAX_NAMES_TOGETHER = 256

/**
 * Returns what finds entries outside of every transaction: names that are asked for in one turn of the event loop are one read, which begins after the
 * last of them was asked for. Nothing of it is kept, so a revocation is in effect for what begins after it.
 */
function gatherEntries({ storage, barrier, scheduler, isAlone }: CredentialPorts): (own: Barrier) => FindEntries {
  const locate = (names: readonly EntryName[]) => locateEntries(storage, barrier, { names })
  const asOne: AsOne<readonly EntryName[], OpenLocated> = {
    async run(lists) {
      const value = await locate(lists.flat())
      return lists.map(() => ({ value }))
    },
  }
  const gathered = gatherItems(asOne, locate, {
    scheduler,
    isAlone,
    maxWeight: MAX_NAMES_TOGETHER,
    weightOf: (names) => names.length,
  })
  // A row that does not open is an error of those alone who ask for it, so each opens what they asked for.
  return (own) => async (names) => {
    const open = await gathered(names)
    return names.map((name) => open(own, name))
  }
}

async function verify(
  ports: CredentialPorts,
  { barrier, find }: { readonly barrier: Barrier; readonly find: FindEntries },
  given: unknown,
): Promise<VerifiedBearer | undefined> {
  const { audit } = ports.contextOf(UNKNOWN_CALLER)
  const now = nowMs(ports)
  const claims = typeof given === 'string' ? openBearer({ ring: barrier.ring, hash: audit.hash }, given) : undefined
  if (claims === undefined || claims.aud !== audit.vaultID || now >= claims.exp * 1000) return undefined
  const { credential, isRevoked } = await findForBearer(find, { keyId: claims.key, jti: claims.jti })
  if (credential?.kind !== 'SERVICE_ACCOUNT' || isRevoked || !isValidAt(credential, now)) return undefined
  const { actor, actorType, keyId } = credential
  const context = { ...claims.ctx, ...credential.context }
  return {
    actor,
    actorType,
    keyId,
    jwtID: claims.jti,
    expiresAt: claims.exp * 1000,
    roles: claims.roles.filter((role) => credential.roles.includes(role)),
    ...(Object.keys(context).length === 0 ? {} : { context }),
  }
}

/** Runs work that stores nothing with the keys of the vault, and again with newly read ones if another process changed them. */
function reading<T>({ barrier, storage, catalog, outside }: CredentialPorts, work: (barrier: Barrier) => Promise<T>): Promise<T> {
  return outside(FAILED, () =>
    attempt([OUTDATED], async ({ last }) => {
      if (last !== undefined) await catalog.reload(storage)
      const { generation } = catalog.keys
      const result = await work(last === UNKNOWN_KEY ? barrier : retryingBarrier(barrier))
      if (catalog.isCertain(generation) || (await catalog.isCurrent(storage, generation))) return result
      throw CATALOG_MOVED
    }),
  )
}

function callerOf({ actor, actorType, roles, context, keyId }: StoredCredential): Caller {
  const request = { authMode: 'SERVICE_ACCOUNT_JWT', keyID: keyId } as const
  return { actor, actorType, roles, request, ...(context && { context }) }
}

/** Returns a caller with the origin of a request, in addition to its own. Throws `invalid_request`. */
function withRequest(caller: Caller, request: unknown): Caller {
  if (request === undefined) return caller
  if (typeof request !== 'object' || request === null) throw fault('invalid_request')`request must be an object.`
  return parseCaller({ ...caller, request: { ...caller.request, ...request } })
}

/** Returns the checked context of a bearer, as that of a caller. */
function contextOf(given: Readonly<Record<string, unknown>>): CallerContext {
  return parseContext(given, () => invalid('context'))
}

/** Returns checked input. Throws `invalid_request` that names it. */
function parsed<T>(name: string, shape: z.ZodType<T>, given: unknown): T {
  const result = readInput(() => shape.safeParse(given))
  if (result.success) return result.data
  throw invalid(name)
}

function invalid(name: string): Fault {
  return fault('invalid_request')`${words(FAILED)} ${words(name)} is missing or invalid.`
}
