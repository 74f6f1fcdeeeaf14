/** Update where: writes the same values over the records with given values in a look-up column, all or none, in one transaction. */

import { fault } from '../errors.ts'
import { parseTable, parseWriteModes, type WriteModes } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import {
  findChangeable,
  type Lookup,
  notChangeable,
  parseWhere,
  requireChangeAccess,
  type Where,
} from '../execution/find-records.ts'
import { assertColumnsWritable, checkOverwrites } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { attemptChange } from '../records/attempt-change.ts'
import {
  type Change,
  overwrite,
  parseChanges,
  type UpdatedRecord,
  type UpdateOptions,
  updatedRecords,
} from '../records/change-store.ts'
import type { Table } from '../schema/layout.ts'
import { readInput } from '../util/boundary.ts'
import { at } from '../util/lists.ts'
import { assertOptions } from '../util/options.ts'
import { createJsonBudget, takeJson } from '../values/json-types.ts'

/** Options of an update by the value of a column. It takes no tokens: those of several records differ. */
export type UpdateWhereOptions = Omit<UpdateOptions, 'byot'>

/** Input of an update by the value of a column. */
export interface UpdateWhereInput {
  readonly table: string
  readonly where: Where
  /** The values to write over each record, by column. */
  readonly fields: unknown
  readonly options?: UpdateWhereOptions
}

/** A parsed request, before grants are checked. */
export interface UpdateWhereRequest extends WriteModes {
  readonly table: Table
  readonly lookup: Lookup
  readonly fields: unknown
}

/**
 * Updates the records that a read by the column returns, and returns them in the order of insertion. None is no error. Throws like that
 * read and like `updateOne`, `limit_exceeded` for more than `limits.maxRecords` or more members of JSON values than a request can have, and `not_found` for one that the caller can read and not
 * update; nothing is changed then.
 */
export const updateWhere: Operation<UpdateWhereInput, UpdateWhereRequest, { records: UpdatedRecord[] }> = {
  action: 'UPDATE',
  resourceType: 'RECORD',
  verb: 'Update',
  members: ['table', 'where', 'fields', 'options'],
  recorded: {
    table: 'name',
    where: 'lookup',
    fields: 'columns',
    tokenization: 'flag',
    allowShownText: 'flag',
  },
  parse({ table: name, where, fields, options = {} }, context) {
    const table = parseTable(context, name)
    const lookup = parseWhere(context, where)
    assertOptions<UpdateWhereOptions>(options, ['tokenization', 'allowShownText'])
    return { table, lookup, fields, ...parseWriteModes(options) }
  },
  async execute(context, { table, lookup, fields, tokenization, mode, allowsShownText }) {
    const access = requireChangeAccess(context, table, 'UPDATE')
    const change = readInput(() => {
      assertColumnsWritable(context, access, { members: [fields], action: 'UPDATE' })
      const given = [{ fields, tokens: undefined, index: undefined }]
      return at(parseChanges(context, table, { mode, given }), 0)
    })
    const changing = { table, scheduler: context.scheduler, what: 'record' } as const
    const records = await attemptChange(context.unit, changing, async (unit) => {
      const found = await findChangeable({ ...context, unit }, access, lookup)
      if (found.rows.length === 0) return []
      assertFewMembers(context, change, found.rows.length)
      const rows = found.rows.map(({ row }) => row)
      const changes = rows.map(() => change)
      const overwritten = await overwrite(unit, context, {
        table,
        access,
        changes,
        rows,
        allowsShownText,
        check: (overwrites) => checkOverwrites(context, access, overwrites),
        notFound: (missing) => notChangeable(access, found.ids, missing),
      })
      return updatedRecords(context, table, { ...overwritten, changes, tokenization })
    })
    return { records }
  },
  once: {},
}

/** Throws `limit_exceeded` if the JSON values, once for each record, have more members than a request can have: each record is sealed with its own. */
function assertFewMembers({ limits }: Pick<OperationContext, 'limits'>, { values }: Change, records: number): void {
  const json = createJsonBudget(limits)
  const all = json.left
  for (const value of values) if (typeof value === 'object' && value !== null) takeJson(value, json)
  if ((all - json.left) * records <= all) return
  throw fault(
    'limit_exceeded',
  )`The JSON values have more than ${all} members in all ${records} records. Pass fewer values to look up, or raise limits.maxJsonMembers.`
}
