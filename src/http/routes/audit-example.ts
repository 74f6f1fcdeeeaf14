/** The example of the route of audit events. */
import type { RouteExample } from '../router/route.ts'
import { EXAMPLE } from './examples.ts'

/** The read of a record, as its event is listed. */
export const AUDIT_EXAMPLE: RouteExample = {
  query: 'filterOps.accountID=acme&filterOps.vaultID=acme&filterOps.actionType=GET&limit=1',
  response: {
    event: [
      {
        context: {
          changeID: '3b1e5f70-92c4-4d8a-8e6b-0f7a1c2d9e54',
          requestID: '9a4c7e12-5b60-4f3d-a8e1-6d2b0c9f7e83',
          traceID: '5f8d0a3c7e194b6285d1e0c94a7b3f26',
          actor: 'owner@acme.example',
          actorType: 'USER',
          accessType: 'API',
          ipAddress: '127.0.0.1',
          authMode: 'API_KEY',
          jwtID: '',
          keyID: 'test',
        },
        request: {
          actionType: 'GET',
          resourceType: 'RECORD',
          vaultID: EXAMPLE.vaultID,
          resources: ['TABLE/customers', `RECORD/${EXAMPLE.id}`],
        },
        response: {
          code: 200,
          message: '',
          timestamp: EXAMPLE.preciseTime,
          data: { content: '{"table":"customers","id":"*REDACTED*"}' },
        },
      },
    ],
    nextOps: { timestamp: EXAMPLE.preciseTime, changeID: '3b1e5f70-92c4-4d8a-8e6b-0f7a1c2d9e54' },
  },
}
