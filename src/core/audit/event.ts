/** One event of the audit trail: as operations describe it, as it is chained and sealed, and as it is listed. Source: specification, "Audit event". */

/** How a caller proved who he is. NONE of them is known for a caller the application vouches for in process: STS unless it says otherwise. */
export type AuthMode = 'IDP_JWT' | 'SERVICE_ACCOUNT_JWT' | 'PAT_JWT' | 'API_KEY' | 'STS'

/** Who asked, from where and by which credential, as every event of one request says it. */
export interface EventContext {
  readonly requestID: string
  readonly traceID: string
  readonly sessionID?: string
  readonly actor: string
  readonly actorType: 'USER' | 'SERVICE_ACCOUNT'
  readonly accessType: 'API' | 'SQL'
  readonly ipAddress: string
  readonly origin?: string
  readonly authMode: AuthMode
  readonly jwtID: string
  readonly bearerTokenContextID?: string
  readonly keyID?: string
  readonly subject?: string
  readonly clientTraceID?: string
  /** Email of the end user on whose behalf the call was made. */
  readonly userEmail?: string
}

/** What was done. */
export type EventAction =
  | 'INSERT'
  | 'GET'
  | 'UPDATE'
  | 'DELETE'
  | 'DETOKENIZE'
  | 'TOKENIZE'
  | 'GET_BY_TOKENS'
  | 'QUERY'
  | 'BATCH'
  | 'LIST_EVENTS'
  | 'UPLOAD_FILE'
  | 'DELETE_FILE'
  | 'FILE_STATUS'
  | 'OPEN_FILE'

/** What it was done to, in the words of `<resourceType>/<resourceID>`; RECORD rows stand under their table. */
export type ResourceType = 'RECORD' | 'TABLE' | 'TOKEN' | 'VAULT' | 'FILE'

/** Rows of one table, as runs of neighbours: `[first row, how many]`. Listed as record ids. */
export interface EventRows {
  readonly table: string
  readonly runs: readonly (readonly [first: number, count: number])[]
}

/** The result of one item of a batch. */
export interface NestedOutcome {
  readonly code: number
  /** Empty on success. */
  readonly message: string
  readonly resourceType: ResourceType
  readonly rows?: EventRows
  readonly content?: string
}

/** What an operation says of itself once it has ended, however it ended. */
export interface EventDraft {
  readonly context: EventContext
  readonly action: EventAction
  readonly resourceType: ResourceType
  /** The table it was about, where it was about one. */
  readonly table?: string
  readonly rows?: readonly EventRows[]
  /** HTTP status of the outcome. */
  readonly code: number
  readonly message: string
  /** The request's body with every value replaced, and equal neighbours folded. */
  readonly content?: string
  readonly nested?: readonly NestedOutcome[]
}

/** Where an event stands: lane and place in it, both from 1, and the digest (64 hex digits) of the event before; empty for the first. */
export interface EventPlace {
  readonly lane: number
  readonly sequence: number
  readonly previous: string
}

/** An event as it is digested and sealed: its draft, its place, its id, and its time (RFC 3339, nine decimals, rising in its lane). */
export interface ChainedEvent extends EventDraft {
  /** Format of this record. */
  readonly v: 1
  readonly place: EventPlace
  readonly changeID: string
  readonly timestamp: string
  readonly vaultID: string
  readonly accountID: string
}

/** An event as `listEvents` answers it. */
export interface AuditEvent {
  readonly context: Omit<EventContext, 'userEmail'> & { readonly changeID: string }
  readonly request: {
    readonly actionType: EventAction
    readonly resourceType: ResourceType
    readonly vaultID: string
    /** `<resourceType>/<resourceID>`. */
    readonly resources: readonly string[]
    readonly userEmail?: string
  }
  readonly response: {
    readonly code: number
    readonly message: string
    readonly timestamp: string
    readonly data?: { readonly content: string }
    readonly nestedResponse?: readonly {
      readonly code: number
      readonly message: string
      readonly identifier: string
      readonly data?: { readonly content: string }
    }[]
  }
}
