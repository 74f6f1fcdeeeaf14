/** Credentials: creates, lists and revokes what callers show. Each needs ALL ON * in plain text. */

import { v4 as uuid } from 'uuid'
import * as z from 'zod'
import { decodeEvent } from '../audit/read-event.ts'
import { eachNewest } from '../audit-log/newest-events.ts'
import type { Barrier } from '../barrier/barrier.ts'
import {
  CREDENTIAL_KINDS,
  type CredentialKind,
  findCredential,
  type ListedCredential,
  listCredentialRows,
  MAX_ENTRY_NAME_LENGTH,
  newCredentialRow,
  type StoredCredential,
  storeRevoked,
  storeRevokedJwt,
  withoutVerifier,
} from '../credentials/credential-store.ts'
import { entriesIn } from '../credentials/entry-rows.ts'
import { type Fault, fault, isVaultError, words } from '../errors.ts'
import { parseFlag, parseInteger, UUID } from '../execution/check-input.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import { assertOwner } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { readableEvents } from '../execution/read-events.ts'
import { DEFAULT_PAGE_SIZE } from '../limits.ts'
import { type CallerContext, parseContext } from '../policy/caller.ts'
import { CREDENTIALS } from '../schema/system-tables.ts'
import { isIdConflict } from '../unit-of-work/gather.ts'
import { toUtf8 } from '../util/bytes.ts'
import { assertOptions } from '../util/options.ts'
import { toBase64Url } from '../util/text.ts'
import { nowMs } from '../util/time.ts'

/** Input of creating a credential. */
export interface CreateCredentialInput {
  readonly kind: CredentialKind
  /** 1 to 320 characters, for people. */
  readonly name: string
  /** Roles of the vault's policy or built-in ones, 1 to 100. An unknown role grants nothing. */
  readonly roles: readonly string[]
  /** Attributes that a policy can use as `ctx.name`: 4,096 characters as JSON at most. */
  readonly context?: CallerContext
  /** Milliseconds since 1970, in the future. Absent: it does not expire. */
  readonly expiresAt?: number
  /**
   * What verifies it: of an API key, the SHA-256 of its secret in 64 hex digits; of a service account, its public RSA key as the JSON text
   * of a JWK.
   */
  readonly verifier: string
  /** Key id of an API key, for texts that have no room for one: a UUID in lower case that no credential has. Default: a random one. */
  readonly keyId?: string
}

/** A created credential. */
export interface CreatedCredential {
  readonly keyId: string
  /** The actor in events of its requests: the client id of a service account, the key id of an API key. */
  readonly actor: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** Maximum length of the context as JSON, in UTF-16 units. */
const MAX_CONTEXT_LENGTH = 4096
/** Maximum length of a public key as JSON, in UTF-16 units. */
const MAX_PUBLIC_KEY_LENGTH = 8192

const shape = z.object({
  kind: z.enum(CREDENTIAL_KINDS),
  name: z.string().min(1).max(320),
  roles: z.array(z.string().min(1).max(128)).min(1).max(100),
  context: z.record(z.string(), z.unknown()).optional(),
  expiresAt: z.int().min(1).optional(),
  verifier: z.string().max(MAX_PUBLIC_KEY_LENGTH),
  keyId: z.string().regex(UUID).optional(),
})

/** The shape of a public RSA key. Another member may be a part of the private key. */
const publicKeyShape = z.strictObject({
  kty: z.literal('RSA'),
  n: z.string().min(1),
  e: z.string().min(1),
})

/** Stores a credential. Needs ALL ON * in plain text. Throws `invalid_request`, `out_of_range` for an expiry that is not in the future, and `conflict` for a key id that exists. */
export const createCredential: Operation<CreateCredentialInput, CreateCredentialInput, CreatedCredential> = {
  action: 'CREATE_CREDENTIAL',
  resourceType: 'CREDENTIAL',
  verb: 'Create credential',
  members: ['kind', 'name', 'roles', 'context', 'expiresAt', 'verifier', 'keyId'],
  recorded: {
    kind: CREDENTIAL_KINDS,
    name: 'value',
    roles: 'value',
    context: 'value',
    expiresAt: 'number',
    verifier: 'omitted',
    keyId: 'value',
  },
  parse(given) {
    const parsed = shape.safeParse(given)
    if (!parsed.success) throw invalid(parsed.error.issues[0])
    const { context, expiresAt, keyId, ...required } = parsed.data
    if (keyId !== undefined && required.kind !== 'API_KEY') throw invalid({ path: ['keyId'] })
    assertVerifier(required)
    return {
      ...required,
      ...(context === undefined ? {} : { context: contextOf(context) }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(keyId === undefined ? {} : { keyId }),
    }
  },
  async execute(context, request) {
    assertOwner(context)
    const createdAt = nowMs(context)
    if (request.expiresAt !== undefined && request.expiresAt <= createdAt)
      throw fault('out_of_range')`expiresAt must be in the future, in milliseconds since 1970.`
    const credential = newCredential(context, request, createdAt)
    const row = await newCredentialRow(context.unit.storage, context.barrier, credential)
    context.event.setCredential(credential.keyId)
    await context.unit.insert([{ table: CREDENTIALS.name, rows: [row] }]).catch((error: unknown) => {
      throw isVaultError(error, 'conflict') && !isIdConflict(error) ? keyExists() : error
    })
    return { keyId: credential.keyId, actor: credential.actor, createdAt }
  },
  once: {},
}

function keyExists(): Fault {
  return fault('conflict')`A credential has this keyId. Choose another one.`
}

/** Returns the checked context of a credential, as that of a caller. */
function contextOf(given: Readonly<Record<string, unknown>>): CallerContext {
  const context = parseContext(given, () => invalid({ path: ['context'] }))
  if (JSON.stringify(context).length > MAX_CONTEXT_LENGTH) throw invalid({ path: ['context'] })
  return context
}

function newCredential(
  { barrier, audit }: OperationContext,
  request: CreateCredentialInput,
  createdAt: number,
): StoredCredential {
  const isApiKey = request.kind === 'API_KEY'
  const keyId = isApiKey ? (request.keyId ?? newId(barrier)) : `${newId(barrier)}.${toBase64Url(toUtf8(audit.vaultID))}`
  const actor = isApiKey ? keyId : newId(barrier)
  return { ...request, keyId, actor, actorType: 'SERVICE_ACCOUNT', createdAt }
}

function newId({ entropy }: Barrier): string {
  return uuid({ random: entropy.bytes(16) })
}

/** Throws `invalid_request` for anything but a digest of a secret or a public key, so that a secret is never stored by mistake. */
function assertVerifier({ kind, verifier }: Pick<CreateCredentialInput, 'kind' | 'verifier'>): void {
  if (kind === 'API_KEY') {
    if (!/^[0-9a-f]{64}$/.test(verifier))
      throw fault('invalid_request')`verifier must be the SHA-256 of the secret, in 64 lower-case hex digits.`
    return
  }
  if (!publicKeyShape.safeParse(parsedJson(verifier)).success)
    throw fault(
      'invalid_request',
    )`verifier must be the JSON text of a public RSA key as a JWK, with only the members kty, n and e.`
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The fault of an invalid member. It names members of the shape only. */
function invalid(issue: Pick<z.core.$ZodIssue, 'path'> | undefined): Fault {
  const member = issue?.path[0]
  if (typeof member !== 'string')
    return fault(
      'invalid_request',
    )`A credential has the members kind, name, roles, verifier, and optionally context, expiresAt and keyId, and no others.`
  return fault('invalid_request')`The member ${words(member)} of the credential is missing or invalid.`
}

/** The page to list. */
export interface ListCredentialsOptions {
  /** Number of credentials to skip. Default 0. */
  readonly offset?: number
  /** Maximum number of credentials: 1 to `limits.maxPageSize`. Default 25. */
  readonly limit?: number
  /** Return when each was last used, as the newest 10,000 events say. Default false. */
  readonly lastUse?: boolean
}

/** Input of listing. */
export interface ListCredentialsInput {
  readonly options?: ListCredentialsOptions
}

/** A page of credentials, in the order they were created. */
export interface CredentialList {
  /** `lastUsedAt` is the time of the newest event, in milliseconds since 1970. Absent unless it was asked for and found. */
  readonly credentials: readonly (ListedCredential & { readonly lastUsedAt?: number })[]
  /** The time from which events were searched, in milliseconds since 1970: one without `lastUsedAt` was not used since. Absent if all events were. */
  readonly usesSince?: number
}

/** Lists credentials, also revoked ones, and expired ones until they are purged. Needs ALL ON * in plain text. Throws `out_of_range`. */
export const listCredentials: Operation<ListCredentialsInput, Required<ListCredentialsOptions>, CredentialList> = {
  action: 'LIST_CREDENTIALS',
  resourceType: 'CREDENTIAL',
  verb: 'List credentials',
  members: ['options'],
  recorded: { offset: 'number', limit: 'number', lastUse: 'flag' },
  parse({ options = {} }, { limits }: ParsingContext) {
    assertOptions<ListCredentialsOptions>(options, ['offset', 'limit', 'lastUse'])
    const { offset = 0, limit = Math.min(DEFAULT_PAGE_SIZE, limits.maxPageSize) } = options
    if (!Number.isSafeInteger(offset) || offset < 0) throw fault('out_of_range')`offset must be an integer of at least 0.`
    return {
      offset,
      limit: parseInteger(limit, 'limit', [1, limits.maxPageSize]),
      lastUse: parseFlag(options.lastUse, 'lastUse'),
    }
  },
  async execute(context, page) {
    assertOwner(context)
    const stored = await listCredentialRows(context.unit.storage, context.barrier, page)
    const credentials = stored.map(withoutVerifier)
    if (!page.lastUse) return { credentials }
    const { uses, since } = await findLastUses(context, credentials)
    return {
      credentials: credentials.map((one) => {
        const lastUsedAt = uses.get(one.keyId)
        return lastUsedAt === undefined ? one : { ...one, lastUsedAt }
      }),
      ...(since === undefined ? {} : { usesSince: since }),
    }
  },
}

/** Events that are searched for uses, at most. A use is stored nowhere else, so that a request writes no more than its event. */
const MAX_SEARCHED = 10_000

/** Returns the time of the newest event with each credential, by key id, and that of the oldest event that was searched; undefined if there is no older one. */
async function findLastUses(
  context: OperationContext,
  credentials: readonly ListedCredential[],
): Promise<{ readonly uses: ReadonlyMap<string, number>; readonly since: number | undefined }> {
  const uses = new Map<string, number>()
  const wanted = new Set(credentials.map(({ keyId }) => keyId))
  let searched = 0
  let oldest = 0
  for await (const found of eachNewest(context.audit, ALL_TIME, decodeEvent)) {
    for (const { at: time, event } of readableEvents(context, found)) {
      oldest = Number(time / NS_PER_MS)
      const { keyID } = event.context
      if (keyID !== undefined && wanted.delete(keyID)) uses.set(keyID, oldest)
    }
    searched += found.length
    if (wanted.size === 0 || searched >= MAX_SEARCHED) return { uses, since: wanted.size === 0 ? undefined : oldest }
  }
  return { uses, since: undefined }
}

const ALL_TIME = { since: undefined, until: undefined }
const NS_PER_MS = 1_000_000n

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
    if (isName(keyId) && jti === undefined && expiresAt === undefined) {
      // The key id of an API key can be given in capitals. That of a service account also names the vault, letter for letter.
      const lower = keyId.toLowerCase()
      return { keyId: UUID.test(lower) ? lower : keyId }
    }
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
  once: {},
}

function isName(given: unknown): given is string {
  return typeof given === 'string' && given !== '' && given.length <= MAX_ENTRY_NAME_LENGTH
}

async function revokeKey({ unit, barrier, clock, event }: OperationContext, keyId: string): Promise<void> {
  await unit.change(async ({ storage }) => {
    const found = await findCredential(entriesIn(storage, barrier, true), keyId)
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
