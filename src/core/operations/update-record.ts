/** Update: writes named columns of one record. Concurrent updates of different columns are all kept. */
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { mintRecords } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import { parseFields } from '../barrier/parse-record.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import type { ByotMode } from '../barrier/supplied-tokens.ts'
import { assertOwnFormsUnused, BYOT_MODES, parseTokens } from '../barrier/supplied-tokens.ts'
import { fault } from '../errors.ts'
import { assertOptions, parseByot, parseFlag, recordsNotFound, requireTable, toTexts } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import { assertColumnsWritable, checkOverwrites, requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import { assertUnredacted } from '../records/assert-unredacted.ts'
import type { Written } from '../records/record-store.ts'
import { mintInputOf, STALE, storeChanges } from '../records/record-store.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/at.ts'
import { readInput } from '../util/boundary.ts'
import { retry, retryStale } from '../util/retry.ts'
import { toTimestamp } from '../util/timestamp.ts'

/** Options of an update. */
export interface UpdateOptions {
  /** Return the tokens of the columns that were given a value. Default false. */
  readonly tokenization?: boolean
  /** Whether the change can, or must, have tokens supplied by the caller. Default DISABLE. */
  readonly byot?: ByotMode
}

/** Input of an update. */
export interface UpdateInput {
  readonly table: string
  readonly id: string
  readonly fields: unknown
  readonly tokens?: unknown
  readonly options?: UpdateOptions
}

/** An updated record; `updatedAt` is RFC 3339 with nine decimals. */
export interface UpdatedRecord extends StoredRecord {
  readonly updatedAt: string
}

/** A parsed request, before grants are checked. */
export interface UpdateRequest {
  readonly table: Table
  readonly id: string
  readonly fields: unknown
  readonly tokens: unknown
  readonly tokenization: boolean
  readonly mode: ByotMode
}

/** The values and supplied tokens to write. */
interface Change {
  readonly values: Values
  readonly supplied: ReadonlyMap<string, string> | undefined
}

/** Replaces the values of the named columns, and no others. Throws `not_found`, `unprocessable`, `conflict`, `invalid_request`, `aborted`; nothing is changed then. */
export const update: Operation<UpdateInput, UpdateRequest, UpdatedRecord> = {
  action: 'UPDATE',
  resourceType: 'RECORD',
  verb: 'Update',
  recorded: { table: 'name', id: 'value', fields: 'columns', tokens: 'columns', tokenization: 'flag', byot: BYOT_MODES },
  parse({ table: name, id, fields, tokens, options = {} }, context) {
    const table = requireTable(context, name)
    context.event.setTable(table)
    assertOptions<UpdateOptions>(options, ['tokenization', 'byot'])
    const tokenization = parseFlag(options.tokenization, 'tokenization')
    return { table, id: at(toTexts([id]), 0), fields, tokens, tokenization, mode: parseByot(options.byot) }
  },
  async execute(context, request) {
    const { table, id, tokenization } = request
    const { ring } = context.barrier
    const access = requireAccess(context, table, 'UPDATE')
    const change = readInput(() => parseChange(context, access, request))
    const { written, before } = await changeRecord(context, access, { id, change })
    const wanted = tokenization ? mintInputOf(written, [change.values], before) : undefined
    const stored = at(mintRecords(ring, table, written.ids, wanted), 0)
    return { ...stored, id, updatedAt: toTimestamp(context.clock.now()) }
  },
}

function parseChange(context: OperationContext, access: TableAccess, { table, fields, tokens, mode }: UpdateRequest): Change {
  assertColumnsWritable(context, access, { members: [fields, tokens], action: 'UPDATE' })
  const values = parseFields(table, fields, undefined)
  if (values.every((value) => value === undefined))
    throw fault('invalid_request', {
      table: table.name,
    })`record.fields names no column of table ${table.name}. Name at least one.`
  const supplied = parseTokens(table, tokens, { mode, values, index: undefined })
  const { ring } = context.barrier
  assertOwnFormsUnused({ ring, layout: context.layout }, table, { tokens: [supplied], values: [values], indexes: [undefined] })
  return { values, supplied }
}

/** Writes the change, and tries again if others changed the record meanwhile. Throws `not_found` if the record is invisible to the caller. */
function changeRecord(
  context: OperationContext,
  access: TableAccess,
  { id, change: { values, supplied } }: { readonly id: string; readonly change: Change },
): Promise<{ readonly written: Written; readonly before: readonly RowAccess[] }> {
  const { table } = access
  const { unit, barrier } = context
  const [rowId] = decodeRecordIds(barrier.ring, table, [id])
  const policy = retryStale(
    STALE,
    context.scheduler,
    () =>
      fault('aborted', { table: table.name })`The record of table ${table.name} changed concurrently in every attempt. Retry.`,
  )
  return retry(policy, async () => {
    const [row] = rowId === undefined ? [] : await unit.storage.get(table.physical.name, [rowId])
    const overwrites = row === undefined ? [] : [{ row, values, index: undefined }]
    const { existing, invisible } = checkOverwrites(context, access, overwrites)
    if (row === undefined || invisible.length > 0) throw recordsNotFound(table, [id], [0])
    assertUnredacted(barrier, table, { existing, records: overwrites })
    const before = existing.map((one) => one.access)
    const request = { table, rows: [row], records: [values], supplied: [supplied], indexes: [undefined] }
    const written = await storeChanges(unit, context, request)
    return { written, before }
  })
}
