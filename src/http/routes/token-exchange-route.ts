/** The route at which service accounts exchange assertions for bearer tokens. It is not in the specification; existing clients call it. */
import * as z from 'zod'
import { VaultError } from '../../index.ts'
import { decodeUtf8 } from '../body/body-bytes.ts'
import { exchangeAssertion } from '../credentials/exchange-assertion.ts'
import { jsonResponse } from '../router/json-response.ts'
import { readQuery } from '../router/request-shape.ts'
import type { OpenCall, OpenRoute } from '../router/route.ts'
import { baseUrlOf } from '../router/urls.ts'
import { EXAMPLE } from './examples.ts'

const PATH = '/v1/auth/sa/oauth/token'
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Maximum length of the body in bytes: an assertion is at most 8,192 characters. */
const MAX_BYTES = 64 * 1024

/** The route of token requests. Its exchange records one event. */
export const tokenExchangeRoute: OpenRoute = {
  access: 'open',
  method: 'POST',
  path: PATH,
  name: 'exchangeAssertion',
  example: {
    body: { grant_type: GRANT_TYPE, assertion: EXAMPLE.assertion, scope: 'role:VAULT_VIEWER' },
    response: { accessToken: EXAMPLE.accessToken, tokenType: 'Bearer' },
  },
  group: 'Credentials',
  summary: 'Exchanges the assertion of a service account for a bearer token of at most 60 minutes.',
  isOwn: true,
  isPublic: true,
  operation: undefined,
  verb: 'Token request',
  statuses: [400, 401, 500],
  body: z.object({
    grant_type: z.literal(GRANT_TYPE).describe('The grant of RFC 7523.'),
    assertion: z
      .string()
      .max(8192)
      .describe(
        'A JWT that the service account signed for the URL of this route. With a `jti` it serves once, else until it expires.',
      ),
    scope: z.string().optional().describe('`role:<name>`, separated by spaces: fewer roles than the service account has.'),
  }),
  response: z.object({
    accessToken: z.string().describe('The bearer token.'),
    tokenType: z.literal('Bearer').describe('Always the same.'),
  }),
  async handle(call) {
    const { scope, options } = call
    readQuery({}, call.query())
    const tokenURI = options.tokenURI ?? `${baseUrlOf(call)}${PATH}`
    const exchange = { vaultOf: (id: string) => scope.open(id), tokenURI, request: scope.context }
    return jsonResponse(200, await exchangeAssertion(exchange, await bodyOf(call)))
  },
}

/** Returns the body as text, which can be JSON or a form, or what a parser of the host made of it. Bytes that a platform has read are text too. */
async function bodyOf({ request: { body } }: OpenCall): Promise<unknown> {
  if (body === undefined) throw new VaultError('invalid_request', 'The body is missing. Send a token request.')
  if (body.parsed !== undefined && !(body.parsed.value instanceof Uint8Array)) return body.parsed.value
  const text = decodeUtf8(await body.read(MAX_BYTES))
  if (text === undefined) throw new VaultError('invalid_request', 'The body must be UTF-8.')
  return text
}
