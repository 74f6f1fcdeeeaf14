/** Routes of tokens. Source: specification, "Records by token", "Tokens", "Legacy token routes". */
import { z } from 'zod'
import { type OperationInput, type OperationResult, STATUSES, VaultError } from '../../index.ts'
import { isSignedToken, resolveSignedToken } from '../credentials/data-tokens.ts'
import type { RouterOptions } from '../options.ts'
import { choice, list } from '../router/query-members.ts'
import { type AuthenticatedCall, operationRoute, type Route } from '../router/route.ts'
import { REDACTION } from './shapes.ts'

const VALUE_TYPES = ['STRING', 'INTEGER', 'FLOAT', 'BOOL', 'DATETIME', 'JSON', 'ARRAY', 'DATE', 'TIME', 'NONE'] as const

type ValueType = (typeof VALUE_TYPES)[number]

/** Returns the routes of tokens. */
export function tokenRoutes(options: RouterOptions): Route[] {
  return [detokenizeRoute, tokenizeRoute, getByTokensRoute(options), legacyTokensRoute, legacyTokenRoute]
}

const detokenizeRoute = operationRoute({
  method: 'POST',
  path: '/v1/vaults/{vaultID}/detokenize',
  group: 'Tokens',
  summary: 'Returns the values of tokens.',
  operation: 'detokenize',
  verb: 'Detokenize',
  statuses: [400, 401, 404, 422, 500],
  wireNames: { tokens: 'detokenizationParameters' },
  body: z.object({
    detokenizationParameters: z.array(z.object({ token: z.string(), redaction: z.enum(REDACTION).optional() })),
    downloadURL: z.boolean().optional(),
    continueOnError: z.boolean().optional(),
    vaultID: z.string().optional(),
  }),
  response: z.object({
    records: z.array(
      z.object({ token: z.string(), valueType: z.enum(VALUE_TYPES), value: z.string(), error: z.string().optional() }),
    ),
  }),
  async read({ body: { detokenizationParameters: given, downloadURL = false, continueOnError = false }, call }) {
    if (given.filter(({ token }) => isSignedToken(token)).length > MAX_SIGNED_TOKENS)
      throw new VaultError('limit_exceeded', `More than ${MAX_SIGNED_TOKENS} signed tokens. Split the request.`)
    const records = await Promise.all(
      given.map(async ({ token, redaction = 'DEFAULT' }) => ({ token: await bareToken(call, token), redaction })),
    )
    return { records, options: { downloadURL, continueOnError } }
  },
  write: ({ records }, { body }) => ({
    records: records.map(({ token: bare, valueType, value, error }, index) => ({
      token: body.detokenizationParameters[index]?.token ?? bare,
      // Columns that hold files have no tokens.
      ...{ valueType: valueType as ValueType, value },
      ...(error === undefined ? {} : { error }),
    })),
  }),
})

/** Maximum number of signed tokens of a request: each signature is verified before the vault counts the tokens. */
const MAX_SIGNED_TOKENS = 1000

/** Returns a token as the vault knows it. One that is signed, and not valid for this caller, becomes text that no vault gives as a token. */
async function bareToken({ vault, caller }: AuthenticatedCall, token: string): Promise<string> {
  return isSignedToken(token) ? ((await resolveSignedToken(vault, token, { caller })) ?? '') : token
}

const tokenizeRoute = operationRoute({
  method: 'POST',
  path: '/v1/vaults/{vaultID}/tokenize',
  group: 'Tokens',
  summary: 'Returns the deterministic tokens of values that a record has.',
  operation: 'tokenize',
  verb: 'Tokenize',
  statuses: [400, 401, 404, 422, 500],
  wireNames: { values: 'tokenizationParameters' },
  body: z.object({
    tokenizationParameters: z.array(
      z.object({
        value: z.string(),
        table: z.string().optional(),
        column: z.string().optional(),
        columnGroup: z.string().optional(),
      }),
    ),
    vaultID: z.string().optional(),
  }),
  response: z.object({ records: z.array(z.object({ token: z.string() })) }),
  // The vault checks that each names a column or a group.
  read: ({ body }) => ({ records: body.tokenizationParameters as OperationInput<'tokenize'>['records'] }),
  write: ({ records }) => ({ records: records.map(({ token }) => ({ token })) }),
})

/** The levels by the words of this route, which has them in lower case. */
const LEVELS = { redacted: 'REDACTED', masked: 'MASKED', plain_text: 'PLAIN_TEXT' } as const

function getByTokensRoute({ names }: RouterOptions): Route {
  return operationRoute({
    method: 'POST',
    path: '/v2/vaults/{vaultID}/records/get_by_tokens',
    group: 'Records',
    summary: 'Returns the record of each token.',
    operation: 'getByTokens',
    verb: 'Get by tokens',
    statuses: [400, 401, 404, 422, 500],
    body: z.object({
      tokens: z.array(z.string()),
      redaction: z.enum(['redacted', 'masked', 'plain_text']).optional(),
      vaultID: z.string().optional(),
    }),
    response: z.object({
      records: z.array(
        z.object({
          fields: z.record(z.string(), z.unknown()),
          token: z.string(),
          table_name: z.string().optional(),
          error: z.string().optional(),
          http_code: z.int(),
        }),
      ),
    }),
    read: ({ body: { tokens, redaction } }) => ({
      tokens,
      options: redaction === undefined ? {} : { redaction: LEVELS[redaction] },
    }),
    write: ({ records }) => ({
      records: records.map(({ token, id, table, fields, error, code = 'not_found' }) => ({
        fields: id === undefined ? { ...fields } : { [names.id]: id, ...fields },
        token,
        ...(table === undefined ? {} : { table_name: table }),
        ...(error === undefined ? { http_code: 200 } : { error, http_code: STATUSES[code].http }),
      })),
    }),
  })
}

const LEGACY_TOKEN = z.object({ token_id: z.string(), fields: z.record(z.string(), z.unknown()) })
const REDACTION_MEMBER = { redaction: choice('The level at which values are returned. Default DEFAULT.', REDACTION) }

const legacyTokensRoute = operationRoute({
  method: 'GET',
  path: '/v1/vaults/{vaultID}/tokens',
  group: 'Legacy tokens',
  summary: 'Returns the column and the value of each token.',
  operation: 'getByTokens',
  verb: 'Get tokens',
  statuses: [400, 401, 404, 500],
  wireNames: { tokens: 'token_ids' },
  query: { token_ids: list('The tokens.'), ...REDACTION_MEMBER },
  response: z.object({ records: z.array(LEGACY_TOKEN) }),
  read: ({ query: { token_ids: tokens = [], redaction = 'DEFAULT' } }) => ({ tokens, options: { redaction, columnOnly: true } }),
  write: ({ records }) => ({ records: records.map(toLegacyToken) }),
})

const legacyTokenRoute = operationRoute({
  method: 'GET',
  path: '/v1/vaults/{vaultID}/tokens/{ID}',
  group: 'Legacy tokens',
  summary: 'Returns the column and the value of a token.',
  operation: 'getByTokens',
  verb: 'Get token',
  statuses: [400, 401, 404, 500],
  query: REDACTION_MEMBER,
  response: LEGACY_TOKEN,
  read: ({ params, query: { redaction = 'DEFAULT' } }) => ({
    tokens: [params.ID ?? ''],
    options: { redaction, columnOnly: true },
  }),
  write: ({ records: [record] }) => toLegacyToken(record),
})

type TokenRecord = OperationResult<'getByTokens'>['records'][number]

/** Returns the value of a token. Throws `not_found`: these routes have no error for one token. */
function toLegacyToken(record: TokenRecord | undefined, index = 0): z.input<typeof LEGACY_TOKEN> {
  if (record === undefined || record.error !== undefined)
    throw new VaultError(record?.code ?? 'not_found', record?.error ?? 'Token Not Found', { index })
  return { token_id: record.token, fields: { ...record.fields } }
}
