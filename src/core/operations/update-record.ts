/** Update: writes named columns of one record. Concurrent updates of different columns are all kept. */
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { mintRecords } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import { parseFields } from '../barrier/parse-record.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import type { ByotMode } from '../barrier/supplied-tokens.ts'
import { assertOwnFormsUnused, BYOT_MODES, parseTokens } from '../barrier/supplied-tokens.ts'
import { type Fault, fault } from '../errors.ts'
import { assertOptions, parseByot, parseFlag, recordsNotFound, requireTable, toTexts } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import { assertColumnsWritable, checkOverwrites, requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { dividedRows } from '../execution/written-rows.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import { assertUnredacted } from '../records/assert-unredacted.ts'
import type { Written } from '../records/record-store.ts'
import { mintInputOf, STALE, storeChanges } from '../records/record-store.ts'
import type { WritingContext } from '../records/writing-context.ts'
import type { Table } from '../schema/layout.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
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
  readonly id: string
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
  execute: async (context, request) => at(await updateAll(context, [request]), 0),
  together: {
    groupOf: ({ table, mode, tokenization }) => `${table.name} ${mode} ${tokenization}`,
    execute: (context, requests, events) => updateAll({ ...context, event: dividedRows(events) }, requests),
  },
}

/** The dependencies of an update: its rows can be those of several events. */
type UpdateContext = Omit<OperationContext, 'event'> & Pick<WritingContext, 'event'>

/** Updates different records of one table, all or none, and returns them in order. */
async function updateAll(context: UpdateContext, requests: readonly UpdateRequest[]): Promise<UpdatedRecord[]> {
  const { table, tokenization } = at(requests, 0)
  const access = requireAccess(context, table, 'UPDATE')
  const changes = readInput(() => requests.map((request) => parseChange(context, access, request)))
  const { written, before } = await changeRecords(context, access, changes)
  const values = changes.map((change) => change.values)
  const wanted = tokenization ? mintInputOf(written, values, before) : undefined
  const stored = mintRecords(context.barrier.ring, table, written.ids, wanted)
  const updatedAt = toTimestamp(context.clock.now())
  return changes.map(({ id }, index) => ({ ...at(stored, index), id, updatedAt }))
}

function parseChange(context: UpdateContext, access: TableAccess, { table, id, fields, tokens, mode }: UpdateRequest): Change {
  assertColumnsWritable(context, access, { members: [fields, tokens], action: 'UPDATE' })
  const values = parseFields(table, fields, undefined)
  if (values.every((value) => value === undefined))
    throw fault('invalid_request', {
      table: table.name,
    })`record.fields names no column of table ${table.name}. Name at least one.`
  const supplied = parseTokens(table, tokens, { mode, values, index: undefined })
  const { ring } = context.barrier
  assertOwnFormsUnused({ ring, layout: context.layout }, table, { tokens: [supplied], values: [values], indexes: [undefined] })
  return { id, values, supplied }
}

/** Writes the changes, and tries again if others changed a record meanwhile. Throws `not_found` if a record is invisible to the caller. */
function changeRecords(
  context: UpdateContext,
  access: TableAccess,
  changes: readonly Change[],
): Promise<{ readonly written: Written; readonly before: readonly RowAccess[] }> {
  const { table } = access
  const { unit, barrier } = context
  const rowIds = decodeRecordIds(
    barrier.ring,
    table,
    changes.map(({ id }) => id),
  )
  const policy = retryStale(
    STALE,
    context.scheduler,
    () =>
      fault('aborted', { table: table.name })`The record of table ${table.name} changed concurrently in every attempt. Retry.`,
  )
  const write = async (unit: UnitOfWork) => {
    const rows = await rowsOf(unit, access, { changes, rowIds })
    const overwrites = changes.map(({ values }, position) => ({ row: at(rows, position), values, index: undefined }))
    const { existing, invisible } = checkOverwrites(context, access, overwrites)
    if (invisible.length > 0) throw notFound(table, changes)
    assertUnredacted(barrier, table, { existing, records: overwrites })
    const before = existing.map((one) => one.access)
    const records = changes.map(({ values }) => values)
    const supplied = changes.map((change) => change.supplied)
    const indexes = changes.map(() => undefined)
    return { written: await storeChanges(unit, context, { table, rows, records, supplied, indexes }), before }
  }
  // Values are sealed before the transaction begins. If that was too early, the record is read inside of it.
  const alone = () => retry(policy, (attempt) => (attempt === 1 ? write(unit) : unit.change(write)))
  const [row] = rowIds
  if (row === undefined || rowIds.length > 1) return alone()
  return unit.changeInTurn(`${table.physical.name} ${row}`, { alone, shared: (shared) => retry(policy, () => write(shared)) })
}

/** Returns the row of each change. Throws `not_found` if one does not exist. */
async function rowsOf(
  { storage }: UnitOfWork,
  { table }: TableAccess,
  { changes, rowIds }: { readonly changes: readonly Change[]; readonly rowIds: readonly (number | undefined)[] },
): Promise<Row[]> {
  const known = rowIds.filter((row) => row !== undefined)
  const rows = known.length === 0 ? [] : (await storage.get(table.physical.name, known)).filter((row) => row !== undefined)
  if (rows.length < changes.length) throw notFound(table, changes)
  return rows
}

/** The error of one change. Of several, each runs again by itself. */
function notFound(table: Table, changes: readonly Change[]): Fault {
  return recordsNotFound(table, [at(changes, 0).id], [0])
}
