/** Update: writes named columns of many records of one table, each its own, all or none, with one read and one write of storage. */

import { BYOT_MODES, type ByotMode } from '../barrier/supplied-tokens.ts'
import {
  assertNotEmpty,
  notFoundAt,
  parseByot,
  parseFlag,
  parseList,
  paths,
  requireTable,
  toIds,
} from '../execution/check-input.ts'
import { assertColumnsWritable, checkOverwrites, requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { changeRecords, parseChanges, type UpdatedRecord, type UpdateOptions, updatedRecords } from '../records/change-store.ts'
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

/** A parsed request, before grants are checked. */
export interface UpdateRequest {
  readonly table: Table
  readonly ids: readonly string[]
  readonly records: readonly unknown[]
  readonly tokenization: boolean
  readonly mode: ByotMode
  readonly allowsShownText: boolean
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
    const table = requireTable(context, name)
    context.event.setTable(table)
    assertOptions<UpdateOptions>(options, ['tokenization', 'byot', 'allowShownText'])
    const tokenization = parseFlag(options.tokenization, 'tokenization')
    const mode = parseByot(options.byot)
    const allowsShownText = parseFlag(options.allowShownText, 'allowShownText')
    assertNotEmpty(given, 'update')
    const records = parseList(context, given, 'records')
    assertItems(records, ['id', 'fields', 'tokens', 'ifVersion'], 'records')
    const ids = toIds(records.map((record) => memberOf(record, 'id')))
    return { table, records, ids, tokenization, mode, allowsShownText }
  },
  async execute(context, { table, ids, records, tokenization, mode, allowsShownText }) {
    const access = requireAccess(context, table, 'UPDATE')
    const changes = readInput(() => {
      const given = records.map((record, index) => {
        const [fields, tokens, ifVersion] = [
          memberOf(record, 'fields'),
          memberOf(record, 'tokens'),
          memberOf(record, 'ifVersion'),
        ]
        return { fields, tokens, ifVersion, index }
      })
      const members = given.flatMap(({ fields, tokens }) => [fields, tokens])
      assertColumnsWritable(context, access, { members, action: 'UPDATE' })
      return parseChanges(context, table, { mode, given })
    })
    const overwritten = await changeRecords(context, {
      ...{ table, access, ids, changes, allowsShownText },
      check: (overwrites) => checkOverwrites(context, access, overwrites),
      notFound: (missing) => notFoundAt(table, ids, { missing, where: paths('records', missing) }),
    })
    const updated = await updatedRecords(context, table, { ...overwritten, changes, tokenization })
    return { records: updated.map((record, index) => ({ ...record, id: at(ids, index) })) }
  },
}

function memberOf(record: unknown, name: keyof RecordChange): unknown {
  return typeof record === 'object' && record !== null ? Reflect.get(record, name) : undefined
}
