/** The endpoint of audit events, as the specification has it. */
import { each, type Members, type SpecifiedEndpoint } from './specified-members.ts'

/** "Audit event". */
const EVENT_DATA = (path: string): Members => ({
  [path]: 'object',
  [`${path}.content`]: 'string',
  [`${path}.identifiedFields`]: 'object',
  [`${path}.identifiedFields.counts`]: 'integer',
  [`${path}.identifiedFields.fields`]: 'array',
  [`${path}.identifiedFields.fields[]`]: 'string',
})

const EVENT: Members = {
  context: 'object',
  'context.changeID': 'string required',
  'context.requestID': 'string required',
  'context.traceID': 'string required',
  'context.sessionID': 'string deprecated',
  'context.actor': 'string required',
  'context.actorType': 'USER|SERVICE_ACCOUNT required',
  'context.accessType': 'API|SQL required',
  'context.ipAddress': 'string required',
  'context.origin': 'string',
  'context.authMode': 'IDP_JWT|SERVICE_ACCOUNT_JWT|PAT_JWT|API_KEY|STS required',
  'context.jwtID': 'string required',
  'context.bearerTokenContextID': 'string',
  'context.keyID': 'string',
  'context.subject': 'string',
  'context.clientTraceID': 'string max 128',
  response: 'object',
  'response.code': 'integer required',
  'response.message': 'string required',
  ...EVENT_DATA('response.data'),
  'response.timestamp': 'string required',
  'response.nestedResponse': 'array',
  'response.nestedResponse[]': 'object',
  'response.nestedResponse[].code': 'integer required',
  'response.nestedResponse[].message': 'string required',
  'response.nestedResponse[].identifier': 'string required',
  ...EVENT_DATA('response.nestedResponse[].data'),
}

/** "GET /v1/audit/events". */
export const AUDIT: SpecifiedEndpoint = {
  method: 'GET',
  path: '/v1/audit/events',
  query: {
    'filterOps.accountID': 'string required',
    'filterOps.parentAccountID': 'string',
    'filterOps.workspaceID': 'string',
    'filterOps.vaultID': 'string',
    'filterOps.resourceIDs': 'string',
    'filterOps.context.changeID': 'string',
    'filterOps.context.requestID': 'string',
    'filterOps.context.sessionID': 'string',
    'filterOps.context.actor': 'string',
    'filterOps.context.actorType': 'NONE|USER|GROUP|SERVICE_ACCOUNT|SQL_SERVICE_ACCOUNT',
    'filterOps.context.accessType': 'ACCESS_NONE|API|SQL|IDP_LOGIN',
    'filterOps.context.ipAddress': 'string',
    'filterOps.context.origin': 'string',
    'filterOps.context.authMode': 'AUTH_NONE|IDP_JWT|SERVICE_ACCOUNT_JWT|PAT_JWT|API_KEY|STS',
    'filterOps.context.jwtID': 'string',
    'filterOps.context.bearerTokenContextID': 'string',
    'filterOps.context.clientTraceID': 'string max 128',
    'filterOps.request.clientInfo.userEmail': 'string',
  },
  responses: {
    200: {
      ...each('event', EVENT),
      nextOps: 'object',
      'nextOps.timestamp': 'string',
      'nextOps.changeID': 'string',
    },
  },
  errors: [400, 401, 404, 500],
}
