/** Events in the Open Cybersecurity Schema Framework 1.9: API Activity (class 6003) with the profile Record Integrity. Source: schema.ocsf.io. */
import { VERSION } from '../../version.ts'
import { type FollowedEvent, resourcesOf, type SealedEvent } from './sealed-event.ts'

const CLASS = 6003

/** `activity_id` by kind of operation; the others are Other. */
const ACTIVITIES: Readonly<Record<string, keyof typeof ACTIVITY_NAMES>> = {
  INSERT: 1,
  UPLOAD_FILE: 1,
  UPLOAD_URL: 1,
  CREATE_CREDENTIAL: 1,
  GET: 2,
  GET_BY_TOKENS: 2,
  DETOKENIZE: 2,
  TOKENIZE: 2,
  QUERY: 2,
  LIST_EVENTS: 2,
  VERIFY_AUDIT: 2,
  LIST_CREDENTIALS: 2,
  READ_POLICY: 2,
  OPEN_FILE: 2,
  FILE_STATUS: 2,
  DOWNLOAD_URL: 2,
  FIND_SUBJECT: 2,
  EXPORT_SUBJECT: 2,
  UPDATE: 3,
  ROTATE_KEYS: 3,
  ROTATE_LOOKUPS: 3,
  CHANGE_SCHEMA: 3,
  REWRAP_KEYS: 3,
  DELETE: 4,
  DELETE_FILE: 4,
  REVOKE_CREDENTIAL: 4,
  DESTROY_KEY: 4,
  FORGET: 4,
}
const ACTIVITY_NAMES = { 1: 'Create', 2: 'Read', 3: 'Update', 4: 'Delete', 99: 'Other' } as const

/** Severity by outcome: a refusal is for a person to look at, a failure of the vault more so. */
function severityOf(code: number) {
  if (code < 400) return { severity_id: 1, severity: 'Informational' }
  if (code >= 500) return { severity_id: 4, severity: 'High' }
  return code === 401 ? { severity_id: 3, severity: 'Medium' } : { severity_id: 2, severity: 'Low' }
}

/**
 * Returns an event as OCSF has it. `raw_data` is the text whose digest the attestation has, so that `{"digest":…,"event":…}` of both is the line that
 * the verifier reads: the fingerprint is of that text, after a zero byte (RFC 9162), and not of this object.
 */
export function toOcsf({ digest, text, event }: SealedEvent, { event: listed }: FollowedEvent) {
  const { context, position, vaultID } = event
  const activity = ACTIVITIES[event.action] ?? 99
  const isSuccess = event.code < 400
  return {
    category_uid: 6,
    category_name: 'Application Activity',
    class_uid: CLASS,
    class_name: 'API Activity',
    activity_id: activity,
    activity_name: activity === 99 ? event.action : ACTIVITY_NAMES[activity],
    type_uid: CLASS * 100 + activity,
    type_name: `API Activity: ${ACTIVITY_NAMES[activity]}`,
    time: Date.parse(event.timestamp),
    ...severityOf(event.code),
    status_id: isSuccess ? 1 : 2,
    status: isSuccess ? 'Success' : 'Failure',
    status_code: String(event.code),
    ...(event.message === '' ? {} : { status_detail: event.message }),
    metadata: {
      version: '1.9.0',
      product: { name: 'strongroom', vendor_name: 'strongroom', version: VERSION },
      profiles: ['record_integrity', 'trace'],
      uid: uidOf(vaultID, position.chain, position.sequence),
      original_event_uid: event.changeID,
      original_time: event.timestamp,
      correlation_uid: context.requestID,
      sequence: position.sequence,
      log_name: 'audit',
      tenant_uid: event.accountID,
    },
    actor: {
      user: {
        uid: context.actor,
        ...(context.actorType === 'USER' ? { type_id: 1, type: 'User' } : { type_id: 4, type: 'Service' }),
        ...(context.keyID === undefined ? {} : { credential_uid: context.keyID }),
      },
      ...(context.sessionID === undefined ? {} : { session: { uid: context.sessionID } }),
    },
    api: {
      operation: event.action,
      service: { name: 'strongroom', uid: vaultID },
      request: { uid: context.requestID },
      response: { code: event.code, ...(event.message === '' ? {} : { message: event.message }) },
    },
    src_endpoint: context.ipAddress === '' ? { name: context.accessType } : { ip: context.ipAddress },
    resources: resourcesOf(listed),
    trace: { uid: context.traceID },
    attestation: {
      uid: event.changeID,
      authority_uid: vaultID,
      chain_uid: `${vaultID}/${position.chain}`,
      fingerprint: fingerprintOf(digest),
      ...(position.previous === '' ? {} : { prev_event: previousOf(vaultID, position) }),
    },
    raw_data: text,
    unmapped: {
      access_type: context.accessType,
      auth_mode: context.authMode,
      ...(context.origin === undefined ? {} : { origin: context.origin }),
      ...(context.userEmail === undefined ? {} : { user_email: context.userEmail }),
      ...(context.clientTraceID === undefined ? {} : { client_trace_id: context.clientTraceID }),
    },
  }
}

function previousOf(vaultID: string, { chain, sequence, previous }: SealedEvent['event']['position']) {
  return { uid: uidOf(vaultID, chain, sequence - 1), fingerprint: fingerprintOf(previous) }
}

function uidOf(vaultID: string, chain: number, sequence: number): string {
  return `${vaultID}/${chain}/${sequence}`
}

function fingerprintOf(value: string) {
  return { algorithm_id: 3, algorithm: 'SHA-256', value }
}
