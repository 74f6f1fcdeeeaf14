/** Builds the OpenAPI 3.1 document of a handler from its table of routes, and states its limits. */
import type { RouterOptions } from '../options.ts'
import type { Route, RouteDescription } from '../router/route.ts'
import { describeRoute } from './describe-route.ts'
import { errorResponses, REQUEST_ID_HEADER } from './error-responses.ts'
import { createComponents } from './json-schema.ts'
import type { OpenApiDocument, OpenApiOperation, StatedLimit } from './openapi.ts'

/** What each group of routes is about, in the order of the document. */
const GROUPS: Readonly<Record<RouteDescription['group'], string>> = {
  Records: 'Reads, inserts, updates and deletes records of any table.',
  Batch: 'Many operations on records in one transaction.',
  Tokens: 'Tokens to values, and values to tokens.',
  Query: 'SELECT statements.',
  Files: 'Uploads, downloads, deletes and scan states of files.',
  Audit: 'Events of every operation.',
  Operations: 'Every operation of a session by its name, for the client of this package.',
  Credentials: 'Bearer tokens for service accounts.',
  'Legacy records': 'Routes of single tables, for older clients. They accept and return all that the routes of any table do.',
  'Legacy tokens': 'Tokens to values, for older clients.',
  Description: 'What this document and its page are served at.',
}

/** Returns the document, without the URL of its server: that depends on where a request finds it. */
export function createDocument(options: RouterOptions, routes: readonly Route[]): OpenApiDocument {
  const components = createComponents()
  const responses = errorResponses(components)
  const paths = pathsOf(routes.map((route) => [route, describeRoute(route, { options, components })] as const))
  const limits = statedLimits(options)
  return {
    openapi: '3.1.1',
    info: {
      title: 'Vault data API',
      version: '1.0.0',
      summary: 'Records, tokens, queries, files and audit events of data privacy vaults.',
      description: introductionOf(limits),
    },
    tags: Object.entries(GROUPS)
      .filter(([name]) => routes.some(({ group }) => group === name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: components.schemas(),
      responses,
      headers: { RequestID: REQUEST_ID_HEADER },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'Authorization: Bearer, and a credential that the vault accepts.',
        },
      },
    },
    'x-limits': limits,
  }
}

function pathsOf(operations: readonly (readonly [Route, OpenApiOperation])[]): OpenApiDocument['paths'] {
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const [{ path, method }, operation] of operations) {
    paths[path] ??= {}
    paths[path][method.toLowerCase()] = operation
  }
  return paths
}

const INTRODUCTION = [
  'Bodies are JSON in UTF-8, unless an operation says otherwise. A JSON body is also accepted with the content type application/x-www-form-urlencoded.',
  'Unknown members of a body and of a query are ignored; unknown columns of a record are refused.',
  'A list in a query is its member, repeated. A blank member is the same as an absent one.',
  'Every response has an x-request-id, and every failure the error envelope.',
]

function introductionOf(limits: readonly StatedLimit[]): string {
  const rows = limits.map(({ limit, value, unit, appliesTo }) => `| ${limit} | ${value} ${unit} | ${appliesTo} |`)
  return [...INTRODUCTION, ['| limit | value | applies to |', '|---|---|---|', ...rows].join('\n')].join('\n\n')
}

/** Returns the limits of a handler with these options. */
function statedLimits({ limits }: RouterOptions): StatedLimit[] {
  return [
    limit('Records per SQL query result', limits.maxQueryRecords, 'records', 'Query'),
    limit('Default page size', 25, 'records', 'bulk get'),
    limit('Maximum page size', limits.maxPageSize, 'records', 'bulk get'),
    limit('Default offset', 0, 'records', 'bulk get'),
    limit('Unique string column length', 2500, 'characters', 'insert, update'),
    limit('Download URL validity', 15, 'minutes', 'get, batch'),
    limit('Upload URL validity', 15, 'minutes', 'upload URLs'),
    limit('clientTraceID length', 128, 'characters', 'audit'),
    limit('Error message length', 1000, 'characters', 'error envelope'),
    limit('Error http_status length', 100, 'characters', 'error envelope'),
    limit('Error details', 25, 'entries', 'error envelope'),
    limit('Files per upload request', 1, 'files', 'uploads'),
    limit('JSON body length', limits.maxBodyBytes, 'bytes', 'every request with a JSON body'),
    limit('Credential length', 8192, 'characters', 'Authorization header'),
    limit('Default page of audit events', 25, 'events', 'audit'),
    limit('Maximum page of audit events', 100, 'events', 'audit'),
    limit('Token length', 256, 'characters', 'supplied tokens'),
    limit('Query length', 16_384, 'characters', 'Query'),
  ]
}

function limit(name: string, value: number, unit: string, appliesTo: string): StatedLimit {
  return { limit: name, value, unit, appliesTo }
}
