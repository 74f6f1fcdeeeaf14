/** Records by tokens: for each token the record its value stands in, shown at the level asked for. */
import { mintIds } from '../barrier/record-ids.ts'
import type { Fields } from '../barrier/reveal.ts'
import { revealRows } from '../barrier/reveal.ts'
import { VaultError } from '../errors.ts'
import { forbidden } from '../policy/refuse-access.ts'
import type { Need } from '../policy/table-access.ts'
import type { AskedLevel } from '../redaction/levels.ts'
import { isAskedLevel } from '../redaction/levels.ts'
import type { Column } from '../schema/layout.ts'
import type { Granted } from '../records/visible-tokens.ts'
import { resolveGranted, rowsByTable } from '../records/visible-tokens.ts'
import { audited } from './audited.ts'
import type { OperationContext, SessionContext } from '../execution/context.ts'
import { assertOptions, listOf, tokenTextOf } from '../execution/context.ts'

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
export function getByTokens(
  session: SessionContext,
  tokens: readonly string[],
  options: GetByTokensOptions,
): Promise<{ records: TokenRecord[] }> {
  const body = () => ({ tokens, ...options })
  return audited(session, { action: 'GET_BY_TOKENS', resourceType: 'TOKEN', verb: VERB, body }, async (context, trail) => {
    assertOptions<GetByTokensOptions>(options, VERB, ['redaction'])
    const asked: unknown = options.redaction ?? 'DEFAULT'
    if (!isAskedLevel(asked))
      throw new VaultError('invalid_request', `${VERB} failed. redaction must be DEFAULT, REDACTED, MASKED or PLAIN_TEXT.`)
    const texts = listOf(context, tokens, VERB, 'tokens').map((token, index) => tokenTextOf(token, VERB, index))
    if (!context.access.couldAnywhere('DETOKENIZATION')) throw forbidden(context.caller, 'DETOKENIZATION')
    const found = await resolveGranted(context, texts, needsOf)
    for (const [table, rows] of rowsByTable(found)) trail.touches(table, rows)
    return { records: found.map((one, index) => showRecord(context, texts[index] ?? '', one, asked)) }
  })
}

/** The record is shown as any read shows it: something of it at least must be granted. */
function needsOf(column: Column): Need[] {
  return [
    { action: 'DETOKENIZATION', columns: [column] },
    { action: 'READ', columns: [] },
  ]
}

function showRecord({ barrier }: OperationContext, token: string, found: Granted, asked: AskedLevel): TokenRecord {
  if (found instanceof VaultError) return { token, fields: {}, error: found.message }
  const notFound = { token, fields: {}, error: 'Token Not Found' }
  if (found?.row === undefined) return notFound
  const { table, row, access } = found
  const views = access.views(table.readable, asked)
  if (views.length === 0) return notFound
  const [fields = {}] = revealRows(barrier, table, [row], views)
  const [id = ''] = mintIds(barrier.ring, table, [row.id])
  return { token, id, table: table.name, fields }
}
