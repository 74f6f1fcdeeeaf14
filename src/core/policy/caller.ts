/** The caller that an application authenticates, its context and request, all checked before any operation; and the callers that none authenticates. */
import * as z from 'zod'
import { printableName, VaultError } from '../errors.ts'
import { MAX_CLIENT_TRACE_LENGTH, MAX_CONTEXT_BYTES, MAX_CONTEXT_DEPTH, MAX_CONTEXT_NODES } from '../limits.ts'
import { readInput } from '../util/boundary.ts'
import { ByteWriter } from '../util/bytes.ts'
import { isPurpose } from '../util/purpose.ts'
import { type JsonValue, ValueError } from '../values/column-type.ts'
import { parseBoundedJson, parseJson } from '../values/json-types.ts'
import type { BuiltInRole } from './statement.ts'

/** A caller as the application describes it. The vault trusts the application and authenticates nothing in process. */
export interface Caller<Role extends string = string> {
  /** The user's email address or the service account's id. Recorded in every event. */
  readonly actor: string
  readonly actorType: 'USER' | 'SERVICE_ACCOUNT'
  /** Roles of the vault's policy, or VAULT_OWNER, VAULT_EDITOR, VAULT_VIEWER. An unknown role grants nothing. */
  readonly roles: readonly Role[]
  /**
   * Attributes, such as a claim of a credential. A policy can use text, numbers and booleans as `ctx.name`. A null counts as absent. Lists
   * and objects are kept, and are unknown to conditions. At most 16 KiB of JSON, 1,000 values and 8 levels.
   */
  readonly context?: CallerContext
  /**
   * Why the caller works with the data, such as the number of a ticket: 1 to 128 characters, not all white space, without control characters.
   * Policies read it as `ctx.purpose`, columns can require it, and every event records it as it is, so it must name no person. A `purpose` of
   * the context is it too.
   */
  readonly purpose?: string
  /** Origin and credential of the request, as the audit trail records them. */
  readonly request?: RequestContext
}

/**
 * A caller of a vault whose policy has these roles. Names in the source text are checked, and text that is known only at run time, such as
 * a claim of a credential, is accepted: it has the type `string`.
 */
export type CallerIn<Role extends string, Named extends string> = Caller<string extends Named ? Named : Role | BuiltInRole>

/**
 * The request of a caller. An absent member is recorded as empty, or generated if it must be unique. Source: specification, "Audit event".
 */
export interface RequestContext {
  /** Id of the request. Default: generated for every operation. */
  readonly requestID?: string
  /** 32 hex digits. Default: the trace id of `traceparent`, then of the tracing span, then a generated one. */
  readonly traceID?: string
  /** W3C Trace Context header, version 00. Its trace id is recorded. */
  readonly traceparent?: string
  readonly sessionID?: string
  /** Recorded as sent, never interpreted. At most 128 characters. */
  readonly clientTraceID?: string
  readonly ipAddress?: string
  readonly origin?: string
  /** Authentication mode of the caller. Default `STS`: authenticated by the embedding application. */
  readonly authMode?: 'IDP_JWT' | 'SERVICE_ACCOUNT_JWT' | 'PAT_JWT' | 'API_KEY' | 'STS'
  readonly jwtID?: string
  readonly keyID?: string
  readonly bearerTokenContextID?: string
  /** User on whose behalf the request is made. */
  readonly subject?: string
  /** Default `API`. */
  readonly accessType?: 'API' | 'SQL'
}

const name = z.string().min(1).max(320)
const text = z.string().max(1000)

const requestShape = z.strictObject({
  requestID: z.string().min(1).max(128).optional(),
  traceID: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  traceparent: text.optional(),
  sessionID: text.optional(),
  clientTraceID: z.string().max(MAX_CLIENT_TRACE_LENGTH).optional(),
  ipAddress: z.string().max(64).optional(),
  origin: text.optional(),
  authMode: z.enum(['IDP_JWT', 'SERVICE_ACCOUNT_JWT', 'PAT_JWT', 'API_KEY', 'STS']).optional(),
  jwtID: text.optional(),
  keyID: text.optional(),
  bearerTokenContextID: text.optional(),
  subject: text.optional(),
  accessType: z.enum(['API', 'SQL']).optional(),
})

const shape = z.strictObject({
  actor: name,
  actorType: z.enum(['USER', 'SERVICE_ACCOUNT']),
  roles: z.array(z.string().min(1).max(128)).max(100),
  context: z.record(z.string(), z.unknown()).optional(),
  purpose: z.string().refine(isPurpose).optional(),
  request: requestShape.optional(),
})

/** Checks and copies a caller. Throws `invalid_request` and names the invalid member. */
export function parseCaller(caller: unknown): Caller {
  const parsed = readInput(() => shape.safeParse(caller))
  if (parsed.success) return readInput(() => withoutAbsent(parsed.data), VaultError.isGenuine)
  // Zod makes its issues when they are asked for, and reads the caller again.
  const [issue] = readInput(() => parsed.error.issues)
  const path = issue?.path ?? []
  if (issue?.code === 'unrecognized_keys') throw invalidCaller(`${printableMember([...path, issue.keys[0] ?? ''])} is unknown`)
  throw path.length === 0 ? invalidCaller('it must be an object') : invalidMember(path)
}

function invalidMember(path: readonly PropertyKey[]): VaultError {
  return invalidCaller(`${printableMember(path)} is missing or invalid`)
}

function invalidCaller(problem: string): VaultError {
  return new VaultError(
    'invalid_request',
    `Invalid caller: ${problem}. Required: actor, actorType, roles. Optional: context, purpose, request.`,
  )
}

/** A member in quotes, as `roles[0]`. Keys of `context` come from the caller, so one that is not shaped like a name is not repeated. */
function printableMember(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${printableName(part)}`)).join('')
  return `"${text.slice(1)}"`
}

function withoutAbsent({ actor, actorType, roles, context, purpose, request }: z.infer<typeof shape>): Caller {
  const attributes = context === undefined ? undefined : parseContext(context, (name) => invalidMember(['context', name]))
  assertPurpose(attributes?.purpose, purpose)
  // Whatever carries the context of a caller, as a ticket does, carries the purpose.
  const all = purpose === undefined ? attributes : { ...attributes, purpose }
  return {
    actor,
    actorType,
    roles,
    ...(all === undefined ? {} : { context: all }),
    ...(request === undefined ? {} : { request: presentOnly(request) }),
  }
}

/** Throws `invalid_request` for an invalid purpose of the context, or another one than that of the caller: a credential can be bound to one. */
function assertPurpose(bound: JsonValue | undefined, stated: string | undefined): void {
  if (bound === undefined) return
  if (!isPurpose(bound)) throw invalidMember(['context', 'purpose'])
  if (stated !== undefined && stated !== bound) throw invalidCaller('"purpose" is not the one of its context')
}

/** Returns the purpose of a caller that was checked. */
export function purposeOf({ context }: Pick<Caller, 'context'>): string | undefined {
  const purpose = context?.purpose
  return typeof purpose === 'string' ? purpose : undefined
}

/** The same members without those that are undefined. */
function presentOnly(request: z.infer<typeof requestShape>): RequestContext {
  // Each member keeps its type; only undefined ones are removed, which are rare.
  if (!Object.values(request).includes(undefined)) return request as RequestContext
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)) as RequestContext
}

/** The attributes of a caller, by name. */
export type CallerContext = Readonly<Record<string, JsonValue>>

/**
 * Returns a copy without members that are null, which count as absent. Throws `invalid_request` for a context above a limit. `refuse`
 * returns the error for a member that is no JSON value.
 */
export function parseContext(given: Readonly<Record<string, unknown>>, refuse: (name: string) => VaultError): CallerContext {
  const members = Object.entries(given).map(([name, member]) => [name, jsonOf(member, () => refuse(name))] as const)
  // `fromEntries` makes own members, also for a name such as __proto__.
  const context = Object.fromEntries(members.filter(([, value]) => value !== null))
  assertWithinLimits(context)
  return context
}

function jsonOf(member: unknown, refuse: () => VaultError): JsonValue {
  try {
    return parseJson(member)
  } catch (error) {
    throw error instanceof ValueError ? refuse() : error
  }
}

/** Every session and every ticket holds the context, so it is bounded. */
function assertWithinLimits(context: CallerContext): void {
  const out = new ByteWriter(512)
  try {
    parseBoundedJson(context, { maxDepth: MAX_CONTEXT_DEPTH, maxNodes: MAX_CONTEXT_NODES })
    out.utf8(JSON.stringify(context))
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw tooLarge()
  }
  if (out.written().length > MAX_CONTEXT_BYTES) throw tooLarge()
}

function tooLarge(): VaultError {
  const bounds = `${MAX_CONTEXT_BYTES} bytes of JSON, ${MAX_CONTEXT_NODES} values and ${MAX_CONTEXT_DEPTH} levels`
  return new VaultError('invalid_request', `Invalid caller: "context" can have at most ${bounds}. Shorten it.`)
}

/** The vault itself, as its own caller: in events of scans. */
export const VAULT_CALLER = parseCaller({ actor: 'strongroom', actorType: 'SERVICE_ACCOUNT', roles: [] })
/** Who presents a text that is not a ticket or a credential of this vault. */
export const UNKNOWN_CALLER = parseCaller({ actor: 'unknown', actorType: 'SERVICE_ACCOUNT', roles: [] })
