/** Audit events: as an operation describes them, as they are chained, and as they are listed. Source: specification, "Audit event". */
import { type ErrorCode, VaultError } from '../errors.ts'
import { MAX_ROW_ID } from '../ports/storage.ts'
import type { RedactionLevel } from '../redaction.ts'

/** The kinds of operations. Lists of words only grow at their ends: a stored event has their indexes. */
export const ACTION_TYPES = [
  'INSERT',
  'GET',
  'UPDATE',
  'DELETE',
  'DETOKENIZE',
  'TOKENIZE',
  'GET_BY_TOKENS',
  'QUERY',
  'BATCH',
  'LIST_EVENTS',
  'UPLOAD_FILE',
  'DELETE_FILE',
  'FILE_STATUS',
  'OPEN_FILE',
  'UPLOAD_URL',
  'DOWNLOAD_URL',
  'SCAN_FILE',
  'CREATE_CREDENTIAL',
  'REVOKE_CREDENTIAL',
  'LIST_CREDENTIALS',
  'ISSUE_BEARER',
  'REQUEST',
  'ROTATE_KEYS',
  'REWRAP_KEYS',
  'DESTROY_KEY',
  'ROTATE_LOOKUPS',
  'CHANGE_SCHEMA',
  'EXPIRE',
  'PLACE_HOLD',
  'LIFT_HOLD',
  'FIND_SUBJECT',
  'EXPORT_SUBJECT',
  'FORGET',
  'VERIFY_AUDIT',
  'READ_POLICY',
] as const
/** The kinds of resources, as in `<resourceType>/<resourceID>`. */
export const RESOURCE_TYPES = ['RECORD', 'TABLE', 'TOKEN', 'VAULT', 'FILE', 'CREDENTIAL'] as const
/** The kinds of callers, of ways in, and of authentication. */
export const ACTOR_TYPES = ['USER', 'SERVICE_ACCOUNT'] as const
export const ACCESS_TYPES = ['API', 'SQL'] as const
export const AUTH_MODES = ['IDP_JWT', 'SERVICE_ACCOUNT_JWT', 'PAT_JWT', 'API_KEY', 'STS'] as const

/** The kind of an operation. */
export type ActionType = (typeof ACTION_TYPES)[number]

/** The kind of a resource. */
export type ResourceType = (typeof RESOURCE_TYPES)[number]

/** Authentication mode of the caller. Default `STS`: authenticated by the embedding application. */
export type AuthMode = (typeof AUTH_MODES)[number]

/** The caller, the origin and the credential of a request. All events of one request have the same context. */
export interface EventContext {
  readonly requestID: string
  readonly traceID: string
  readonly sessionID?: string
  readonly actor: string
  readonly actorType: (typeof ACTOR_TYPES)[number]
  readonly accessType: (typeof ACCESS_TYPES)[number]
  readonly ipAddress: string
  readonly origin?: string
  readonly authMode: AuthMode
  readonly jwtID: string
  readonly bearerTokenContextID?: string
  readonly keyID?: string
  readonly subject?: string
  readonly clientTraceID?: string
  /** Why the caller works with the data, as they state it. */
  readonly purpose?: string
  /** Email address of the end user for whom the caller acts. */
  readonly userEmail?: string
}

/** Rows of one table, as runs of neighbors: `[first row, count]`. They are listed as record ids. */
export interface EventRows {
  readonly table: string
  readonly runs: readonly (readonly [first: number, count: number])[]
}

/** The result of one item of a batch, or of neighboring items with equal results. */
export interface NestedOutcome {
  /** Number of items, from 2; absent for one. `rows` then has one row for each, in order, or is absent. */
  readonly items?: number
  /** HTTP status. */
  readonly code: number
  /** Empty on success. */
  readonly message: string
  readonly resourceType: ResourceType
  readonly rows?: EventRows
  /** The input of the item as JSON text, with every value replaced. */
  readonly content?: string
  /** In place of `content`: the position, from 0, of an earlier result with the same content. */
  readonly contentOf?: number
}

/** Another caller, as whom the caller of a preview looked at records. */
export interface SeenAs {
  /** Roles that neither the policy nor the draft of the preview has are *UNKNOWN*. */
  readonly roles: readonly string[]
  /** The attributes of the other caller that policies read, as JSON text. */
  readonly context: string
}

/** What an operation records when it ends, whether it succeeds or fails. */
export interface EventDraft {
  readonly context: EventContext
  readonly action: ActionType
  readonly resourceType: ResourceType
  /** The table of the request, if it names one. */
  readonly table?: string | undefined
  /** The tables that a query names, or that a listing of events asks for, each once. */
  readonly tables?: readonly string[] | undefined
  readonly rows?: readonly EventRows[] | undefined
  /** As whom records were looked at. Absent unless it was a preview. */
  readonly seenAs?: SeenAs | undefined
  /** Key id of the stored credential that the operation is about. */
  readonly credential?: string | undefined
  /** HTTP status of the outcome. */
  readonly code: number
  /** The highest level at which values of records were shown. Absent if none were. */
  readonly level?: RedactionLevel | undefined
  /** Empty on success. */
  readonly message: string
  /** The body of the request as JSON text, with every value replaced and equal neighbors merged. */
  readonly content?: string | undefined
  readonly nested?: readonly NestedOutcome[] | undefined
}

/** The position of an event: chain and sequence number, both from 1, and the digest of the previous event, as 64 hex digits or bytes; empty for the first. */
export interface EventPosition {
  readonly chain: number
  readonly sequence: number
  readonly previous: string | Uint8Array
}

/** What an event has besides its draft. `timestamp` is RFC 3339 in UTC with nine decimals, and rises within a chain. */
export interface EventPlace {
  /** Version of the format. */
  readonly v: 1
  readonly position: EventPosition
  readonly changeID: string
  readonly timestamp: string
  readonly vaultID: string
  readonly accountID: string
}

/** An event as it is digested and sealed. */
export interface ChainedEvent extends EventDraft, EventPlace {}

/** An event as `listEvents` returns it. */
export interface AuditEvent {
  readonly context: Omit<EventContext, 'userEmail'> & { readonly changeID: string }
  readonly request: {
    readonly actionType: ActionType
    readonly resourceType: ResourceType
    readonly vaultID: string
    /** `<resourceType>/<resourceID>`. */
    readonly resources: readonly string[]
    /** As whom the caller looked at records, in a preview. What was shown was at the lower level of both. */
    readonly seenAs?: { readonly roles: readonly string[]; readonly context: Readonly<Record<string, unknown>> }
    /** How many it has, where a listing asked for some of them. */
    readonly resourceCount?: number
    readonly userEmail?: string
  }
  readonly response: {
    readonly code: number
    readonly message: string
    readonly timestamp: string
    /** The highest level at which values of records were shown. Absent if none were. */
    readonly level?: RedactionLevel
    readonly data?: { readonly content: string }
    readonly nestedResponse?: readonly {
      readonly code: number
      readonly message: string
      readonly identifier: string
      readonly data?: { readonly content: string }
    }[]
  }
}

/** HTTP status and message of an outcome. The message is empty on success. */
export interface Outcome {
  readonly code: number
  readonly message: string
  /** The code of a failure. Events do not record it. */
  readonly failure?: ErrorCode
}

/** The operation succeeded. */
export const SUCCESS: Outcome = { code: 200, message: '' }

/** The outcome of an error. Only the message of a `VaultError` is kept: it holds no value, while an engine may have quoted one. */
export function outcomeOf(error: unknown): Outcome & { readonly failure: ErrorCode } {
  if (VaultError.isGenuine(error)) return { code: error.httpStatus, message: error.message, failure: error.code }
  return { code: 500, message: 'Something unexpected went wrong.', failure: 'internal' }
}

/** A change that was made and then rolled back with its transaction. */
export const ROLLED_BACK: Outcome = { code: 500, message: 'Rolled back with its transaction.' }

/** A change whose transaction lost the storage during COMMIT. */
export const OUTCOME_UNKNOWN: Outcome = { code: 500, message: 'Outcome unknown: storage was lost during commit.' }

/** An item of a batch that did not run, because the batch had failed before. */
export const NOT_RUN: Outcome = { code: 500, message: 'Not run: the batch failed before this item.' }

/** True for the outcome of a change that ran, even if it rolled back: its event contains the rows. A refused change has none. */
export function isOfChange(outcome: Outcome): boolean {
  return outcome === SUCCESS || outcome === ROLLED_BACK || outcome === OUTCOME_UNKNOWN
}

/**
 * Returns `[first row, count]` for each run, in the order given. Leaves out numbers that are no row ids: a row whose id was changed in
 * the database is no record, and must not make the event of its read unreadable.
 */
export function toRuns(rows: readonly number[]): (readonly [first: number, count: number])[] {
  const only = rows.length === 1 ? rows[0] : undefined
  if (only !== undefined) return isRowId(only) ? [[only, 1]] : []
  const runs: [number, number][] = []
  for (const row of rows) {
    if (!isRowId(row)) continue
    const last = runs.at(-1)
    if (last !== undefined && last[0] + last[1] === row) last[1]++
    else runs.push([row, 1])
  }
  return runs
}

/** Returns the rows without numbers that are no row ids: the list itself, if there are none. */
export function onlyRowIds(rows: readonly number[]): readonly number[] {
  for (const row of rows) if (!isRowId(row)) return rows.filter(isRowId)
  return rows
}

function isRowId(row: number): boolean {
  return row >= 1 && row <= MAX_ROW_ID
}

/** Returns the rows of these runs, in order. */
export function fromRuns(runs: readonly (readonly [first: number, count: number])[]): number[] {
  const rows: number[] = []
  for (const [first, count] of runs) {
    for (let row = first; row < first + count; row++) rows.push(row)
  }
  return rows
}
