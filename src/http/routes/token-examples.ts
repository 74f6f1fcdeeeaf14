/** The examples of the routes of tokens. */
import type { Names } from '../names.ts'
import type { RouteExample } from '../router/route.ts'
import { EXAMPLE } from './examples.ts'

const { id, table, emailToken, nameToken, fields, shown } = EXAMPLE

/** Detokenizes two tokens, each at a level of its own. */
export const DETOKENIZE_EXAMPLE: RouteExample = {
  body: { detokenizationParameters: [{ token: nameToken, redaction: 'PLAIN_TEXT' }, { token: emailToken }] },
  response: {
    records: [
      { token: nameToken, valueType: 'STRING', value: fields.name },
      { token: emailToken, valueType: 'STRING', value: shown.email },
    ],
  },
}

/** Finds the token of an email address. */
export const TOKENIZE_EXAMPLE: RouteExample = {
  body: { tokenizationParameters: [{ value: fields.email, table, column: 'email' }] },
  response: { records: [{ token: emailToken }] },
}

/** Returns the example of the route that finds records by their tokens. */
export function getByTokensExample({ id: idName }: Names): RouteExample {
  return {
    body: { tokens: [emailToken], redaction: 'plain_text' },
    response: {
      records: [{ fields: { [idName]: id, ...fields, photo: 'ann.png' }, token: emailToken, table_name: table, http_code: 200 }],
    },
  }
}

/** Looks up several tokens. */
export const LEGACY_TOKENS_EXAMPLE: RouteExample = {
  query: `token_ids=${emailToken}&token_ids=${nameToken}`,
  response: {
    records: [
      { token_id: emailToken, fields: { email: shown.email } },
      { token_id: nameToken, fields: { name: shown.name } },
    ],
  },
}

/** Looks up one token. */
export const LEGACY_TOKEN_EXAMPLE: RouteExample = {
  params: { ID: emailToken },
  query: 'redaction=PLAIN_TEXT',
  response: { token_id: emailToken, fields: { email: fields.email } },
}
