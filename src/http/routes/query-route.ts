/** The route of queries. Source: specification, "Query", "Legacy query route". */
import * as z from 'zod'
import type { RouterOptions } from '../options.ts'
import { operationRoute, type Route } from '../router/route.ts'
import { EXAMPLE } from './examples.ts'
import { SHOWN_BY_COLUMN, VAULT_MEMBER } from './shapes.ts'

const EXAMPLE_QUERY = {
  body: { query: "SELECT name, REDACTION(email, 'PLAIN_TEXT') FROM customers WHERE country = 'SE' LIMIT 1" },
  response: { records: [{ fields: { name: EXAMPLE.shown.name, email: EXAMPLE.fields.email } }] },
}

/** Returns the route of queries. */
export function queryRoute({ names, limits }: RouterOptions): Route {
  return operationRoute({
    method: 'POST',
    path: '/v1/vaults/{vaultID}/query',
    name: 'query',
    example: EXAMPLE_QUERY,
    group: 'Query',
    summary: `Runs a SELECT, and returns at most ${limits.maxQueryRecords} records.`,
    operation: 'query',
    verb: 'Query',
    statuses: [400, 401, 422, 500],
    body: z.object({ query: z.string().describe('A SELECT statement.'), vaultID: VAULT_MEMBER }),
    response: z.object({
      records: z
        .array(
          z
            .object({
              fields: SHOWN_BY_COLUMN.describe('Values by column, alias or function.'),
              tokens: SHOWN_BY_COLUMN.optional().describe('Absent: a query returns no tokens.'),
            })
            .meta({ title: 'QueryRecord', description: 'A record of a result.' }),
        )
        .max(limits.maxQueryRecords)
        .describe(`The result, of at most ${limits.maxQueryRecords} records. OFFSET gives the next ones.`),
    }),
    read: ({ body: { query }, call }) => ({
      query,
      options: { idName: names.id, signal: call.request.signal(), maxRecords: limits.maxQueryRecords },
    }),
    write: ({ records }) => ({ records: records.map(({ fields }) => ({ fields })) }),
  })
}
