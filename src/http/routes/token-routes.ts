/** Routes of tokens. Source: specification, "Records by token", "Tokens", "Legacy token routes". */
import * as z from 'zod'
import { COLUMN_TYPES, type OperationInput, type OperationResult, STATUSES, VaultError } from '../../index.ts'
import { isSignedToken, resolveSignedToken } from '../credentials/data-tokens.ts'
import type { RouterOptions } from '../options.ts'
import { nextTurn } from '../router/json-response.ts'
import { list } from '../router/request-shape.ts'
import { operationRoute, type Route, type VaultAccess } from '../router/route.ts'
import {
  DETOKENIZE_EXAMPLE,
  getByTokensExample,
  LEGACY_TOKEN_EXAMPLE,
  LEGACY_TOKENS_EXAMPLE,
  TOKENIZE_EXAMPLE,
} from './examples.ts'
import { flagMember, REDACTION_MEMBER, REDACTION_QUERY, SHOWN_BY_COLUMN, VAULT_MEMBER } from './shapes.ts'

const VALUE_TYPES = [...COLUMN_TYPES, 'NONE'] as const

type ValueType = (typeof VALUE_TYPES)[number]

/** Returns the routes of tokens. */
export function tokenRoutes(options: RouterOptions): Route[] {
  return [detokenizeRoute, tokenizeRoute, getByTokensRoute(options), legacyTokensRoute, legacyTokenRoute]
}

const detokenizeRoute = operationRoute({
  method: 'POST',
  path: '/v1/vaults/{vaultID}/detokenize',
  name: 'detokenize',
  example: DETOKENIZE_EXAMPLE,
  group: 'Tokens',
  summary: 'Returns the values of tokens.',
  operation: 'detokenize',
  verb: 'Detokenize',
  statuses: [400, 401, 404, 422, 500],
  wireNames: { tokens: 'detokenizationParameters' },
  body: z.object({
    detokenizationParameters: z
      .array(z.object({ token: z.string().describe('A token, or a signed token.'), redaction: REDACTION_MEMBER }))
      .describe('The tokens, one or more.'),
    downloadURL: flagMember('Changes nothing: columns that hold files have no tokens.'),
    continueOnError: flagMember('Return the values of the other tokens where one is not found.'),
    vaultID: VAULT_MEMBER,
  }),
  response: z.object({
    records: z
      .array(
        z
          .object({
            token: z.string().describe('The token of the request.'),
            valueType: z.enum(VALUE_TYPES).describe('Type of the column; NONE with an error.'),
            value: z.string().describe('The value as text, whatever its type. Blank with an error.'),
            error: z.string().optional().describe('Why there is no value.'),
          })
          .meta({ title: 'DetokenizedRecord', description: 'The value of a token.' }),
      )
      .describe('In the order of the request.'),
  }),
  read({ body: { detokenizationParameters: given, continueOnError = false }, call }) {
    const inputOf = (bare: readonly string[]): OperationInput<'detokenize'> => ({
      records: given.map(({ token, redaction = 'DEFAULT' }, index) => ({ token: bare[index] ?? token, redaction })),
      options: { continueOnError },
    })
    const bare = bareTokens(
      call,
      given.map(({ token }) => token),
    )
    return bare instanceof Promise ? bare.then(inputOf) : inputOf(bare)
  },
  write: ({ records }, { body }) => ({
    records: records.map(({ token: bare, valueType, value, error }, index) => ({
      token: body.detokenizationParameters[index]?.token ?? bare,
      // Columns that hold files have no tokens.
      valueType: valueType as ValueType,
      value,
      ...(error === undefined ? {} : { error }),
    })),
  }),
})

const tokenizeRoute = operationRoute({
  method: 'POST',
  path: '/v1/vaults/{vaultID}/tokenize',
  name: 'tokenize',
  example: TOKENIZE_EXAMPLE,
  group: 'Tokens',
  summary: 'Returns the deterministic tokens of values that a record has.',
  operation: 'tokenize',
  verb: 'Tokenize',
  statuses: [400, 401, 404, 422, 500],
  wireNames: { values: 'tokenizationParameters' },
  body: z.object({
    tokenizationParameters: z
      .array(
        z.object({
          value: z.string().describe('The value as text, whatever its type.'),
          table: z.string().optional().describe('Name of the table. Together with column.'),
          column: z.string().optional().describe('Name of a column with deterministic tokens.'),
          columnGroup: z.string().optional().describe('Name of a column group, in place of table and column.'),
        }),
      )
      .describe('The values, one or more.'),
    vaultID: VAULT_MEMBER,
  }),
  response: z.object({
    records: z
      .array(z.object({ token: z.string().nullable().describe('The token of the value. Null: it is stored without one.') }))
      .describe('In the order of the request.'),
  }),
  // The vault checks that each names a column or a group.
  read: ({ body }) => ({ records: body.tokenizationParameters as OperationInput<'tokenize'>['records'], areTexts: true }),
  write: ({ records }) => ({ records: records.map(({ token }) => ({ token })) }),
})

/** The levels by the words of this route, which has them in lower case. */
const LEVELS = { redacted: 'REDACTED', masked: 'MASKED', plain_text: 'PLAIN_TEXT' } as const

function getByTokensRoute({ names }: RouterOptions): Route {
  return operationRoute({
    method: 'POST',
    path: '/v2/vaults/{vaultID}/records/get_by_tokens',
    name: 'getByTokens',
    example: getByTokensExample(names),
    group: 'Records',
    summary: 'Returns the record of each token.',
    operation: 'getByTokens',
    verb: 'Get by tokens',
    statuses: [400, 401, 404, 422, 500],
    body: z.object({
      tokens: z.array(z.string()).describe('The tokens, one or more.'),
      redaction: z
        .enum(['redacted', 'masked', 'plain_text'])
        .optional()
        .describe(
          'The level of the values; the lower one that the policy allows is taken. Absent: the own level of each column.',
        ),
      vaultID: VAULT_MEMBER,
    }),
    response: z.object({
      records: z
        .array(
          z
            .object({
              fields: SHOWN_BY_COLUMN.describe('Values by column, and the record id. Empty with an error.'),
              token: z.string().describe('The token of the request.'),
              table_name: z.string().optional().describe('Name of the table.'),
              error: z.string().optional().describe('Why there is no record.'),
              http_code: z.int().describe('200, or the status of the error.'),
            })
            .meta({ title: 'TokenRecord', description: 'The record of a token.' }),
        )
        .describe('In the order of the request.'),
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

const LEGACY_TOKEN = z
  .object({ token_id: z.string().describe('The token.'), fields: SHOWN_BY_COLUMN.describe('The value by its column.') })
  .meta({ title: 'LegacyToken', description: 'The column and the value of a token.' })

/** The value of each token alone. These routes have no error for one token of several. */
const LEGACY = { columnOnly: true, onMissing: 'throw' } as const

const legacyTokensRoute = operationRoute({
  method: 'GET',
  path: '/v1/vaults/{vaultID}/tokens',
  name: 'getTokens',
  example: LEGACY_TOKENS_EXAMPLE,
  group: 'Legacy tokens',
  summary: 'Returns the column and the value of each token.',
  operation: 'getByTokens',
  verb: 'Get tokens',
  statuses: [400, 401, 404, 500],
  wireNames: { tokens: 'token_ids' },
  query: { token_ids: list('The tokens.'), redaction: REDACTION_QUERY },
  response: z.object({ records: z.array(LEGACY_TOKEN).describe('In the order of the request.') }),
  read: ({ query: { token_ids: tokens = [], redaction = 'DEFAULT' } }) => ({ tokens, options: { redaction, ...LEGACY } }),
  write: ({ records }) => ({ records: records.map((record) => toLegacyToken(record)) }),
})

const legacyTokenRoute = operationRoute({
  method: 'GET',
  path: '/v1/vaults/{vaultID}/tokens/{ID}',
  name: 'getToken',
  example: LEGACY_TOKEN_EXAMPLE,
  parameters: { ID: 'The token.' },
  group: 'Legacy tokens',
  summary: 'Returns the column and the value of a token.',
  operation: 'getByTokens',
  verb: 'Get token',
  statuses: [400, 401, 404, 500],
  query: { redaction: REDACTION_QUERY },
  response: LEGACY_TOKEN,
  read: ({ params, query: { redaction = 'DEFAULT' } }) => ({
    tokens: [params.ID ?? ''],
    options: { redaction, ...LEGACY },
  }),
  write: ({ records: [record] }) => toLegacyToken(record),
})

type TokenRecord = OperationResult<'getByTokens'>['records'][number]

function toLegacyToken(record: TokenRecord | undefined): z.input<typeof LEGACY_TOKEN> {
  return { token_id: record?.token ?? '', fields: { ...record?.fields } }
}

/** Maximum number of signed tokens of a request: each signature is verified before the vault counts the tokens. */
const MAX_SIGNED_TOKENS = 1000
/** Signatures that are verified together. Other requests have their turn after them: a thousand take longer than they can wait. */
const TOGETHER = 20

/**
 * Returns the tokens as the vault knows them. One that is signed, and not valid for this caller, becomes text that no vault gives as a token.
 * Throws `limit_exceeded` for over 1,000 signed tokens. Without a signed one there is no promise.
 */
export function bareTokens(access: Access, tokens: readonly string[]): Promise<readonly string[]> | readonly string[] {
  return tokens.some(isSignedToken) ? resolveAll(access, tokens) : tokens
}

type Access = Pick<VaultAccess, 'vault' | 'caller'>

async function resolveAll(access: Access, tokens: readonly string[]): Promise<string[]> {
  const bare = [...tokens]
  const signed = [...tokens.entries()].filter(([, token]) => isSignedToken(token))
  if (signed.length > MAX_SIGNED_TOKENS)
    throw new VaultError('limit_exceeded', `More than ${MAX_SIGNED_TOKENS} signed tokens. Split the request.`)
  for (let start = 0; start < signed.length; start += TOGETHER) {
    if (start > 0) await nextTurn()
    const slice = signed.slice(start, start + TOGETHER)
    await Promise.all(
      slice.map(async ([index, token]) => {
        bare[index] = (await resolveSignedToken(access.vault, token, { caller: access.caller })) ?? ''
      }),
    )
  }
  return bare
}
