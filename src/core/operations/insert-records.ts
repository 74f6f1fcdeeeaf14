/** Insert: records of one table, all or none; returns ids and tokens. */

import { parseFields, type Values } from '../barrier/parse-record.ts'
import { assertOwnFormsUnused, BYOT_MODES, type ByotMode, parseTokens } from '../barrier/supplied-tokens.ts'
import { fault } from '../errors.ts'
import {
  assertNotEmpty,
  parseFlag,
  parseList,
  parseTable,
  parseUpsert,
  parseWord,
  parseWriteModes,
  type WriteModes,
} from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import { alwaysGranted, assertColumnsWritable, assertRequiredWritable, requireAccess } from '../execution/grants.ts'
import { dividedRows, type Operation } from '../execution/operation.ts'
import {
  type CheckedRecords,
  type InsertedRecord,
  insertAll,
  insertUntaken,
  memberOf,
  upsertAll,
  upsertedRows,
  upsertKey,
} from '../execution/write-records.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Table } from '../schema/layout.ts'
import { abortableUnit } from '../unit-of-work/unit-of-work.ts'
import { readInput } from '../util/boundary.ts'
import { at } from '../util/lists.ts'
import { assertItems, assertOptions } from '../util/options.ts'
import { parseSignal, type Signal } from '../util/signal.ts'
import { createJsonBudget } from '../values/json-types.ts'

/** A record as a caller passes it: values and, where the caller supplies them, tokens, by column. */
export interface RecordInput {
  readonly fields: unknown
  readonly tokens?: unknown
}

/** Options of an insert. Source: specification, "Records". */
export interface InsertOptions {
  /** Return the tokens of tokenized columns. Default false. */
  readonly tokenization?: boolean
  /** A unique column, or the columns that are unique together: a record that holds the same values there is updated instead. Empty means absent. */
  readonly upsert?: string | readonly string[]
  /**
   * `ignore`: leave out a record whose unique value another record holds, or an earlier one of this request. Its result is
   * `{ ignored: true }`. Not with upsert. Default: such a record is a `conflict`, and nothing is stored.
   */
  readonly onConflict?: 'ignore'
  /** Require every record to name the same columns. Not with upsert. */
  readonly homogeneous?: boolean
  /** Whether records can, or must, have tokens supplied by the caller. Default DISABLE. */
  readonly byot?: ByotMode
  /** Accept `*REDACTED*` and masked forms as values. Default false: what is shown in place of a value is refused, so that no value is lost. */
  readonly allowShownText?: boolean
  /** An `AbortSignal`. Aborted before the records are handed to the storage, the insert throws `cancelled`, and nothing is stored; later it has no effect. */
  readonly signal?: Signal
}

/** Input of an insert. */
export interface InsertInput {
  readonly table: string
  readonly records: readonly RecordInput[]
  readonly options?: InsertOptions
}

/** A parsed request. Its records are parsed later, because the caller's grants determine which columns they can name. */
export interface InsertRequest extends WriteModes {
  readonly table: Table
  readonly records: readonly unknown[]
  readonly homogeneous: boolean
  readonly upsert: readonly string[] | undefined
  readonly signal: Signal | undefined
  readonly ignoresTaken: boolean
}

const OPTION_NAMES = ['tokenization', 'upsert', 'onConflict', 'homogeneous', 'byot', 'allowShownText', 'signal'] as const

/** The words of `onConflict`, as events record them. */
const ON_CONFLICT: readonly string[] = ['ignore'] satisfies InsertOptions['onConflict'][]

/** Returns the stored records in order. Throws `invalid_request`, `unprocessable`, `conflict`, `forbidden` or `tokens_exhausted`; nothing is stored then. */
export const insert: Operation<InsertInput, InsertRequest, { records: readonly InsertedRecord[] }> = {
  action: 'INSERT',
  resourceType: 'RECORD',
  verb: 'Insert',
  members: ['table', 'records', 'options'],
  notFoundStatus: 400,
  recorded: {
    table: 'name',
    records: { fields: 'columns', tokens: 'columns' },
    tokenization: 'flag',
    upsert: 'name',
    onConflict: ON_CONFLICT,
    homogeneous: 'flag',
    byot: BYOT_MODES,
    allowShownText: 'flag',
    signal: 'omitted',
  },
  parse({ table: name, records, options = {} }, context) {
    const table = parseTable(context, name)
    assertOptions<InsertOptions>(options, OPTION_NAMES)
    assertNotEmpty(records, 'insert')
    const list = parseList(context, records, 'records')
    assertItems(list, ['fields', 'tokens'], 'records')
    return {
      table,
      ...parseWriteModes(options),
      homogeneous: parseFlag(options.homogeneous, 'homogeneous'),
      records: list,
      upsert: parseUpsert(options.upsert),
      signal: parseSignal(options.signal),
      ignoresTaken: parseWord(options.onConflict, 'onConflict', 'ignore'),
    }
  },
  async execute(given, request) {
    const context = request.signal === undefined ? given : { ...given, unit: abortableUnit(given.unit, request.signal) }
    const access = requireAccess(context, request.table, 'CREATE')
    const key = upsertKey(context, access, request)
    const parsed = readInput(() => parseRecords(context, access, request))
    if (key !== undefined) return { records: await upsertAll(context, { key, areOfBatch: false }, parsed) }
    return { records: await (request.ignoresTaken ? insertUntaken : insertAll)(context, parsed) }
  },
  once: { isNoted: ({ upsert, ignoresTaken }) => upsert === undefined && !ignoresTaken },
  asOne: {
    keys: {
      batch: (request) => (isSimple(request) && request.upsert === undefined ? kindOf(request) : undefined),
      // A token that is supplied can be one that another of them frees.
      prepared: (request) =>
        isSimple(request) && request.upsert !== undefined && request.mode === 'DISABLE'
          ? `${request.upsert.join()} ${kindOf(request)}`
          : undefined,
    },
    changes: upsertedRows,
    async execute(given, requests, events) {
      const context = { ...given, event: dividedRows(events) }
      const request = { ...at(requests, 0), records: requests.flatMap(({ records }) => records) }
      const access = requireAccess(given, request.table, 'CREATE')
      const key = upsertKey(given, access, request)
      const parsed = readInput(() => parseRecords(given, access, request))
      const stored = await (key === undefined
        ? insertAll(context, parsed)
        : upsertAll(context, { key, areOfBatch: true }, parsed))
      return stored.map((record) => ({ records: [record] }))
    },
  },
}

/** True for one record that is inserted or upserted in any case. */
function isSimple({ records, ignoresTaken, homogeneous }: InsertRequest): boolean {
  return records.length === 1 && !homogeneous && !ignoresTaken
}

/** Returns the same text for inserts into one table with the same options. */
function kindOf({ table, mode, tokenization, allowsShownText }: InsertRequest): string {
  return `${table.name} ${mode} ${tokenization} ${allowsShownText}`
}

/** Returns the checked records, and the tokens supplied with them. */
function parseRecords(
  context: OperationContext,
  access: TableAccess,
  { records, mode, homogeneous, tokenization, allowsShownText }: InsertRequest,
): CheckedRecords {
  const { table } = access
  assertRequiredWritable(context, access)
  const isGranted = alwaysGranted(access, 'CREATE')
  const values: Values[] = []
  const tokens: unknown[] = []
  const json = createJsonBudget(context.limits)
  for (let index = 0; index < records.length; index++) {
    const fields = memberOf(records[index], 'fields')
    tokens.push(memberOf(records[index], 'tokens'))
    if (!isGranted) assertColumnsWritable(context, access, { members: [fields, tokens[index]], action: 'CREATE' })
    values.push(parseFields(table, fields, { index, json }))
  }
  if (homogeneous) assertHomogeneous(table, values)
  const supplied = values.map((of, index) => parseTokens(table, tokens[index], { mode, values: of, index }))
  assertOwnFormsUnused({ ring: context.barrier.ring, layout: context.layout }, table, {
    tokens: supplied,
    values,
    indexes: [...records.keys()],
  })
  return { access, values, supplied, tokenization, allowsShownText }
}

function assertHomogeneous(table: Table, records: readonly Values[]): void {
  const first = at(records, 0)
  const index = records.findIndex((values) =>
    values.some((value, position) => (value === undefined) !== (first[position] === undefined)),
  )
  if (index < 0) return
  const detail = { table: table.name, index }
  throw fault('unprocessable', detail)`records[${index}] has other columns than records[0]; homogeneous requires the same.`
}
