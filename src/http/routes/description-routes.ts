/** The routes that describe the others: the OpenAPI document for programs, and the reference page for people. */
import * as z from 'zod'
import { createDocument } from '../description/openapi-document.ts'
import { referencePage } from '../description/reference-page.ts'
import { REFERENCE_POLICY } from '../description/reference-style.ts'
import type { RouterOptions } from '../options.ts'
import { readQuery } from '../router/request-shape.ts'
import type { Call, OpenRoute, Route } from '../router/route.ts'

/** Returns the routes that describe a table of routes, which they are part of. Each makes its text once, when it is first asked for. */
export function descriptionRoutes(options: RouterOptions, routes: () => readonly Route[]): OpenRoute[] {
  const document = once(() => createDocument(options, routes()))
  const json = once(() => JSON.stringify(document()))
  const page = once(() => referencePage(document()))
  return [
    {
      ...COMMON,
      path: '/openapi.json',
      name: 'getOpenApiDocument',
      summary: 'Returns the OpenAPI 3.1 document of these routes.',
      response: z.object({}).catchall(z.unknown()).describe('The document.'),
      async handle(call) {
        readQuery({}, call.query())
        return { status: 200, headers: JSON_TYPE, body: withServer(json(), call) }
      },
    },
    {
      ...COMMON,
      path: '/reference',
      name: 'getReferencePage',
      summary: 'Returns the reference page of these routes, for people.',
      response: undefined,
      responseType: 'text/html',
      async handle(call) {
        readQuery({}, call.query())
        return { status: 200, headers: PAGE_HEADERS, body: page() }
      },
    },
  ]
}

const COMMON = {
  access: 'open',
  method: 'GET',
  group: 'Description',
  operation: undefined,
  verb: 'Describe',
  statuses: [400, 500],
  isOwn: true,
  isPublic: true,
} as const

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' } as const

const PAGE_HEADERS = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': REFERENCE_POLICY } as const

/** Returns the document with the URL under which the request found it: a framework can have mounted the handler in several places. */
function withServer(json: string, { options, request }: Call): string {
  const path = options.basePath === '' ? request.mountPath : options.basePath
  const servers = [{ url: `${options.origin ?? ''}${path}` || '/' }]
  return `{"servers":${JSON.stringify(servers)},${json.slice(1)}`
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
