/** Every example of the API description, sent over a real socket: the response is the one that the example shows, and an unknown member of its query is refused. */
import { describe, expect, it } from 'vitest'
import { createServiceAccount } from '../../../src/http/index.ts'
import { parseOptions } from '../../../src/http/options.ts'
import type { Route } from '../../../src/http/router/route.ts'
import { EXAMPLE, EXAMPLE_CONTENT } from '../../../src/http/routes/examples.ts'
import { createRoutes } from '../../../src/http/routes/routes.ts'
import type { AskOptions } from '../../support/http/ask.ts'
import { assertionClaims, signClaims } from '../../support/http/client-jwts.ts'
import { EXAMPLE_FILE, type ServedExamples, serveExamples } from '../../support/http/example-vault.ts'
import { multipart } from '../../support/http/multipart.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const ROUTES = createRoutes(parseOptions({ vaults: [], authenticate: [] }))

describe('the example of', () => {
  it.each(
    ROUTES.filter(({ example }) => example !== undefined).map((route) => [`${route.method} ${route.path}`, route] as const),
  )('%s is answered as it says, and refused with a member of the query that the route does not have', async (_name, route) => {
    const served = await serveExamples(tableOf(route))
    try {
      const refused = await send(served, route, 'unknown=1')
      expect(refused.json.error).toMatchObject({ http_code: 400, grpc_code: 3, message: expect.stringMatching(UNKNOWN_MEMBER) })
      const { status, text, json, bytes } = await send(served, route)
      expect(status, text).toBe(200)
      if (route.responseType === 'application/x-ndjson')
        return expect(JSON.parse(text.trim().split('\n').at(-1) ?? '')).toMatchObject({ result: { ok: true } })
      if (route.responseType !== undefined) return expect(bytes).toEqual(EXAMPLE_FILE)
      expect(outline(JSON.parse(served.toExample(JSON.stringify(json))))).toEqual(outline(route.example?.response))
    } finally {
      await served.close()
    }
  })
})

it('the description is refused with a member of the query', async () => {
  const served = await serveExamples(EXAMPLE.table)
  for (const path of ['/openapi.json', '/reference']) {
    const { json } = await served.ask('GET', `${path}?unknown`, { credential: null })
    expect(json.error).toMatchObject({ http_code: 400, message: expect.stringMatching(UNKNOWN_MEMBER) })
  }
  await served.close()
})

const UNKNOWN_MEMBER = /failed\. Member \d of the query string is unknown\. (Use only .+|This route has none)\.$/

/** Returns the table of a route: the one of the examples, or the legacy table in its path. */
function tableOf({ group, path }: Route): string {
  return group === 'Legacy records' ? (path.split('/')[4] ?? '') : EXAMPLE.table
}

async function send(served: ServedExamples, { method, path, example = {}, bodyType, isPublic }: Route, more = '') {
  const { params = {} } = example
  const query = [example.query ?? '', more].filter((part) => part !== '').join('&')
  const values: Readonly<Record<string, string>> = { ...params, vaultID: EXAMPLE.vaultID }
  const filled = path.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(served.toReal(values[name] ?? '')))
  const options = { ...(await bodyOf(served, example.body, bodyType)), ...(isPublic === true ? { credential: null } : {}) }
  return served.ask(method, query === '' ? filled : `${filled}?${served.toReal(query)}`, options)
}

/** Returns the body of a request: JSON, the parts of a multipart body, or the bytes of a file. */
async function bodyOf(served: ServedExamples, body: unknown, type: Route['bodyType']): Promise<AskOptions> {
  if (type === 'application/octet-stream') return { body: EXAMPLE_FILE }
  if (body === undefined) return {}
  const real: Readonly<Record<string, unknown>> = JSON.parse(await withAssertion(served, served.toReal(JSON.stringify(body))))
  if (type !== 'multipart/form-data') return { body: real }
  return multipart(
    ...Object.entries(real).map(([key, content]) =>
      content === EXAMPLE_CONTENT
        ? { key, content: EXAMPLE_FILE, fileName: EXAMPLE.photo.fileName }
        : { key, content: String(content) },
    ),
  )
}

/** Returns the text of a request to exchange an assertion, with one that a new service account signed. */
async function withAssertion({ vault, port }: ServedExamples, text: string): Promise<string> {
  if (!text.includes(EXAMPLE.assertion)) return text
  const tokenURI = `http://127.0.0.1:${port}/v1/auth/sa/oauth/token`
  const key = await createServiceAccount(vault.as(OWNER), { name: 'reports', roles: ['VAULT_VIEWER'], tokenURI })
  const assertion = await signClaims(key, { ...assertionClaims(key, Math.floor(Date.now() / 1000)), aud: tokenURI })
  return text.replace(EXAMPLE.assertion, assertion)
}

const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, 'an id'],
  [/^[0-9a-f]{32}$/, 'a trace id'],
  [/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/, 'a JWT'],
  [/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/, 'a time'],
  [/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}Z$/, 'a time in nanoseconds'],
  [/^https?:\/\/[^/]+\/v1\/files\/acme\/[\w-]+$/, 'an URL'],
]

/** Returns a body with what differs from run to run replaced by what it is: new ids, times, and hosts. */
function outline(value: unknown): unknown {
  if (typeof value === 'string') return VOLATILE.find(([pattern]) => pattern.test(value))?.[1] ?? value
  if (Array.isArray(value)) return value.map(outline)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, outline(member)]))
}
