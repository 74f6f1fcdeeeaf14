/** Queries for audit events, as given and as checked. Errors name the member and quote no value. Source: specification, "GET /v1/audit/events". */
import * as z from 'zod'
import { type ErrorCode, type Fault, fault, words } from '../errors.ts'
import { DEFAULT_PAGE_SIZE, MAX_CLIENT_TRACE_LENGTH, MAX_EVENT_PAGE_SIZE } from '../limits.ts'
import { assertOptions } from '../util/options.ts'
import { toNanoseconds, toTimestamp } from '../util/time.ts'
import { datetimeType } from '../values/calendar-types.ts'
import { ACTION_TYPES, type ActionType, type EventContext, RESOURCE_TYPES, type ResourceType } from './event.ts'
import type { RecordedShape } from './record-shape.ts'

/** Members of the context of an event that a filter can use. */
export type ContextMember = Exclude<keyof EventContext, 'traceID' | 'keyID' | 'subject' | 'userEmail'> | 'changeID'

/** A word of existing clients for several actions. */
export type ActionWord = 'CREATE' | 'READ' | 'EXECUTE' | 'LOGIN'

/** One `<resourceType>/<resourceID>` of a filter. */
export interface ResourceFilter {
  readonly type: ResourceType
  readonly id: string
}

/** The member by which events are sorted. */
export type SortMember = 'timestamp' | 'changeID' | 'requestID' | 'actor' | 'actionType' | 'code'

/** The last event of a page. The next page starts after it. */
export interface AuditAfterOptions {
  /** RFC 3339 with an offset. */
  readonly timestamp: string
  readonly changeID: string
}

/** A checked filter. An absent member matches every event. */
export interface EventFilter {
  readonly accountID?: string
  readonly vaultID?: string
  /** True if the filter names what no event of a vault has: a parent account, a workspace, or another kind of action or resource. */
  readonly isOutsideVault: boolean
  /** An event matches if it concerns one of them. */
  readonly resources?: readonly ResourceFilter[]
  readonly context: Readonly<Partial<Record<ContextMember, string>>>
  readonly userEmail?: string
  /** An event matches if its action is one of them. */
  readonly actions?: readonly ActionType[]
  readonly resourceType?: ResourceType
  /** The times from which and before which, in nanoseconds since 1970: an event is in one of two windows that adjoin. */
  readonly from?: bigint
  readonly to?: bigint
}

/** A checked query. Without `sort`, the newest events are first. */
export interface EventQuery {
  readonly filter: EventFilter
  readonly sort?: { readonly by: SortMember; readonly order: 'ASCENDING' | 'DESCENDING' }
  readonly after?: AuditAfterOptions
  readonly limit: number
  readonly offset: number
  /** The most resources that are listed of each event. Undefined for all. */
  readonly resources?: number
}

/** The input of `listEvents`. Members are named as on the wire. Empty text and NONE mean that the member is not set. */
export interface EventQueryInput {
  readonly filterOps: {
    /** Default: the account of the vault. */
    readonly accountID?: string
    readonly parentAccountID?: string
    readonly workspaceID?: string
    readonly vaultID?: string
    /** `<resourceType>/<resourceID>`, at most 100, as an array or separated by commas. An event matches if it concerns one of them. */
    readonly resourceIDs?: string | readonly string[]
    readonly context?: {
      readonly changeID?: string
      readonly requestID?: string
      readonly sessionID?: string
      readonly actor?: string
      readonly actorType?: 'NONE' | 'USER' | 'GROUP' | 'SERVICE_ACCOUNT' | 'SQL_SERVICE_ACCOUNT'
      readonly accessType?: 'ACCESS_NONE' | 'API' | 'SQL' | 'IDP_LOGIN'
      readonly ipAddress?: string
      readonly origin?: string
      readonly authMode?: 'AUTH_NONE' | EventContext['authMode']
      readonly jwtID?: string
      readonly bearerTokenContextID?: string
      readonly clientTraceID?: string
      readonly purpose?: string
    }
    readonly request?: { readonly clientInfo?: { readonly userEmail?: string } }
    /** A kind of action, or several in one word: CREATE, READ, EXECUTE or LOGIN. Another word in capitals matches no event. */
    readonly actionType?: ActionType | ActionWord | 'NONE'
    /** A kind of resource. Another word in capitals matches no event. */
    readonly resourceType?: ResourceType
    /** The first time, inclusive, as RFC 3339 with an offset, or as `2026-01-31 23:59:59` in UTC. */
    readonly startTime?: string
    /** The time before which, exclusive, in the same forms. */
    readonly endTime?: string
  }
  readonly sortOps?: { readonly sortBy?: SortMember; readonly orderBy?: 'ASCENDING' | 'DESCENDING' | 'NONE' }
  /** `nextOps` of the previous page. Cannot be combined with `sortOps` or `offset`. */
  readonly afterOps?: { readonly timestamp?: string; readonly changeID?: string }
  /** Number of events, 1 to 100. Default 25. */
  readonly limit?: number
  /** Number of events to skip, 0 to 10,000. Default 0. */
  readonly offset?: number
  /** The most resources to list of each event, 0 to 1,000; their number is `resourceCount` then, and outcomes of items are left out. Default: all. */
  readonly resources?: number
}

/** Maximum offset: all skipped events are in memory. Later pages need `afterOps`. */
const MAX_OFFSET = 10_000
/** Maximum length of any text of a query, in UTF-16 units. */
const MAX_TEXT_LENGTH = 1000
/** Maximum length of resources as one text, in UTF-16 units. */
const MAX_LIST_LENGTH = 10_000
/** Maximum of the number of resources that a query lists of each event. */
const MAX_LISTED_RESOURCES = 1000
/** Maximum number of resources of a query. */
const MAX_RESOURCES = 100

const text = z.string().max(MAX_TEXT_LENGTH).optional()

/** A kind of action or resource: one of a vault, or a word of clients that know other kinds. */
const kind = z
  .string()
  .regex(/^[A-Z_]{0,64}$/)
  .optional()

/** The words of existing clients for several actions. Their UPDATE and DELETE are kinds themselves. */
const ACTION_WORDS: Readonly<Record<ActionWord, readonly ActionType[]>> = {
  CREATE: ['INSERT', 'UPLOAD_FILE', 'UPLOAD_URL', 'CREATE_CREDENTIAL'],
  READ: [
    ...([
      'FIND_SUBJECT',
      'EXPORT_SUBJECT',
      'GET',
      'GET_BY_TOKENS',
      'DETOKENIZE',
      'TOKENIZE',
      'QUERY',
      'LIST_EVENTS',
      'LIST_CREDENTIALS',
      'VERIFY_AUDIT',
      'READ_POLICY',
    ] as const),
    ...(['OPEN_FILE', 'FILE_STATUS', 'DOWNLOAD_URL'] as const),
  ],
  EXECUTE: ['BATCH', 'SCAN_FILE', 'ROTATE_KEYS', 'REWRAP_KEYS', 'DESTROY_KEY', 'ROTATE_LOOKUPS', 'CHANGE_SCHEMA', 'FORGET'],
  LOGIN: ['ISSUE_BEARER'],
}

const SORT_MEMBERS = ['', 'timestamp', 'changeID', 'requestID', 'actor', 'actionType', 'code'] as const
const ORDERS = ['', 'NONE', 'ASCENDING', 'DESCENDING'] as const

const contextShape = z.object({
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
  clientTraceID: z.string().max(MAX_CLIENT_TRACE_LENGTH).optional(),
  purpose: text,
})

const filterShape = z.object({
  accountID: z.string().min(1).max(MAX_TEXT_LENGTH).optional(),
  parentAccountID: text,
  workspaceID: text,
  vaultID: text,
  resourceIDs: z.union([z.string().max(MAX_LIST_LENGTH), z.array(z.string().max(MAX_TEXT_LENGTH))]).optional(),
  context: contextShape.optional(),
  request: z.object({ clientInfo: z.object({ userEmail: text }).optional() }).optional(),
  actionType: kind,
  resourceType: kind,
  startTime: text,
  endTime: text,
})

const queryShape = z.object({
  filterOps: filterShape,
  sortOps: z.object({ sortBy: z.enum(SORT_MEMBERS).optional(), orderBy: z.enum(ORDERS).optional() }).optional(),
  afterOps: z.object({ timestamp: text, changeID: text }).optional(),
  limit: z.unknown().optional(),
  offset: z.unknown().optional(),
  resources: z.unknown().optional(),
})

const value = 'value'

/** The members of a query that events record: which filters it has, and not what they compare with. */
export const RECORDED_EVENT_QUERY = {
  filterOps: {
    accountID: value,
    parentAccountID: value,
    workspaceID: value,
    vaultID: value,
    resourceIDs: value,
    context: Object.fromEntries(Object.keys(contextShape.shape).map((member) => [member, value])),
    request: { clientInfo: { userEmail: value } },
    actionType: [...ACTION_TYPES, ...Object.keys(ACTION_WORDS)],
    resourceType: RESOURCE_TYPES,
    startTime: value,
    endTime: value,
  },
  sortOps: { sortBy: SORT_MEMBERS, orderBy: ORDERS },
  afterOps: { timestamp: value, changeID: value },
  limit: 'number',
  offset: 'number',
  resources: 'number',
} as const satisfies RecordedShape

type FilterInput = z.infer<typeof filterShape>
type QueryInput = z.infer<typeof queryShape>

/** The words of enums that mean that the member is not set. */
const UNSET: Readonly<Record<string, readonly string[]>> = {
  actorType: ['NONE'],
  accessType: ['ACCESS_NONE'],
  authMode: ['AUTH_NONE'],
  actionType: ['NONE'],
  resourceType: ['NONE', 'NONE_API'],
}

/**
 * Returns the checked query of untrusted input in the shape of `EventQueryInput`. Throws `invalid_request` for an invalid member,
 * `out_of_range` for `limit` and `offset`, and `limit_exceeded` for too many resources. Errors name the member.
 */
export function parseEventQuery(input: unknown): EventQuery {
  assertKnown(input, RECORDED_EVENT_QUERY)
  const parsed = queryShape.safeParse(input)
  if (!parsed.success) throw issueFault(parsed.error.issues[0])
  const { filterOps, limit, offset, resources } = parsed.data
  const sort = sortOf(parsed.data)
  const after = afterOf(parsed.data)
  return {
    filter: filterOf(filterOps),
    ...(sort === undefined ? {} : { sort }),
    ...(after === undefined ? {} : { after }),
    limit: integer('limit', limit ?? DEFAULT_PAGE_SIZE, [1, MAX_EVENT_PAGE_SIZE]),
    offset: integer('offset', offset ?? 0, [0, MAX_OFFSET]),
    ...(resources === undefined ? {} : { resources: integer('resources', resources, [0, MAX_LISTED_RESOURCES]) }),
  }
}

function filterOf(given: FilterInput): EventFilter {
  const { accountID, vaultID, parentAccountID, workspaceID } = given
  const userEmail = given.request?.clientInfo?.userEmail
  const actions = kindsIn('actionType', given.actionType, actionsOf)
  const resourceTypes = kindsIn('resourceType', given.resourceType, resourceTypesOf)
  const [resourceType] = resourceTypes ?? []
  const resources = resourcesOf(given.resourceIDs)
  const from = instantOf('filterOps.startTime', given.startTime)
  const to = instantOf('filterOps.endTime', given.endTime)
  const context = Object.entries(given.context ?? {}).filter(([name, value]) => isSet(name, value))
  return {
    ...(accountID === undefined ? {} : { accountID }),
    isOutsideVault: isGiven(parentAccountID) || isGiven(workspaceID) || actions?.length === 0 || resourceTypes?.length === 0,
    context: Object.fromEntries(context),
    ...(isGiven(vaultID) ? { vaultID } : {}),
    ...(isGiven(userEmail) ? { userEmail } : {}),
    ...(actions === undefined ? {} : { actions }),
    ...(resourceType === undefined ? {} : { resourceType }),
    ...(resources === undefined ? {} : { resources }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}

/** True for a member that is given, and not one of the words that mean that it is not. */
function isSet(name: string, value: string | undefined): boolean {
  return isGiven(value) && UNSET[name]?.includes(value) !== true
}

/** Returns the kinds that a word means, none for a word of clients that know other kinds; undefined if it is not set. */
function kindsIn<Kind>(
  name: string,
  word: string | undefined,
  kindsOf: (word: string) => readonly Kind[],
): readonly Kind[] | undefined {
  return word !== undefined && isSet(name, word) ? kindsOf(word) : undefined
}

function actionsOf(word: string): readonly ActionType[] {
  // Only its own members are words of several.
  return Object.hasOwn(ACTION_WORDS, word) ? ACTION_WORDS[word as ActionWord] : ACTION_TYPES.filter((known) => known === word)
}

function resourceTypesOf(word: string): readonly ResourceType[] {
  return RESOURCE_TYPES.filter((known) => known === word)
}

/** Returns the resources of a filter, without those of other kinds; undefined if it names none. Ignores empty text between commas. */
function resourcesOf(given: FilterInput['resourceIDs']): readonly ResourceFilter[] | undefined {
  const texts = (typeof given === 'string' ? given.split(',') : (given ?? [])).map((one) => one.trim()).filter(isGiven)
  if (texts.length > MAX_RESOURCES)
    throw invalid('filterOps.resourceIDs', `names more than ${MAX_RESOURCES} resources`, 'limit_exceeded')
  if (texts.length === 0) return undefined
  return texts.flatMap((one) => {
    const [, word, id = ''] = /^([A-Z_]{1,64})\/(.+)$/s.exec(one) ?? []
    if (word === undefined)
      throw invalid('filterOps.resourceIDs', 'must have the form <resourceType>/<resourceID>, such as RECORD/ and a record id')
    return resourceTypesOf(word).map((type) => ({ type, id }))
  })
}

/** A time in UTC as existing clients write it. */
const UTC_FORM = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?)$/

function instantOf(member: string, given: string | undefined): bigint | undefined {
  if (!isGiven(given)) return undefined
  const at = parseInstant(given.replace(UTC_FORM, '$1T$2Z'))
  if (at === undefined)
    throw invalid(member, 'must be a time such as 2026-01-31T23:59:59+01:00 (RFC 3339), or 2026-01-31 23:59:59 in UTC')
  return at
}

/** Returns the nanoseconds since 1970 of RFC 3339 text with an offset; undefined for other text. */
function parseInstant(text: string): bigint | undefined {
  try {
    return toNanoseconds(datetimeType.fromText(text))
  } catch {
    return undefined
  }
}

/** Returns the order of a query. A direction without a member means the time. */
function sortOf({ sortOps }: QueryInput): EventQuery['sort'] {
  const [by, order] = [sortOps?.sortBy ?? '', sortOps?.orderBy ?? '']
  if (by === '' && (order === '' || order === 'NONE')) return undefined
  return { by: by === '' ? 'timestamp' : by, order: order === 'ASCENDING' ? 'ASCENDING' : 'DESCENDING' }
}

function afterOf(query: QueryInput): AuditAfterOptions | undefined {
  const { afterOps, offset } = query
  const [timestamp, changeID] = [afterOps?.timestamp ?? '', afterOps?.changeID ?? '']
  if (timestamp === '' && changeID === '') return undefined
  if (timestamp === '' || changeID === '') throw invalid('afterOps', 'must have both timestamp and changeID, as nextOps has')
  if (sortOf(query) !== undefined) throw invalid('afterOps', 'cannot be combined with sortOps')
  if (offset !== undefined) throw invalid('afterOps', 'cannot be combined with offset')
  const at = instantOf('afterOps.timestamp', timestamp)
  return at === undefined ? undefined : { timestamp: toTimestamp(at), changeID }
}

function integer(member: string, given: unknown, [min, max]: readonly [number, number]): number {
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= min && given <= max) return given
  throw invalid(member, `must be an integer from ${min} to ${max}`, 'out_of_range')
}

/** Throws `invalid_request` for the first member of any depth that is unknown or null. What is no object is refused by its shape. */
function assertKnown(given: unknown, shape: Readonly<Record<string, unknown>>, member?: string): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return
  assertOptions<Readonly<Record<string, unknown>>>(given, Object.keys(shape), member === undefined ? {} : { member })
  for (const [name, inner] of Object.entries(shape)) {
    const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
    if (isObject) assertKnown(given[name], { ...inner }, member === undefined ? name : `${member}.${name}`)
  }
}

/** Returns the error of an invalid shape. */
function issueFault(issue: z.core.$ZodIssue | undefined): Fault {
  const path = issue?.path.map(String).join('.') ?? ''
  return path === '' ? invalid('The query', 'must be an object') : invalid(path, 'is missing or invalid')
}

/** `member` is a path of the query shape, never text of the caller. */
function invalid(member: string, problem: string, code: ErrorCode = 'invalid_request'): Fault {
  return fault(code)`${words(member)} ${words(problem)}.`
}

/** False for the empty text, which means that a member is not set. */
function isGiven<Text extends string>(given: Text | undefined): given is Exclude<Text, ''> {
  return given !== undefined && given !== ''
}
