/** Update: writes named columns of records of one table, each its own, all or none. Concurrent updates of different columns are all kept. */
import { BYOT_MODES } from '../barrier/supplied-tokens.ts'
import type { Fault } from '../errors.ts'
import {
  assertNotEmpty,
  notFoundAt,
  parseList,
  parseTable,
  parseWriteModes,
  paths,
  recordsNotFound,
  toIds,
  type WriteModes,
} from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import { assertColumnsWritable, checkOverwrites, requireAccess } from '../execution/grants.ts'
import { dividedRows, namedRows, type Operation } from '../execution/operation.ts'
import { memberOf } from '../execution/write-records.ts'
import {
  changeRecords,
  type GivenChange,
  parseChanges,
  type UpdatedRecord,
  type UpdateOptions,
  updatedRecords,
} from '../records/change-store.ts'
import type { WrittenRows } from '../records/record-store.ts'
import type { Table } from '../schema/layout.ts'
import { readInput } from '../util/boundary.ts'
import { at } from '../util/lists.ts'
import { assertItems, assertOptions } from '../util/options.ts'

/** A record to update, and what to write over it: values and, where the caller supplies them, tokens, by column. */
export interface RecordChange {
  readonly id: string
  readonly fields: unknown
  readonly tokens?: unknown
  /** The version of an earlier read, as `updateOne` takes it. */
  readonly ifVersion?: string
}

/** Input of an update of many records. */
export interface UpdateInput {
  readonly table: string
  readonly records: readonly RecordChange[]
  readonly options?: UpdateOptions
}

/** Options of an update of one record. */
export interface UpdateOneOptions extends UpdateOptions {
  /** Tokens by column, where the caller supplies them: `byot` says whether it may. */
  readonly tokens?: unknown
  /** The version of an earlier read: the update is `aborted` if the record was written since. Default: it is written in any case. */
  readonly ifVersion?: string
}

/** Input of an update of one record. */
export interface UpdateOneInput {
  readonly table: string
  readonly id: string
  readonly fields: unknown
  readonly options?: UpdateOneOptions
}

/** A parsed request, before grants are checked: ids of records, and what to write over each. */
export interface UpdateRequest extends WriteModes {
  readonly table: Table
  readonly ids: readonly string[]
  readonly given: readonly GivenChange[]
}

/**
 * Updates each record as `updateOne` does, in order and in one transaction, and returns them in order. Throws like `updateOne`, with the index of
 * the record, and `invalid_request` if two name one id; nothing is changed then.
 */
export const update: Operation<UpdateInput, UpdateRequest, { records: UpdatedRecord[] }> = {
  action: 'UPDATE',
  resourceType: 'RECORD',
  verb: 'Update',
  members: ['table', 'records', 'options'],
  recorded: {
    table: 'name',
    records: { id: 'value', fields: 'columns', tokens: 'columns', ifVersion: 'value' },
    tokenization: 'flag',
    byot: BYOT_MODES,
    allowShownText: 'flag',
  },
  parse({ table: name, records: given, options = {} }, context) {
    const table = parseTable(context, name)
    assertNotEmpty(given, 'update')
    const records = parseList(context, given, 'records')
    assertOptions<UpdateOptions>(options, ['tokenization', 'byot', 'allowShownText'])
    const modes = parseWriteModes(options)
    assertItems(records, ['id', 'fields', 'tokens', 'ifVersion'], 'records')
    return {
      table,
      ...modes,
      ids: toIds(records.map((record) => memberOf(record, 'id'))),
      given: records.map((record, index) => ({
        fields: memberOf(record, 'fields'),
        tokens: memberOf(record, 'tokens'),
        ifVersion: memberOf(record, 'ifVersion'),
        index,
      })),
    }
  },
  async execute(context, request) {
    const { table, ids } = request
    const notFound = (missing: readonly number[]) => notFoundAt(table, ids, { missing, where: paths('records', missing) })
    return { records: await updateAll(context, request, notFound) }
  },
  once: {},
}

/** Replaces the values of the named columns, and no others. Throws `not_found`, `unprocessable`, `conflict`, `invalid_request`, `aborted`; nothing is changed then. */
export const updateOne: Operation<UpdateOneInput, UpdateRequest, UpdatedRecord> = {
  action: 'UPDATE',
  resourceType: 'RECORD',
  verb: 'Update',
  members: ['table', 'id', 'fields', 'options'],
  recorded: {
    table: 'name',
    id: 'value',
    fields: 'columns',
    tokens: 'columns',
    tokenization: 'flag',
    byot: BYOT_MODES,
    allowShownText: 'flag',
    ifVersion: 'value',
  },
  parse({ table: name, id, fields, options = {} }, context) {
    const table = parseTable(context, name)
    assertOptions<UpdateOneOptions>(options, ['tokens', 'tokenization', 'byot', 'allowShownText', 'ifVersion'])
    const { tokens, ifVersion } = options
    return { table, ids: toIds([id]), given: [{ fields, tokens, ifVersion, index: undefined }], ...parseWriteModes(options) }
  },
  execute: async (context, request) => at(await updateDifferent(context, [request]), 0),
  once: {},
  asOne: {
    keys: {
      batch: ({ table, mode, tokenization, allowsShownText }) => `${table.name} ${mode} ${tokenization} ${allowsShownText}`,
    },
    changes: async (context, requests) =>
      namedRows(
        context,
        'UPDATE',
        requests.map(({ table, ids }) => ({ table, id: at(ids, 0) })),
      ),
    execute: (context, requests, events) => updateDifferent({ ...context, event: dividedRows(events) }, requests),
  },
}

/** Updates the different records of some requests for one each. The error is that of one request: of several, each runs again by itself. */
function updateDifferent(context: OperationContext<WrittenRows>, requests: readonly UpdateRequest[]): Promise<UpdatedRecord[]> {
  const request = at(requests, 0)
  const ids = requests.flatMap((one) => one.ids)
  const given = requests.flatMap((one) => one.given)
  return updateAll(context, { ...request, ids, given }, () => recordsNotFound(request.table, request.ids, [0]))
}

/** Updates records, all or none, and returns them in order. `notFound` returns the error for the positions of ids without a record. */
async function updateAll(
  context: OperationContext<WrittenRows>,
  { table, ids, given, tokenization, mode, allowsShownText }: UpdateRequest,
  notFound: (missing: readonly number[]) => Fault,
): Promise<UpdatedRecord[]> {
  const access = requireAccess(context, table, 'UPDATE')
  const changes = readInput(() => {
    const members = given.flatMap(({ fields, tokens }) => [fields, tokens])
    assertColumnsWritable(context, access, { members, action: 'UPDATE' })
    return parseChanges(context, table, { mode, given })
  })
  const overwritten = await changeRecords(context.unit, context, {
    table,
    access,
    ids,
    changes,
    allowsShownText,
    notFound,
    check: (overwrites) => checkOverwrites(context, access, overwrites),
  })
  const updated = await updatedRecords(context, table, { ...overwritten, changes, tokenization })
  return updated.map((record, index) => ({ ...record, id: at(ids, index) }))
}
