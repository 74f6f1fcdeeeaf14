/** Insert one: a new record, or an upsert, as a list of one inserts it; returns the record itself. */
import { BYOT_MODES } from '../barrier/supplied-tokens.ts'
import type { Operation } from '../execution/operation.ts'
import { type InsertedRecord, upsertedRows } from '../execution/write-records.ts'
import { at } from '../util/lists.ts'
import { assertOptions } from '../util/options.ts'
import { type InsertOptions, type InsertRequest, insert, ON_CONFLICT } from './insert-records.ts'

/** Options of an insert of one record. */
export interface InsertOneOptions extends Omit<InsertOptions, 'homogeneous'> {
  /** Tokens by column, where the caller supplies them: `byot` says whether it may. */
  readonly tokens?: unknown
}

/** Input of an insert of one record. */
export interface InsertOneInput {
  readonly table: string
  /** Values by column. */
  readonly fields: unknown
  readonly options?: InsertOneOptions
}

const OPTION_NAMES = ['tokens', 'tokenization', 'upsert', 'onConflict', 'byot', 'allowShownText', 'signal'] as const

/** Returns the stored record. Throws like `insert`. */
export const insertOne: Operation<InsertOneInput, InsertRequest, InsertedRecord> = {
  action: 'INSERT',
  resourceType: 'RECORD',
  verb: 'Insert',
  members: ['table', 'fields', 'options'],
  notFoundStatus: 400,
  recorded: {
    ...{ table: 'name', fields: 'columns', tokens: 'columns', tokenization: 'flag', upsert: 'name' },
    ...{ onConflict: ON_CONFLICT, byot: BYOT_MODES, allowShownText: 'flag', signal: 'omitted' },
  },
  parse({ table, fields, options = {} }, context) {
    assertOptions<InsertOneOptions>(options, OPTION_NAMES)
    const { tokens, ...others } = options
    return insert.parse({ table, records: [{ fields, tokens }], options: others }, context)
  },
  execute: async (context, request) => at((await insert.execute(context, request)).records, 0),
  changedRows: upsertedRows,
}
