/** The route of queries. Source: specification, "Query", "Legacy query route". */
import { z } from 'zod'
import type { RouterOptions } from '../options.ts'
import { operationRoute, type Route } from '../router/route.ts'

/** Returns the route of queries. */
export function queryRoute({ names }: RouterOptions): Route {
  return operationRoute({
    method: 'POST',
    path: '/v1/vaults/{vaultID}/query',
    group: 'Query',
    summary: 'Runs a SELECT, and returns at most 25 records.',
    operation: 'query',
    verb: 'Query',
    statuses: [400, 401, 422, 500],
    body: z.object({ query: z.string(), vaultID: z.string().optional() }),
    response: z.object({ records: z.array(z.object({ fields: z.record(z.string(), z.unknown()) })) }),
    read: ({ body: { query }, call }) => ({ query, options: { idName: names.id, signal: call.request.signal() } }),
    write: ({ records }) => ({ records: records.map(({ fields }) => ({ fields })) }),
  })
}
