/** Get by tokens: returns the record of each token, or the value of its column alone, at the requested redaction. */

import { encodeRecordIds } from '../barrier/record-ids.ts'
import { type Fields, showValue } from '../barrier/reveal.ts'
import { type ErrorCode, fault, VaultError, words } from '../errors.ts'
import { parseFlag, parseList, parseRedaction, parseTokenText, parseWord, TOKEN_NOT_FOUND } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import type { EventBuilder } from '../execution/event-builder.ts'
import type { Operation } from '../execution/operation.ts'
import { forbidden } from '../policy/create-access.ts'
import { showRecords, type UntypedRecord, withVersions } from '../records/show-records.ts'
import { addRowsOf, needsOfTokens, resolveVisible, type VisibleResolution, type VisibleToken } from '../records/visible-tokens.ts'
import { type Levels, NONE_LOWERED, REDACTIONS, type Redaction } from '../redaction.ts'
import { assertPlainText, loweredLevels, ON_LOWERED, type OnLowered, parseOnLowered } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import { at, groupBy } from '../util/lists.ts'
import { assertOptions } from '../util/options.ts'

/** The values of the option `onMissing`. */
const ON_MISSING = ['throw'] as const

/** Options of a read by tokens. */
export interface GetByTokensOptions {
  /** The lower of this and the level granted is returned. Default DEFAULT: each column's own. */
  readonly redaction?: Redaction
  /** `throw`: throw `forbidden` rather than return a record with masked or redacted fields. */
  readonly onLowered?: OnLowered
  /**
   * Return only the value of the token's own column. Transient tokens are then resolved too; they have no record id. Needs the grants of
   * detokenize: DETOKENIZATION and READ of the column. Default false: all columns that the caller can read.
   */
  readonly columnOnly?: boolean
  /** Return the `version` of each record, for `ifVersion` of a later change. Default false. */
  readonly version?: boolean
  /** `throw`: throw the error of the first token that has one, and return nothing. Default: each such token has its error in its item. */
  readonly onMissing?: 'throw'
}

/** The record of one token. A token without a record has an error and no fields. */
export interface TokenRecord {
  readonly token: string
  /** Absent with an error, and of a transient value, which has no record. */
  readonly id?: string
  readonly table?: string
  /** The column of the token. */
  readonly column?: string
  readonly fields: Fields
  /** The version of the record, with the option `version`. Absent where there is no id. */
  readonly version?: string
  /** The levels of the fields that are masked or redacted. */
  readonly levels: Levels
  readonly error?: string
  /** The code of the error: `not_found`, or `data_loss` for a record that failed authentication. */
  readonly code?: ErrorCode
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
  readonly columnOnly: boolean
  readonly hasVersion: boolean
  readonly refusesMissing: boolean
}

/**
 * Returns one item for each token, in order. Without `onMissing`, only `invalid_request`, `limit_exceeded` and `forbidden` are thrown. Transient
 * values have no record; they are returned by detokenize, and here with `columnOnly`.
 */
export const getByTokens: Operation<GetByTokensInput, GetByTokensRequest, { records: TokenRecord[] }> = {
  action: 'GET_BY_TOKENS',
  resourceType: 'TOKEN',
  verb: 'Get by tokens',
  members: ['tokens', 'options'],
  recorded: {
    tokens: 'value',
    redaction: REDACTIONS,
    onLowered: ON_LOWERED,
    columnOnly: 'flag',
    version: 'flag',
    onMissing: ON_MISSING,
  },
  parse({ tokens, options = {} }, context) {
    assertOptions<GetByTokensOptions>(options, ['redaction', 'onLowered', 'columnOnly', 'version', 'onMissing'])
    const redaction = parseRedaction(options.redaction)
    return {
      redaction,
      refusesLowered: parseOnLowered(options.onLowered, redaction),
      columnOnly: parseFlag(options.columnOnly, 'columnOnly'),
      hasVersion: parseFlag(options.version, 'version'),
      refusesMissing: parseWord(options.onMissing, 'onMissing', 'throw'),
      texts: parseList(context, tokens, 'tokens').map(parseTokenText),
    }
  },
  async execute(context, { texts, redaction, refusesLowered, columnOnly, hasVersion, refusesMissing }) {
    if (!context.access.possiblyAllowsAnywhere('DETOKENIZATION')) throw forbidden(context.caller, 'DETOKENIZATION')
    const needsOf = columnOnly ? columnNeeds : recordNeeds
    const resolved = await resolveVisible(context.unit.storage, context, { texts, needsOf })
    const found = resolved.map((one) => (isShown(one, columnOnly) ? one : undefined))
    if (refusesLowered) for (const one of found) assertShownInPlainText(one, { redaction, columnOnly })
    addRowsOf(found, context.event)
    const shown = await showFound(context, found, { redaction, columnOnly, hasVersion })
    const show = { redaction, columnOnly, event: context.event }
    const records = found.map((one, index) => toRecord(one, shown.get(index), { token: at(texts, index), ...show }))
    if (refusesMissing) assertFound(records, found)
    return { records }
  },
}

/** Throws the error of the first record that has one. */
function assertFound(records: readonly TokenRecord[], found: readonly VisibleResolution[]): void {
  const index = records.findIndex(({ error }) => error !== undefined)
  if (index < 0) return
  const failed = found[index]
  throw failed instanceof VaultError ? failed : fault('not_found', { index })`${words(TOKEN_NOT_FOUND)}`
}

/** The record is shown, so at least one of its columns must be readable. */
const recordNeeds = needsOfTokens([
  { action: 'DETOKENIZATION', on: 'column' },
  { action: 'READ', on: 'record' },
])

/** The column is shown, so it must be readable. */
const columnNeeds = needsOfTokens([
  { action: 'DETOKENIZATION', on: 'column' },
  { action: 'READ', on: 'column' },
])

/** False for a transient value where its record is asked for: it has none. */
function isShown(found: VisibleResolution, columnOnly: boolean): boolean {
  return columnOnly || found instanceof VaultError || found?.row !== undefined
}

/** How records are shown. */
type Shown = Pick<GetByTokensRequest, 'redaction' | 'columnOnly'>

function columnsToShow({ table, column }: VisibleToken, { columnOnly }: Shown): readonly Column[] {
  return columnOnly ? [column] : table.readable
}

function assertShownInPlainText(found: VisibleResolution, shown: Shown): void {
  if (found === undefined || found instanceof VaultError) return
  const { table, access } = found
  assertPlainText({ table, views: [access.views(columnsToShow(found, shown), shown.redaction)], named: undefined })
}

/** Returns the records of the tokens that have one, by the index of the token. Those of one table are opened together; with `columnOnly` none is. */
async function showFound(
  context: OperationContext,
  found: readonly VisibleResolution[],
  { redaction, columnOnly, hasVersion }: Shown & Pick<GetByTokensRequest, 'hasVersion'>,
): Promise<ReadonlyMap<number, UntypedRecord>> {
  const byIndex = new Map<number, UntypedRecord>()
  const records = found.flatMap((one, index) =>
    one === undefined || one instanceof VaultError || one.row === undefined
      ? []
      : [{ table: one.table, row: one.row, access: one.access, index }],
  )
  for (const [table, rows] of groupBy(records, (one) => one.table)) {
    const rowIds = rows.map(({ row }) => row.id)
    const ids = encodeRecordIds(context.barrier.ring, table, rowIds)
    const show = { table, columns: table.readable, redaction, asTokens: false }
    const shown = columnOnly ? ids.map((id) => ({ id, fields: {} })) : await showRecords(context, { rows, ids }, show)
    const versioned = hasVersion ? withVersions(context.barrier, rows, { table, shown }) : shown
    for (const [k, { index }] of rows.entries()) byIndex.set(index, at(versioned, k))
  }
  return byIndex
}

/** `record` is undefined for a token without one. */
function toRecord(
  found: VisibleResolution,
  record: UntypedRecord | undefined,
  { token, event, ...shown }: Shown & { readonly token: string; readonly event: EventBuilder },
): TokenRecord {
  if (found instanceof VaultError) return { token, fields: {}, levels: NONE_LOWERED, error: found.message, code: found.code }
  const views = found === undefined ? [] : found.access.views(columnsToShow(found, shown), shown.redaction)
  const [first] = views
  if (found === undefined || first === undefined)
    return { token, fields: {}, levels: NONE_LOWERED, error: TOKEN_NOT_FOUND, code: 'not_found' }
  event.addViews(views)
  const { table, column, value } = found
  return {
    token,
    ...(record === undefined ? {} : { id: record.id }),
    ...(record?.version === undefined ? {} : { version: record.version }),
    table: table.name,
    column: column.name,
    fields: shown.columnOnly || record === undefined ? { [column.name]: showValue(first, value) } : record.fields,
    levels: loweredLevels(views),
  }
}
