/** The route of audit events, of one vault or of several as one page: its query and its response. Source: specification, "Audit", "Audit event". */
import * as z from 'zod'
import { type EventQueryInput, isVaultError, type OperationResult, VaultError } from '../../index.ts'
import { bearerOf } from '../router/enter-vault.ts'
import { longJsonResponse } from '../router/json-response.ts'
import { choice, integer, type QueryTexts, readQuery, text } from '../router/request-shape.ts'
import type { OpenCall, OpenRoute, VaultAccess } from '../router/route.ts'
import { AUDIT_EXAMPLE } from './examples.ts'

const ACTOR_TYPES = ['NONE', 'USER', 'GROUP', 'SERVICE_ACCOUNT', 'SQL_SERVICE_ACCOUNT'] as const
const ACCESS_TYPES = ['ACCESS_NONE', 'API', 'SQL', 'IDP_LOGIN'] as const
const CREDENTIALS = ['IDP_JWT', 'SERVICE_ACCOUNT_JWT', 'PAT_JWT', 'API_KEY', 'STS'] as const
const AUTH_MODES = ['AUTH_NONE', ...CREDENTIALS] as const
const ORDERS = ['NONE', 'ASCENDING', 'DESCENDING'] as const

/** The members of the query. A name with dots is a path in the input of the operation. */
const AUDIT_QUERY = {
  'filterOps.accountID': text('Id of the account: events of all its vaults that the caller can audit.', { isRequired: true }),
  'filterOps.parentAccountID': text('A vault has no parent account, so no event matches one.'),
  'filterOps.workspaceID': text('A vault has no workspace, so no event matches one.'),
  'filterOps.vaultID': text('Events of this vault alone.'),
  'filterOps.resourceIDs': text(
    '`<resourceType>/<resourceID>`, separated by commas. An event matches if it concerns one of them.',
  ),
  'filterOps.context.changeID': text('Id of the event.'),
  'filterOps.context.requestID': text('Id of the request.'),
  'filterOps.context.sessionID': text('Id of the session. Deprecated.'),
  'filterOps.context.actor': text('The email address of a user, or the id of a service account.'),
  'filterOps.context.actorType': choice('Kind of the actor. NONE: any.', ACTOR_TYPES),
  'filterOps.context.accessType': choice('Kind of access. ACCESS_NONE: any.', ACCESS_TYPES),
  'filterOps.context.ipAddress': text('IP address of the client.'),
  'filterOps.context.origin': text('The Origin header.'),
  'filterOps.context.authMode': choice('Kind of the credential. AUTH_NONE: any.', AUTH_MODES),
  'filterOps.context.jwtID': text('The `jti` claim of the token.'),
  'filterOps.context.bearerTokenContextID': text('The user context in the token.'),
  'filterOps.context.clientTraceID': text('The id that the client chose.', { maxLength: 128 }),
  'filterOps.context.purpose': text('The purpose that the caller stated.', { maxLength: 128 }),
  'filterOps.request.clientInfo.userEmail': text('Email address of the end user, from the `ctx.email` claim.'),
  'filterOps.actionType': text(
    'Kind of the operation, such as INSERT; or CREATE, READ, EXECUTE or LOGIN for several. NONE: any.',
  ),
  'filterOps.resourceType': text('Kind of the resource, such as RECORD.'),
  'filterOps.startTime': text('First time, inclusive, as RFC 3339 with an offset, or as 2026-01-31 23:59:59 in UTC.'),
  'filterOps.endTime': text('Last time, exclusive, in the same forms.'),
  'sortOps.sortBy': text('Member to sort by: timestamp, changeID, requestID, actor, actionType or code.'),
  'sortOps.orderBy': choice('Order of the sort.', ORDERS),
  'afterOps.timestamp': text('`nextOps.timestamp` of the previous page. Not with sortOps or offset.'),
  'afterOps.changeID': text('`nextOps.changeID` of the previous page. Not with sortOps or offset.'),
  limit: integer('Events to return at most, 1 to 100.', [1, 100, 25]),
  offset: integer('Events to skip, 0 to 10,000.', [0, 10_000, 0]),
}

const DATA = z
  .object({
    content: z.string().describe('The body of the request, with every value replaced.'),
    identifiedFields: z
      .object({
        counts: z.int().optional().describe('Number of values that were resolved.'),
        fields: z.array(z.string()).optional().describe('Names of their columns.'),
      })
      .optional()
      .describe('Absent: a vault is no forward proxy.'),
  })
  .meta({ title: 'AuditEventData', description: 'What was asked for.' })

const CONTEXT = z
  .object({
    changeID: z.string().describe('Id of the event.'),
    requestID: z.string().describe('Id of the request. Events of one request have the same.'),
    traceID: z.string().describe('Id of the trace that the request belongs to.'),
    sessionID: z.string().optional().meta({ description: 'Id of the session.', deprecated: true }),
    actor: z.string().describe('The email address of a user, or the id of a service account.'),
    actorType: z.enum(['USER', 'SERVICE_ACCOUNT']).describe('Kind of the actor.'),
    accessType: z.enum(['API', 'SQL']).describe('Kind of access.'),
    ipAddress: z.string().describe('IP address of the client.'),
    origin: z.string().optional().describe('The Origin header. Absent for a request that is not from a browser.'),
    authMode: z.enum(CREDENTIALS).describe('Kind of the credential.'),
    jwtID: z.string().describe('The `jti` claim of the token. Blank for a credential without one.'),
    bearerTokenContextID: z.string().optional().describe('The user context in the token.'),
    keyID: z.string().optional().describe('Id of the API key, or of the key of the service account.'),
    subject: z.string().optional().describe('The user for whom the request is made.'),
    clientTraceID: z.string().max(128).optional().describe('The id that the client chose, as it was sent.'),
    purpose: z.string().max(128).optional().describe('Why the data was worked with, as the caller stated it.'),
  })
  .meta({ title: 'AuditEventContext', description: 'Who sent the request, and from where.' })

const REQUEST = z
  .object({
    actionType: z.string().describe('Kind of the operation, such as INSERT.'),
    resourceType: z.string().describe('Kind of the resource, such as RECORD.'),
    vaultID: z.string().describe('Id of the vault.'),
    resources: z.array(z.string()).describe('`<resourceType>/<resourceID>` of what the request concerned.'),
    seenAs: z
      .object({
        roles: z.array(z.string()).describe('Roles; *UNKNOWN* for one that the policy does not have.'),
        context: z.record(z.string(), z.unknown()).describe('Attributes that the policy reads.'),
      })
      .optional()
      .describe('Of a preview: as whom the caller looked.'),
    userEmail: z.string().optional().describe('Email address of the end user.'),
  })
  .meta({ title: 'AuditEventRequest', description: 'What the request was about.' })

const NESTED_RESPONSE = z
  .object({
    code: z.int().describe('Status of the item.'),
    message: z.string().describe('Why the item failed; blank on success.'),
    identifier: z.string().describe('`<resourceType>/<resourceID>`; blank if the item has none.'),
    data: DATA.optional(),
  })
  .meta({ title: 'AuditEventNestedResponse', description: 'The outcome of an item of a batch.' })

const RESPONSE = z
  .object({
    code: z.int().describe('Status of the operation. For a batch, 200 does not mean that every item succeeded.'),
    message: z.string().describe('Why the operation failed; blank on success.'),
    data: DATA.optional(),
    level: z
      .enum(['PLAIN_TEXT', 'MASKED', 'REDACTED'])
      .optional()
      .describe('The highest level at which values of records were shown. Absent if none were.'),
    timestamp: z.string().describe('RFC 3339 with nanoseconds.'),
    nestedResponse: z.array(NESTED_RESPONSE).optional().describe('Outcomes of the items of a batch.'),
  })
  .meta({ title: 'AuditEventResponse', description: 'The outcome.' })

const EVENT = z
  .object({ context: CONTEXT, request: REQUEST, response: RESPONSE })
  .meta({ title: 'AuditEvent', description: 'An audit event.' })

/** The body of the response. */
const AUDIT_RESPONSE = z.object({
  event: z.array(EVENT).describe('The events, by default the newest first.'),
  nextOps: z
    .object({
      timestamp: z.string().describe('For afterOps.timestamp.'),
      changeID: z.string().describe('For afterOps.changeID.'),
    })
    .optional()
    .describe('How to ask for the next page. Absent on the last one.'),
})

type Page = OperationResult<'listEvents'>
type Event = Page['events'][number]

/** The route of audit events. */
export const auditRoute: OpenRoute = {
  access: 'open',
  method: 'GET',
  path: '/v1/audit/events',
  name: 'listAuditEvents',
  example: AUDIT_EXAMPLE,
  group: 'Audit',
  summary: 'Lists audit events of a vault, or of all vaults of an account that the caller can audit.',
  operation: 'listEvents',
  verb: 'List events',
  statuses: [400, 401, 404, 500],
  query: AUDIT_QUERY,
  response: AUDIT_RESPONSE,
  async handle(call) {
    const texts = call.query()
    const entered = await enterAll(call, await vaultsOf(call, texts))
    const query = toEventQuery(texts)
    if (!('accountID' in query.filterOps)) throw new VaultError('invalid_request', 'filterOps.accountID is required.')
    const pages = await listAll(entered, entered.length === 1 ? query : mergePages.toEach(query))
    const [first] = pages
    const { events, nextOps } = pages.length === 1 && first !== undefined ? first : mergePages.merge(query, pages)
    return longJsonResponse(200, { event: events, ...(nextOps === undefined ? {} : { nextOps }) })
  },
}

/** Returns the ids of the vaults that the request is about: the one it names, or those of its account. */
async function vaultsOf({ scope }: OpenCall, texts: QueryTexts): Promise<readonly string[]> {
  const vaultID = texts.get('filterOps.vaultID')?.[0]
  if (vaultID !== undefined && vaultID !== '') return [vaultID]
  const accountID = texts.get('filterOps.accountID')?.[0]
  return scope.vaultsOfAccount(accountID === '' ? undefined : accountID)
}

/** Enters the vaults that the credential is valid for. Throws `unauthenticated` if there are none. */
async function enterAll({ enter, request, scope }: OpenCall, vaultIDs: readonly string[]): Promise<VaultAccess[]> {
  const entered: VaultAccess[] = []
  // Without a credential no vault needs to be opened but one, which records it.
  if (bearerOf(request.header('authorization')) === undefined) return [await enter(vaultIDs[0] ?? '')]
  let refusal: unknown
  for (const vaultID of vaultIDs) {
    try {
      entered.push(await enter(vaultID))
    } catch (error) {
      if (!isVaultError(error, 'unauthenticated')) throw error
      refusal = error
    }
  }
  // No vault has this id, so none checks the credential.
  if (entered.length === 0) throw refusal ?? (await enter('').catch((error: unknown) => error))
  // What fails from here on is recorded where the caller is known, and not in the vault that was tried last.
  const [first] = entered
  if (first !== undefined) scope.named(first.vault, first.caller)
  return entered
}

/** Returns a page of each vault that the caller can audit. Throws `forbidden` if there are none. */
async function listAll(entered: readonly VaultAccess[], query: EventQueryInput): Promise<OperationResult<'listEvents'>[]> {
  const pages = await Promise.allSettled(entered.map(({ session }) => session.perform('listEvents', { query })))
  const refused = pages.filter((page) => page.status === 'rejected').map(({ reason }): unknown => reason)
  const fatal =
    refused.find((reason) => !isVaultError(reason, 'forbidden')) ?? (refused.length === pages.length ? refused[0] : undefined)
  if (fatal !== undefined) throw fatal
  return pages.flatMap((page) => (page.status === 'fulfilled' ? [page.value] : []))
}

/** Returns the input of the operation: members with dots in their names are nested. */
function toEventQuery(texts: QueryTexts): EventQueryInput {
  const query: Record<string, unknown> = { filterOps: {} }
  for (const [path, value] of Object.entries(readQuery(AUDIT_QUERY, texts))) {
    if (value === undefined) continue
    const names = path.split('.')
    let place = query
    for (const name of names.slice(0, -1)) {
      place[name] ??= {}
      // Only this loop makes members.
      place = place[name] as Record<string, unknown>
    }
    place[names.at(-1) ?? ''] = value
  }
  // The vault checks all of it.
  return query as unknown as EventQueryInput
}

const DEFAULT_LIMIT = 25
const MAX_LIMIT = 100

/**
 * Pages of several vaults. Each vault is asked for as many events as the page can have of it, so offset and limit together are at most 100; later
 * pages need `afterOps`. Sorting is by time only, because other members are compared inside one vault.
 */
const mergePages = {
  /** Returns the query for each vault. Throws `invalid_request`, `out_of_range` for one that only a single vault answers. */
  toEach(query: EventQueryInput): EventQueryInput {
    const { limit = DEFAULT_LIMIT, offset = 0, sortOps, ...rest } = query
    if (sortOps?.sortBy !== undefined && sortOps.sortBy !== 'timestamp')
      throw new VaultError(
        'invalid_request',
        'Events of several vaults are sorted by timestamp. Name one by filterOps.vaultID, or leave sortOps.sortBy out.',
      )
    if (offset + limit > MAX_LIMIT)
      throw new VaultError(
        'out_of_range',
        `offset and limit of several vaults are together at most ${MAX_LIMIT}. Use afterOps, or name one by filterOps.vaultID.`,
      )
    return { ...rest, ...(sortOps === undefined ? {} : { sortOps }), limit: Math.min(offset + limit + 1, MAX_LIMIT) }
  },

  /** Returns the page. */
  merge({ limit = DEFAULT_LIMIT, offset = 0, sortOps }: EventQueryInput, pages: readonly Page[]): Page {
    const sign = sortOps?.orderBy === 'ASCENDING' ? -1 : 1
    const all = pages.flatMap(({ events }) => events).sort((left, right) => sign * newestFirst(left, right))
    const events = all.slice(offset, offset + limit)
    const last = events.at(-1)
    const hasMore = all.length > offset + limit || pages.some(({ nextOps }) => nextOps !== undefined)
    if (last === undefined || !hasMore || sortOps !== undefined || offset > 0) return { events }
    return { events, nextOps: { timestamp: last.response.timestamp, changeID: last.context.changeID } }
  },
} as const

function newestFirst(left: Event, right: Event): number {
  return compare(right.response.timestamp, left.response.timestamp) || compare(right.context.changeID, left.context.changeID)
}

function compare(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}
