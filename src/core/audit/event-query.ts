/** Queries for audit events, as given and as checked. Source: specification, "GET /v1/audit/events". */
import type { ActionType, EventContext, ResourceType } from './event.ts'

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
  readonly accountID: string
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
}

/** The input of `listEvents`. Members are named as on the wire. Empty text and NONE mean that the member is not set. */
export interface EventQueryInput {
  readonly filterOps: {
    readonly accountID: string
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
}
