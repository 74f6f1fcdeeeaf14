/** Who asks: the caller an application vouches for, and the request he asks in, checked before he may do anything. */
import { z } from 'zod'
import { printableName, VaultError } from '../errors.ts'
import { LONGEST_CLIENT_TRACE } from '../limits.ts'

/** A caller as the application describes it. It is the application's word: the vault authenticates nobody in process. */
export interface Caller {
  /** User's email address or service account's id; recorded with everything he does. */
  readonly actor: string
  readonly actorType: 'USER' | 'SERVICE_ACCOUNT'
  /** What he may do: roles of the vault's policy, or VAULT_OWNER, VAULT_EDITOR, VAULT_VIEWER. A role nobody defined grants nothing. */
  readonly roles: readonly string[]
  /** Facts about him that a policy may use as `ctx.name`. */
  readonly context?: Readonly<Record<string, string | number | boolean>>
  /** Where he asks from and by which credential, as the audit trail records it. */
  readonly request?: RequestContext
}

/** The request a caller asks in. Source: specification, "Audit event"; what is absent is recorded as empty, or made up where it must be unique. */
export interface RequestContext {
  /** Names the request; one is made up for every operation unless given. */
  readonly requestID?: string
  /** 32 hex digits; or give `traceparent`. Where neither is given and tracing is off, one is made up for every operation. */
  readonly traceID?: string
  /** W3C Trace Context header, version 00; its trace id is recorded. */
  readonly traceparent?: string
  readonly sessionID?: string
  /** Recorded as sent, never interpreted; at most 128 characters. */
  readonly clientTraceID?: string
  readonly ipAddress?: string
  readonly origin?: string
  /** How he proved who he is. STS, the application's own word, unless said. */
  readonly authMode?: 'IDP_JWT' | 'SERVICE_ACCOUNT_JWT' | 'PAT_JWT' | 'API_KEY' | 'STS'
  readonly jwtID?: string
  readonly keyID?: string
  readonly bearerTokenContextID?: string
  /** User on whose behalf the request is made. */
  readonly subject?: string
  /** API unless said. */
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
  clientTraceID: z.string().max(LONGEST_CLIENT_TRACE).optional(),
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
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  request: requestShape.optional(),
})

/** Checks and copies a caller. Throws `invalid_request` naming the member at fault. */
export function parseCaller(caller: unknown): Caller {
  const parsed = shape.safeParse(caller)
  if (parsed.success) return withoutAbsent(parsed.data)
  throw new VaultError(
    'invalid_request',
    `Invalid caller: ${printableMember(parsed.error.issues[0]?.path ?? [])} is missing or invalid. Required: actor, actorType, roles. Optional: context, request.`,
  )
}

/** A member in quotes, as `roles[0]`. The keys of `context` are the caller's own: one that is not shaped like a name is only described. */
function printableMember(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'a member'
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${printableName(part)}`)).join('')
  return `"${text.slice(1)}"`
}

function withoutAbsent({ context, request, ...rest }: z.infer<typeof shape>): Caller {
  return {
    ...rest,
    ...(context === undefined ? {} : { context }),
    ...(request === undefined ? {} : { request: presentOnly(request) }),
  }
}

/** The same members, those that are there and undefined left out. */
function presentOnly(request: z.infer<typeof requestShape>): RequestContext {
  // Each member keeps its own type: only undefined ones go.
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)) as RequestContext
}
