/** Records by tokens: for each token the record its value stands in, shown at the level asked for. */

import { mintIds } from '../barrier/record-ids.ts'
import type { Fields } from '../barrier/reveal.ts'
import { revealRows } from '../barrier/reveal.ts'
import { VaultError } from '../errors.ts'
import { columnViews } from '../policy/column-views.ts'
import { assertAllowed } from '../policy/decide.ts'
import type { AskedLevel } from '../redaction/levels.ts'
import { isAskedLevel } from '../redaction/levels.ts'
import type { Resolution } from '../stores/token-leads.ts'
import { resolveTokens } from '../stores/token-leads.ts'
import type { OperationContext } from './context.ts'
import { assertOptions, listOf, tokenTextOf } from './context.ts'

const VERB = 'Get by tokens'

/** Options of a read by tokens. */
export interface GetByTokensOptions {
  /** Level asked for; the answer is at the lower of this and what the caller may see. Default DEFAULT: each column's own. */
  readonly redaction?: AskedLevel
}

/** The record one token stands in. A token that stands in none has an error and no fields. */
export interface TokenRecord {
  readonly token: string
  readonly id?: string
  readonly table?: string
  readonly fields: Fields
  readonly error?: string
}

/** One item for each token, in order; throws `invalid_request` and `forbidden` alone. Values that live apart from any record are had by detokenize alone. */
export async function getByTokens(
  context: OperationContext,
  tokens: readonly string[],
  options: GetByTokensOptions,
): Promise<{ records: TokenRecord[] }> {
  assertOptions<GetByTokensOptions>(options, VERB, ['redaction'])
  const asked: unknown = options.redaction ?? 'DEFAULT'
  if (!isAskedLevel(asked))
    throw new VaultError('invalid_request', `${VERB} failed. redaction must be DEFAULT, REDACTED, MASKED or PLAIN_TEXT.`)
  const texts = listOf(context, tokens, VERB, 'tokens').map((token, index) => tokenTextOf(token, VERB, index))
  assertAllowed(context.caller, 'DETOKENIZATION', undefined)
  const found = await resolveTokens(context, texts)
  return { records: found.map((one, index) => showRecord(context, texts[index] ?? '', one, asked)) }
}

function showRecord({ barrier, caller }: OperationContext, token: string, found: Resolution, asked: AskedLevel): TokenRecord {
  if (found instanceof VaultError) return { token, fields: {}, error: found.message }
  if (found?.row === undefined) return { token, fields: {}, error: 'Token Not Found' }
  const { table, row } = found
  const columns = table.columns.filter((column) => column.token?.expires !== true)
  const [fields = {}] = revealRows(barrier, table, [row], columnViews(caller, columns, asked))
  const [id = ''] = mintIds(barrier.ring, table, [row.id])
  return { token, id, table: table.name, fields }
}
