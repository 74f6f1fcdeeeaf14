/** Get by tokens: returns the record of each token, at the requested redaction. */
import { encodeRecordIds } from '../barrier/record-ids.ts'
import type { Fields } from '../barrier/reveal.ts'
import { revealRows } from '../barrier/reveal.ts'
import { VaultError } from '../errors.ts'
import { assertOptions, parseList, parseRedaction, parseTokenText, TOKEN_NOT_FOUND } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import type { Operation } from '../execution/operation.ts'
import { forbidden } from '../policy/forbidden.ts'
import { resolveVisible, rowsByTable, type TokenGrant, type VisibleResolution } from '../records/visible-tokens.ts'
import { REDACTIONS, type Redaction } from '../redaction/levels.ts'
import { assertPlainText, loweredColumns, ON_LOWERED, type OnLowered, parseOnLowered } from '../row-access/lowered-columns.ts'
import { at } from '../util/at.ts'

/** Options of a read by tokens. */
export interface GetByTokensOptions {
  /** The lower of this and the level granted is returned. Default DEFAULT: each column's own. */
  readonly redaction?: Redaction
  /** `throw`: throw `forbidden` rather than return a record with masked or redacted fields. */
  readonly onLowered?: OnLowered
}

/** The record of one token. A token without a record has an error and no fields. */
export interface TokenRecord {
  readonly token: string
  readonly id?: string
  readonly table?: string
  readonly fields: Fields
  /** Names of the fields that are masked or redacted. */
  readonly lowered: readonly string[]
  readonly error?: string
}

/** Input of a read by tokens. */
export interface GetByTokensInput {
  readonly tokens: readonly string[]
  readonly options?: GetByTokensOptions
}

/** A parsed request, before grants are checked. */
export interface GetByTokensRequest {
  readonly texts: readonly string[]
  readonly redaction: Redaction
  readonly refusesLowered: boolean
}

/** Returns one item for each token, in order. Only `invalid_request`, `limit_exceeded` and `forbidden` are thrown. Transient values have no record; only detokenize returns them. */
export const getByTokens: Operation<GetByTokensInput, GetByTokensRequest, { records: TokenRecord[] }> = {
  action: 'GET_BY_TOKENS',
  resourceType: 'TOKEN',
  verb: 'Get by tokens',
  recorded: { tokens: 'value', redaction: REDACTIONS, onLowered: ON_LOWERED },
  parse({ tokens, options = {} }, context) {
    assertOptions<GetByTokensOptions>(options, ['redaction', 'onLowered'])
    const redaction = parseRedaction(options.redaction ?? undefined)
    return {
      redaction,
      refusesLowered: parseOnLowered(options.onLowered, redaction),
      texts: parseList(context, tokens, 'tokens').map(parseTokenText),
    }
  },
  async execute(context, { texts, redaction, refusesLowered }) {
    if (!context.access.possiblyAllowsAnywhere('DETOKENIZATION')) throw forbidden(context.caller, 'DETOKENIZATION')
    const found = await resolveVisible(context.unit.storage, context, { texts, grants: GRANTS })
    if (refusesLowered) for (const one of found) assertShownInPlainText(one, redaction)
    for (const [table, rows] of rowsByTable(found)) context.event.addRows(table, rows)
    return { records: found.map((one, index) => toRecord(context, one, { token: at(texts, index), redaction })) }
  },
}

/** The record is shown, so at least one of its columns must be readable. */
const GRANTS: readonly TokenGrant[] = [
  { action: 'DETOKENIZATION', on: 'column' },
  { action: 'READ', on: 'record' },
]

function assertShownInPlainText(found: VisibleResolution, redaction: Redaction): void {
  if (found instanceof VaultError || found?.row === undefined) return
  const { table, access } = found
  assertPlainText({ table, views: [access.views(table.readable, redaction)], named: undefined })
}

function toRecord(
  { barrier }: Pick<OperationContext, 'barrier'>,
  found: VisibleResolution,
  { token, redaction }: { readonly token: string; readonly redaction: Redaction },
): TokenRecord {
  if (found instanceof VaultError) return { token, fields: {}, lowered: [], error: found.message }
  const notFound = { token, fields: {}, lowered: [], error: TOKEN_NOT_FOUND }
  if (found?.row === undefined) return notFound
  const { table, row, access } = found
  const views = access.views(table.readable, redaction)
  if (views.length === 0) return notFound
  const fields = at(revealRows(barrier, table, [row], views), 0)
  const id = at(encodeRecordIds(barrier.ring, table, [row.id]), 0)
  return { token, id, table: table.name, fields, lowered: loweredColumns(views) }
}
