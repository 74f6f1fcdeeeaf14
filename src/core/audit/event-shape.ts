/** The shape of stored events: every member is known, and every number is in its range. */
import { MAX_CHAINS } from '../limits.ts'
import { MAX_ROW_ID } from '../ports/storage.ts'
import { integer, listOf, matching, objectOf, oneOf, pairOf, type Shape, text } from '../util/options.ts'
import type { ChainedEvent } from './event.ts'

/** All action types of events. */
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
] as const

/** All resource types. */
export const RESOURCE_TYPES = ['RECORD', 'TABLE', 'TOKEN', 'VAULT', 'FILE', 'CREDENTIAL'] as const

/** The values of members of a context that have a few. */
export const ACTOR_TYPES = ['USER', 'SERVICE_ACCOUNT'] as const
export const ACCESS_TYPES = ['API', 'SQL'] as const
export const AUTH_MODES = ['IDP_JWT', 'SERVICE_ACCOUNT_JWT', 'PAT_JWT', 'API_KEY', 'STS'] as const

const count = integer(1)
const resourceType = oneOf(RESOURCE_TYPES)
const code = integer(100, 599)

const context = objectOf(
  {
    requestID: text,
    traceID: text,
    actor: text,
    actorType: oneOf(ACTOR_TYPES),
    accessType: oneOf(ACCESS_TYPES),
    ipAddress: text,
    authMode: oneOf(AUTH_MODES),
    jwtID: text,
  },
  {
    sessionID: text,
    origin: text,
    bearerTokenContextID: text,
    keyID: text,
    subject: text,
    clientTraceID: text,
    userEmail: text,
  },
)

const rows = objectOf({ table: text, runs: listOf(pairOf(count)) })

const nested = objectOf(
  { code, message: text, resourceType },
  { rows, content: text, contentOf: integer(0), items: integer(2, MAX_ROW_ID) },
)

/** The shape of an event of version 1. */
export const eventShape: Shape<ChainedEvent> = objectOf(
  {
    v: oneOf([1]),
    position: objectOf({
      chain: integer(1, MAX_CHAINS),
      sequence: integer(1, 0xffff_ffff),
      previous: matching(/^([0-9a-f]{64})?$/),
    }),
    changeID: text,
    timestamp: matching(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$/),
    vaultID: text,
    accountID: text,
    context,
    action: oneOf(ACTION_TYPES),
    resourceType,
    code,
    message: text,
  },
  {
    table: text,
    tables: listOf(text),
    rows: listOf(rows),
    credential: text,
    content: text,
    nested: listOf(nested),
  },
)
