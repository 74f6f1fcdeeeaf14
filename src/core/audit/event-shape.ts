/** The shape of stored events: every member is known, and every number is in its range. */
import * as z from 'zod'
import { MAX_CHAINS } from '../limits.ts'
import { MAX_ROW_ID } from '../ports/storage.ts'
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

const text = z.string()
const count = z.int().min(1)
const resourceType = z.enum(RESOURCE_TYPES)
const code = z.int().min(100).max(599)

const context = z.strictObject({
  requestID: text,
  traceID: text,
  sessionID: text.exactOptional(),
  actor: text,
  actorType: z.enum(ACTOR_TYPES),
  accessType: z.enum(ACCESS_TYPES),
  ipAddress: text,
  origin: text.exactOptional(),
  authMode: z.enum(AUTH_MODES),
  jwtID: text,
  bearerTokenContextID: text.exactOptional(),
  keyID: text.exactOptional(),
  subject: text.exactOptional(),
  clientTraceID: text.exactOptional(),
  userEmail: text.exactOptional(),
})

const rows = z.strictObject({ table: text, runs: z.array(z.tuple([count, count])) })

const nested = z.strictObject({
  code,
  message: text,
  resourceType,
  rows: rows.exactOptional(),
  content: text.exactOptional(),
  contentOf: z.int().min(0).exactOptional(),
  items: z.int().min(2).max(MAX_ROW_ID).exactOptional(),
})

/** The shape of an event of version 1. */
export const eventShape: z.ZodType<ChainedEvent> = z.strictObject({
  v: z.literal(1),
  position: z.strictObject({
    chain: z.int().min(1).max(MAX_CHAINS),
    sequence: z.int().min(1).max(0xffff_ffff),
    previous: z.string().regex(/^([0-9a-f]{64})?$/),
  }),
  changeID: text,
  timestamp: z.string().regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$/),
  vaultID: text,
  accountID: text,
  context,
  action: z.enum(ACTION_TYPES),
  resourceType,
  table: text.exactOptional(),
  tables: z.array(text).exactOptional(),
  rows: z.array(rows).exactOptional(),
  credential: text.exactOptional(),
  code,
  message: text,
  content: text.exactOptional(),
  nested: z.array(nested).exactOptional(),
})
