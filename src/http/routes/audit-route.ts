/** The route of audit events, of one vault or of an account. Source: specification, "Audit". */
import { z } from 'zod'
import { type EventQueryInput, isVaultError, type OperationResult, VaultError } from '../../index.ts'
import { jsonResponse } from '../router/json-response.ts'
import { choice, integer, type QueryTexts, readQuery, text } from '../router/query-members.ts'
import type { OpenCall, OpenRoute, VaultAccess } from '../router/route.ts'
import { mergePages } from './merge-event-pages.ts'

const ACTOR_TYPES = ['NONE', 'USER', 'GROUP', 'SERVICE_ACCOUNT', 'SQL_SERVICE_ACCOUNT'] as const
const ACCESS_TYPES = ['ACCESS_NONE', 'API', 'SQL', 'IDP_LOGIN'] as const
const AUTH_MODES = ['AUTH_NONE', 'IDP_JWT', 'SERVICE_ACCOUNT_JWT', 'PAT_JWT', 'API_KEY', 'STS'] as const
const ORDERS = ['NONE', 'ASCENDING', 'DESCENDING'] as const

/** The members of the query. A name with dots is a path in the input of the operation. */
const QUERY = {
  'filterOps.accountID': text('Required. Id of the account: events of all its vaults that the caller can audit.'),
  'filterOps.parentAccountID': text('A vault has no parent account, so no event matches one.'),
  'filterOps.workspaceID': text('A vault has no workspace, so no event matches one.'),
  'filterOps.vaultID': text('Events of this vault alone.'),
  'filterOps.resourceIDs': text(
    '`<resourceType>/<resourceID>`, separated by commas. An event matches if it concerns one of them.',
  ),
  'filterOps.context.changeID': text('Id of the event.'),
  'filterOps.context.requestID': text('Id of the request.'),
  'filterOps.context.sessionID': text('Deprecated.'),
  'filterOps.context.actor': text('The email address of a user, or the id of a service account.'),
  'filterOps.context.actorType': choice('Kind of the actor.', ACTOR_TYPES),
  'filterOps.context.accessType': choice('Kind of access.', ACCESS_TYPES),
  'filterOps.context.ipAddress': text('IP address of the client.'),
  'filterOps.context.origin': text('The Origin header.'),
  'filterOps.context.authMode': choice('Kind of the credential.', AUTH_MODES),
  'filterOps.context.jwtID': text('The `jti` claim of the token.'),
  'filterOps.context.bearerTokenContextID': text('The user context in the token.'),
  'filterOps.context.clientTraceID': text('At most 128 characters.'),
  'filterOps.request.clientInfo.userEmail': text('Email address of the end user, from the `ctx.email` claim.'),
  'filterOps.actionType': text('Kind of the operation, such as INSERT.'),
  'filterOps.resourceType': text('Kind of the resource, such as RECORD.'),
  'filterOps.startTime': text('First time, inclusive, as RFC 3339 with an offset.'),
  'filterOps.endTime': text('Last time, inclusive, as RFC 3339 with an offset.'),
  'sortOps.sortBy': text('Member to sort by: timestamp, changeID, requestID, actor, actionType or code.'),
  'sortOps.orderBy': choice('Order of the sort.', ORDERS),
  'afterOps.timestamp': text('`nextOps.timestamp` of the previous page.'),
  'afterOps.changeID': text('`nextOps.changeID` of the previous page.'),
  limit: integer('Events to return at most, 1 to 100. Default 25.', [1, 100]),
  offset: integer('Events to skip, 0 to 10,000. Default 0.', [0, 10_000]),
}

const NESTED = z.object({
  code: z.int(),
  message: z.string(),
  identifier: z.string(),
  data: z.object({ content: z.string() }).optional(),
})

const EVENT = z.object({
  context: z.object({
    changeID: z.string(),
    requestID: z.string(),
    traceID: z.string(),
    sessionID: z.string().optional(),
    actor: z.string(),
    actorType: z.enum(['USER', 'SERVICE_ACCOUNT']),
    accessType: z.enum(['API', 'SQL']),
    ipAddress: z.string(),
    origin: z.string().optional(),
    authMode: z.enum(['IDP_JWT', 'SERVICE_ACCOUNT_JWT', 'PAT_JWT', 'API_KEY', 'STS']),
    jwtID: z.string(),
    bearerTokenContextID: z.string().optional(),
    keyID: z.string().optional(),
    subject: z.string().optional(),
    clientTraceID: z.string().max(128).optional(),
  }),
  request: z.object({
    actionType: z.string(),
    resourceType: z.string(),
    vaultID: z.string(),
    resources: z.array(z.string()),
    userEmail: z.string().optional(),
  }),
  response: z.object({
    code: z.int(),
    message: z.string(),
    data: z.object({ content: z.string() }).optional(),
    timestamp: z.string(),
    nestedResponse: z.array(NESTED).optional(),
  }),
})

/** The route of audit events. */
export const auditRoute: OpenRoute = {
  access: 'open',
  method: 'GET',
  path: '/v1/audit/events',
  group: 'Audit',
  summary: 'Lists audit events of a vault, or of all vaults of an account that the caller can audit.',
  operation: 'listEvents',
  verb: 'List events',
  statuses: [400, 401, 404, 500],
  query: QUERY,
  response: z.object({
    event: z.array(EVENT),
    nextOps: z.object({ timestamp: z.string(), changeID: z.string() }).optional(),
  }),
  async handle(call) {
    const texts = call.query()
    const entered = await enterAll(call, await vaultsOf(call, texts))
    const query = toEventQuery(texts)
    if (!('accountID' in query.filterOps)) throw new VaultError('invalid_request', 'filterOps.accountID is required.')
    const pages = await listAll(entered, entered.length === 1 ? query : mergePages.toEach(query))
    const [first] = pages
    const { events, nextOps } = pages.length === 1 && first !== undefined ? first : mergePages.merge(query, pages)
    return jsonResponse(200, { event: events, ...(nextOps === undefined ? {} : { nextOps }) })
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
async function enterAll({ enter }: OpenCall, vaultIDs: readonly string[]): Promise<VaultAccess[]> {
  const entered: VaultAccess[] = []
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
  for (const [path, value] of Object.entries(readQuery(QUERY, texts))) {
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
