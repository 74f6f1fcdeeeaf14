/** Update: writes named columns of one record. Concurrent updates of different columns are all kept. */

import { BYOT_MODES, type ByotMode } from '../barrier/supplied-tokens.ts'
import { parseByot, parseFlag, recordsNotFound, requireTable, toIds } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import { assertColumnsWritable, checkOverwrites, requireAccess } from '../execution/grants.ts'
import { dividedRows, namedRows, type Operation } from '../execution/operation.ts'
import { changeRecords, parseChanges, type UpdatedRecord, type UpdateOptions, updatedRecords } from '../records/change-store.ts'
import type { WritingContext } from '../records/writing-context.ts'
import type { Table } from '../schema/layout.ts'
import { readInput } from '../util/boundary.ts'
import { at } from '../util/lists.ts'
import { assertOptions } from '../util/options.ts'

/** Options of an update of one record. */
export interface UpdateOneOptions extends UpdateOptions {
  /** Tokens by column, where the caller supplies them: `byot` says whether it may. */
  readonly tokens?: unknown
  /** The version of an earlier read: the update is `aborted` if the record was written since. Default: it is written in any case. */
  readonly ifVersion?: string
}

/** Input of an update. */
export interface UpdateOneInput {
  readonly table: string
  readonly id: string
  readonly fields: unknown
  readonly options?: UpdateOneOptions
}

/** A parsed request, before grants are checked. */
export interface UpdateOneRequest {
  readonly table: Table
  readonly id: string
  readonly fields: unknown
  readonly tokens: unknown
  readonly ifVersion: unknown
  readonly tokenization: boolean
  readonly mode: ByotMode
  readonly allowsShownText: boolean
}

/** Replaces the values of the named columns, and no others. Throws `not_found`, `unprocessable`, `conflict`, `invalid_request`, `aborted`; nothing is changed then. */
export const updateOne: Operation<UpdateOneInput, UpdateOneRequest, UpdatedRecord> = {
  action: 'UPDATE',
  resourceType: 'RECORD',
  verb: 'Update',
  members: ['table', 'id', 'fields', 'options'],
  recorded: {
    ...{ table: 'name', id: 'value', fields: 'columns', tokens: 'columns' },
    ...{ tokenization: 'flag', byot: BYOT_MODES, allowShownText: 'flag', ifVersion: 'value' },
  },
  parse({ table: name, id, fields, options = {} }, context) {
    const table = requireTable(context, name)
    context.event.setTable(table)
    assertOptions<UpdateOneOptions>(options, ['tokens', 'tokenization', 'byot', 'allowShownText', 'ifVersion'])
    const tokenization = parseFlag(options.tokenization, 'tokenization')
    const allowsShownText = parseFlag(options.allowShownText, 'allowShownText')
    const { tokens, ifVersion, byot } = options
    return { table, id: at(toIds([id]), 0), fields, tokens, ifVersion, tokenization, mode: parseByot(byot), allowsShownText }
  },
  execute: async (context, request) => at(await updateAll(context, [request]), 0),
  asOne: {
    keys: {
      batch: ({ table, mode, tokenization, allowsShownText }) => `${table.name} ${mode} ${tokenization} ${allowsShownText}`,
    },
    changes: async (context, requests) => namedRows(context, 'UPDATE', requests),
    execute: (context, requests, events) => updateAll({ ...context, event: dividedRows(events) }, requests),
  },
}

/** The dependencies of an update: its rows can be those of several events. */
type UpdateContext = Omit<OperationContext, 'event'> & Pick<WritingContext, 'event'>

/** Updates different records of one table, all or none, and returns them in order. */
async function updateAll(context: UpdateContext, requests: readonly UpdateOneRequest[]): Promise<UpdatedRecord[]> {
  const { table, mode, tokenization, allowsShownText } = at(requests, 0)
  const access = requireAccess(context, table, 'UPDATE')
  const changes = readInput(() => {
    const given = requests.map(({ fields, tokens, ifVersion }) => ({ fields, tokens, ifVersion, index: undefined }))
    const members = given.flatMap(({ fields, tokens }) => [fields, tokens])
    assertColumnsWritable(context, access, { members, action: 'UPDATE' })
    return parseChanges(context, table, { mode, given })
  })
  const ids = requests.map(({ id }) => id)
  const overwritten = await changeRecords(context, {
    ...{ table, access, ids, changes, allowsShownText },
    check: (overwrites) => checkOverwrites(context, access, overwrites),
    // The error of one change. Of several, each runs again by itself.
    notFound: () => recordsNotFound(table, [at(ids, 0)], [0]),
  })
  const updated = await updatedRecords(context, table, { ...overwritten, changes, tokenization })
  return updated.map((record, index) => ({ ...record, id: at(ids, index) }))
}
