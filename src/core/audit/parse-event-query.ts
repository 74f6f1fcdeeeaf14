/** Checks what a caller asks of the audit trail; the refusal names the member, and quotes nothing. */
import { z } from 'zod'
import { type ErrorCode, VaultError } from '../errors.ts'
import { DEFAULT_PAGE, LONGEST_CLIENT_TRACE } from '../limits.ts'
import { toTimestamp } from '../util/timestamp.ts'
import type { AfterEvent, EventFilter, EventQuery, ResourceFilter } from './event-query.ts'
import { EVENT_ACTIONS, RESOURCE_TYPES } from './event-shape.ts'
import { parseInstant } from './instant.ts'

const VERB = 'List events'
/** Events an offset may pass over: they are all held at once. Farther pages are had by `afterOps`. */
const FARTHEST_OFFSET = 10_000
/** Events a page may hold at most. */
const LONGEST_PAGE = 100
/** Characters any text of a query may have. */
const LONGEST_TEXT = 1000
/** Characters the list of resources may have as one text. */
const LONGEST_LIST = 10_000
/** Resources one query may name. */
const MOST_RESOURCES = 100

const text = z.string().max(LONGEST_TEXT).optional()

const filterShape = z.strictObject({
  accountID: z.string().min(1).max(LONGEST_TEXT),
  parentAccountID: text,
  workspaceID: text,
  vaultID: text,
  resourceIDs: z.union([z.string().max(LONGEST_LIST), z.array(z.string().max(LONGEST_TEXT))]).optional(),
  context: z
    .strictObject({
      changeID: text,
      requestID: text,
      sessionID: text,
      actor: text,
      actorType: z.enum(['', 'NONE', 'USER', 'GROUP', 'SERVICE_ACCOUNT', 'SQL_SERVICE_ACCOUNT']).optional(),
      accessType: z.enum(['', 'ACCESS_NONE', 'API', 'SQL', 'IDP_LOGIN']).optional(),
      ipAddress: text,
      origin: text,
      authMode: z.enum(['', 'AUTH_NONE', 'IDP_JWT', 'SERVICE_ACCOUNT_JWT', 'PAT_JWT', 'API_KEY', 'STS']).optional(),
      jwtID: text,
      bearerTokenContextID: text,
      clientTraceID: z.string().max(LONGEST_CLIENT_TRACE).optional(),
    })
    .optional(),
  request: z.strictObject({ clientInfo: z.strictObject({ userEmail: text }).optional() }).optional(),
  actionType: z.enum(['', ...EVENT_ACTIONS]).optional(),
  resourceType: z.enum(['', ...RESOURCE_TYPES]).optional(),
  startTime: text,
  endTime: text,
})

const queryShape = z.strictObject({
  filterOps: filterShape,
  sortOps: z
    .strictObject({
      sortBy: z.enum(['', 'timestamp', 'changeID', 'requestID', 'actor', 'actionType', 'code']).optional(),
      orderBy: z.enum(['', 'NONE', 'ASCENDING', 'DESCENDING']).optional(),
    })
    .optional(),
  afterOps: z.strictObject({ timestamp: text, changeID: text }).optional(),
  limit: z.unknown().optional(),
  offset: z.unknown().optional(),
})

type GivenFilter = z.infer<typeof filterShape>
type GivenQuery = z.infer<typeof queryShape>

/** Words by which a member of the context says that nothing is asked of it. */
const NOTHING: ReadonlySet<string> = new Set(['', 'NONE', 'ACCESS_NONE', 'AUTH_NONE'])

/**
 * The query behind untrusted input; its shape is `EventQueryInput`. Throws `invalid_request` naming the member at fault, with
 * gRPC code 11 where limit or offset is out of range.
 */
export function parseEventQuery(input: unknown): EventQuery {
  const parsed = queryShape.safeParse(input)
  if (!parsed.success) throw refusal(memberOf(parsed.error.issues[0]), 'is not as described; correct it, or leave it out')
  const { filterOps, limit, offset } = parsed.data
  const sort = sortOf(parsed.data)
  const after = afterOf(parsed.data)
  return {
    filter: filterOf(filterOps),
    ...(sort === undefined ? {} : { sort }),
    ...(after === undefined ? {} : { after }),
    limit: wholeNumber('limit', limit ?? DEFAULT_PAGE, [1, LONGEST_PAGE]),
    offset: wholeNumber('offset', offset ?? 0, [0, FARTHEST_OFFSET]),
  }
}

function filterOf(given: GivenFilter): EventFilter {
  const { accountID, vaultID, parentAccountID, workspaceID, actionType, resourceType } = given
  const userEmail = given.request?.clientInfo?.userEmail
  const resources = resourcesOf(given.resourceIDs)
  const from = instantOf('filterOps.startTime', given.startTime)
  const to = instantOf('filterOps.endTime', given.endTime)
  const context = Object.entries(given.context ?? {}).filter(([, asked]) => asked !== undefined && !NOTHING.has(asked))
  return {
    accountID,
    isElsewhere: isGiven(parentAccountID) || isGiven(workspaceID),
    context: Object.fromEntries(context),
    ...(isGiven(vaultID) ? { vaultID } : {}),
    ...(isGiven(userEmail) ? { userEmail } : {}),
    ...(isGiven(actionType) ? { action: actionType } : {}),
    ...(isGiven(resourceType) ? { resourceType } : {}),
    ...(resources.length === 0 ? {} : { resources }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}

/** Empty texts between commas are passed over. */
function resourcesOf(given: GivenFilter['resourceIDs']): ResourceFilter[] {
  const texts = (typeof given === 'string' ? given.split(',') : (given ?? [])).map((one) => one.trim()).filter(isGiven)
  if (texts.length > MOST_RESOURCES)
    throw refusal('filterOps.resourceIDs', `names more than ${MOST_RESOURCES} resources`, 'limit_exceeded')
  return texts.map((one) => {
    const slash = one.indexOf('/')
    const type = RESOURCE_TYPES.find((known) => known === one.slice(0, slash))
    if (type === undefined || slash === one.length - 1) {
      throw refusal('filterOps.resourceIDs', 'must hold <resourceType>/<resourceID>, such as RECORD/ and the id of a record')
    }
    return { type, id: one.slice(slash + 1) }
  })
}

function instantOf(member: string, given: string | undefined): bigint | undefined {
  if (!isGiven(given)) return undefined
  const at = parseInstant(given)
  if (at === undefined) throw refusal(member, 'must be a time as RFC 3339 text with its offset, such as 2026-01-31T23:59:59Z')
  return at
}

/** Without a member to sort by there is only the direction: of the time. */
function sortOf({ sortOps }: GivenQuery): EventQuery['sort'] {
  const [by, order] = [sortOps?.sortBy ?? '', sortOps?.orderBy ?? '']
  if (by === '' && (order === '' || order === 'NONE')) return undefined
  return { by: by === '' ? 'timestamp' : by, order: order === 'ASCENDING' ? 'ASCENDING' : 'DESCENDING' }
}

function afterOf(query: GivenQuery): AfterEvent | undefined {
  const { afterOps, offset } = query
  const [timestamp, changeID] = [afterOps?.timestamp ?? '', afterOps?.changeID ?? '']
  if (timestamp === '' && changeID === '') return undefined
  if (timestamp === '' || changeID === '') throw refusal('afterOps', 'needs both timestamp and changeID, as nextOps gave them')
  if (sortOf(query) !== undefined) throw refusal('afterOps', 'does not go together with sortOps')
  if (offset !== undefined) throw refusal('afterOps', 'does not go together with offset')
  const at = instantOf('afterOps.timestamp', timestamp)
  return at === undefined ? undefined : { timestamp: toTimestamp(at), changeID }
}

function wholeNumber(member: string, given: unknown, [least, most]: readonly [number, number]): number {
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= least && given <= most) return given
  throw refusal(member, `must be a whole number from ${least} to ${most}`, 'out_of_range')
}

/** Where the input was at fault: for an unknown member, the place it stands in. Its name is the caller's, and may be anything. */
function memberOf(issue: z.core.$ZodIssue | undefined): string {
  const path = issue?.path.map(String).join('.') ?? ''
  if (issue?.code === 'unrecognized_keys') return `a member of ${path === '' ? 'the query' : path} that nobody knows`
  return path === '' ? 'the query' : path
}

function refusal(member: string, fault: string, code: ErrorCode = 'invalid_request'): VaultError {
  return new VaultError(code, `${VERB} failed. ${member} ${fault}.`)
}

/** The empty text asks for nothing. */
function isGiven<Text extends string>(given: Text | undefined): given is Exclude<Text, ''> {
  return given !== undefined && given !== ''
}
