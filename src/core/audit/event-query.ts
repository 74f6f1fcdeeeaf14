/** What a caller may ask of the audit trail, as it is given and as it is checked. Source: specification, "GET /v1/audit/events". */
import type { EventAction, EventContext, ResourceType } from './event.ts'

/** Members of an event's context that a filter may name. */
export type ContextMember = Exclude<keyof EventContext, 'traceID' | 'keyID' | 'subject' | 'userEmail'> | 'changeID'

/** One `<resourceType>/<resourceID>` of a filter. */
export interface ResourceFilter {
  readonly type: ResourceType
  readonly id: string
}

/** What events are sorted by. */
export type SortMember = 'timestamp' | 'changeID' | 'requestID' | 'actor' | 'actionType' | 'code'

/** The last event of a page, which the next one goes on from. */
export interface AfterEvent {
  readonly timestamp: string
  readonly changeID: string
}

/** A checked filter: what is absent matches everything. */
export interface EventFilter {
  readonly accountID: string
  readonly vaultID?: string
  /** True when an account or workspace above the vault's is asked for: a vault in process knows of none, so no event is in it. */
  readonly isElsewhere: boolean
  /** An event matches when it is about one of them. */
  readonly resources?: readonly ResourceFilter[]
  readonly context: Readonly<Partial<Record<ContextMember, string>>>
  readonly userEmail?: string
  readonly action?: EventAction
  readonly resourceType?: ResourceType
  /** In nanoseconds since 1970, both included. */
  readonly from?: bigint
  readonly to?: bigint
}

/** A checked query. `sort` is undefined for the order unless said: newest first. */
export interface EventQuery {
  readonly filter: EventFilter
  readonly sort?: { readonly by: SortMember; readonly order: 'ASCENDING' | 'DESCENDING' }
  readonly after?: AfterEvent
  readonly limit: number
  readonly offset: number
}

/** What `listEvents` takes. Members are named as in the specification; an empty text or a NONE means that nothing is asked. */
export interface EventQueryInput {
  readonly filterOps: {
    readonly accountID: string
    readonly parentAccountID?: string
    readonly workspaceID?: string
    readonly vaultID?: string
    /** `<resourceType>/<resourceID>`, as a list or separated by commas; an event matches when it is about one of them. */
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
    readonly actionType?: EventAction
    readonly resourceType?: ResourceType
    /** RFC 3339 with its offset; events at that very time are in. */
    readonly startTime?: string
    readonly endTime?: string
  }
  readonly sortOps?: { readonly sortBy?: SortMember; readonly orderBy?: 'ASCENDING' | 'DESCENDING' | 'NONE' }
  /** `nextOps` of the page before; not together with sortOps or offset. */
  readonly afterOps?: { readonly timestamp?: string; readonly changeID?: string }
  /** 25 unless said, 100 at most. */
  readonly limit?: number
  readonly offset?: number
}
