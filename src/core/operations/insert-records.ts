/** Inserts records, all or none, or upserts them by a unique column, and answers their ids and tokens. */
import type { Byot } from '../barrier/brought-tokens.ts'
import { assertNoPointers, BYOT_MODES, parseTokens } from '../barrier/brought-tokens.ts'
import { valueTaken } from '../barrier/explain-conflict.ts'
import { keyOfCell, lookupCells } from '../barrier/lookup.ts'
import type { TokenTexts } from '../barrier/marks.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { mintRecords } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import { assertComplete, parseFields } from '../barrier/parse-record.ts'
import { VaultError } from '../errors.ts'
import { forbidden } from '../policy/refuse-access.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Cell } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { judgeRows } from '../row-access/evaluate-access.ts'
import { markedOf, storeNew } from '../records/record-store.ts'
import type { Change, Keyed, Merged } from '../records/upsert-store.ts'
import { storeMerged } from '../records/upsert-store.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import { assertOptions, byotOf, flagOf, listOf, tableOf } from '../execution/context.ts'
import { accessTo, assertGranted, assertMayComplete, assertNameable, beyondReach, columnFor, namedColumns } from '../execution/grants.ts'
import type { Operation, Untrusted } from '../execution/operation.ts'

const VERB = 'Insert'

/** A record as a caller sends it: values, and where he brings them tokens, by column. */
export interface RecordInput {
  readonly fields: unknown
  readonly tokens?: unknown
}

/** Options of an insert. Source: specification, "Records". */
export interface InsertOptions {
  /** Answer the tokens of tokenized columns. Default false. */
  readonly tokenization?: boolean
  /** Unique column to go by: a record that holds the same value there is updated instead. Empty means absent. */
  readonly upsert?: string
  /** Require every record to name the same columns. Not with upsert. */
  readonly homogeneous?: boolean
  /** Whether records may, or must, bring tokens of their own. Default DISABLE. */
  readonly byot?: Byot
}

/** Records, and the table they are to stand in. */
export interface InsertInput {
  readonly table: string
  readonly records: readonly RecordInput[]
  readonly options?: InsertOptions
}

/** What is asked, before any record is looked into: which columns a record may name is for the caller's grants to say. */
interface Request {
  readonly table: Table
  readonly records: readonly unknown[]
  readonly tokenization: boolean
  readonly homogeneous: boolean
  readonly mode: Byot
  readonly upsert: string | undefined
}

/** Records as they were understood. */
interface Understood {
  readonly parsed: readonly Values[]
  readonly brought: TokenTexts
  readonly tokenization: boolean
}

/** Inserts in the order given. Throws `invalid_request`, `unprocessable`, `conflict` or `forbidden`; then nothing is stored. */
export const insert: Operation<InsertInput, Request, { records: StoredRecord[] }> = {
  action: 'INSERT',
  resourceType: 'RECORD',
  verb: VERB,
  told: {
    table: 'name',
    records: { fields: 'columns', tokens: 'columns' },
    tokenization: 'flag',
    upsert: 'name',
    homogeneous: 'flag',
    byot: BYOT_MODES,
  },
  parse: parseInsert,
  async execute(context, request) {
    const access = accessTo(context, request.table, 'CREATE')
    const key = upsertColumn(context, access, request)
    const understood = { ...parseRecords(context, access, request), tokenization: request.tokenization }
    return {
      records: key === undefined ? await insertAll(context, access, understood) : await upsert(context, access, key, understood),
    }
  },
}

function parseInsert({ table: name, records, options = {} }: Untrusted<InsertInput>, context: ParsingContext): Request {
  const table = tableOf(context, name, 'invalid_request')
  context.story.about(table)
  assertOptions<InsertOptions>(options, VERB, ['tokenization', 'upsert', 'homogeneous', 'byot'])
  return {
    table,
    tokenization: flagOf(options.tokenization, VERB, 'tokenization'),
    homogeneous: flagOf(options.homogeneous, VERB, 'homogeneous'),
    mode: byotOf(options.byot, VERB),
    records: listOf(context, records, VERB, 'records'),
    upsert: options.upsert,
  }
}

/** Checks records, one after the other, and the tokens they bring. */
function parseRecords(
  context: OperationContext,
  access: TableAccess,
  { records: given, mode, homogeneous }: Request,
): Pick<Understood, 'parsed' | 'brought'> {
  const { table } = access
  assertMayComplete(context, access)
  const parsed = given.map((record, index) => {
    const fields = memberOf(record, 'fields')
    assertNameable(context, access, { members: [fields, memberOf(record, 'tokens')], action: 'CREATE' })
    return parseFields(table, fields, { verb: VERB, index })
  })
  if (homogeneous) assertHomogeneous(table, parsed)
  const brought = given.map((record, index) =>
    parseTokens(table, memberOf(record, 'tokens'), { mode, values: parsed[index] ?? [], place: { verb: VERB, index } }),
  )
  assertNoPointers(context.barrier.ring, context.layout, table, brought, VERB)
  return { parsed, brought }
}

function memberOf(record: unknown, name: keyof RecordInput): unknown {
  return typeof record === 'object' && record !== null ? Reflect.get(record, name) : undefined
}

async function insertAll(
  context: OperationContext,
  access: TableAccess,
  { parsed, brought, tokenization }: Understood,
): Promise<StoredRecord[]> {
  const { table } = access
  for (const [index, values] of parsed.entries()) {
    assertComplete(table, values, { verb: VERB, index })
    assertGranted(context, access, { action: 'CREATE', values })
  }
  const written = await storeNew(context, table, { records: parsed, brought, verb: VERB, indexes: [...parsed.keys()] })
  return mintRecords(context.barrier.ring, table, written.ids, tokenization ? markedOf(written, parsed, () => true) : undefined)
}

/** The column to upsert by; undefined for a plain insert. */
function upsertColumn(
  context: OperationContext,
  access: TableAccess,
  { upsert: name, homogeneous }: Request,
): Column | undefined {
  if (name === undefined || name === '') return undefined
  if (homogeneous)
    throw new VaultError('invalid_request', `${VERB} failed. homogeneous and upsert do not go together. Leave one out.`)
  const { table } = access
  const column = columnFor(context, access, { name, action: 'CREATE' })
  if (!access.couldMeet({ action: 'UPDATE', columns: [] })) throw forbidden(context.caller, 'UPDATE', table)
  if (!column.unique) {
    throw new VaultError(
      'unprocessable',
      `${VERB} failed. Column ${column.name} of table ${table.name} is not unique. Upsert by a unique column.`,
      {
        table: table.name,
        column: column.name,
      },
    )
  }
  return column
}

function assertHomogeneous(table: Table, records: readonly Values[]): void {
  const first = records[0] ?? []
  const odd = records.findIndex((values) =>
    values.some((value, position) => (value === undefined) !== (first[position] === undefined)),
  )
  if (odd < 0) return
  throw new VaultError(
    'unprocessable',
    `${VERB} failed. Record ${odd} of table ${table.name} names other columns than record 0, and homogeneous asks for the same.`,
    {
      table: table.name,
      index: odd,
    },
  )
}

/** Records that share a key are one, written one over the other in their order. */
async function upsert(
  context: OperationContext,
  access: TableAccess,
  key: Column,
  { parsed, brought, tokenization }: Understood,
): Promise<StoredRecord[]> {
  const { table } = access
  const cells = keyCells(context, table, key, parsed)
  const byCell = new Map<string, Keyed>()
  for (const [index, cell] of cells.entries()) {
    const record = { cell, values: parsed[index] ?? [], brought: brought[index], index }
    const earlier = byCell.get(keyOfCell(cell))
    byCell.set(keyOfCell(cell), earlier === undefined ? record : overlay(table, earlier, record))
  }
  const request: Merged = {
    verb: VERB,
    key,
    merged: [...byCell.values()],
    tokenization,
    assertNew(records) {
      for (const { values, index } of records) {
        assertComplete(table, values, { verb: VERB, index })
        assertGranted(context, access, { action: 'CREATE', values })
      }
    },
    assertChanges: (changes) => assertChangeable(context, access, key, changes),
    sawBefore(rows) {
      const grants = judgeRows(context, access, rows)
      return (row, column) => grants[row]?.level(column) !== undefined
    },
  }
  const stored = await context.unit.change((unit) => storeMerged({ ...context, unit }, table, request))
  const places = new Map([...byCell.keys()].map((cell, place) => [cell, place]))
  return cells.flatMap((cell) => stored.records[places.get(keyOfCell(cell)) ?? -1] ?? [])
}

/**
 * Refuses changes his grants do not cover. A row that he may not change is answered as any taken unique value is: that much
 * whoever may write a unique column learns anyway.
 */
function assertChangeable(context: OperationContext, access: TableAccess, key: Column, changes: readonly Change[]): void {
  const { table } = access
  for (const { values } of changes) {
    for (const { name } of namedColumns(table, values)) columnFor(context, access, { name, action: 'UPDATE' })
  }
  const [first] = beyondReach(context, access, changes)
  if (first !== undefined) throw valueTaken(table, key, { verb: VERB, index: first.index })
}

/** What storage finds each record's key under. Throws `unprocessable` where a record has no key. */
function keyCells(context: OperationContext, table: Table, key: Column, parsed: readonly Values[]): Exclude<Cell, null>[] {
  const missing = parsed.findIndex((values) => (values[key.position] ?? null) === null)
  if (missing >= 0) {
    throw new VaultError(
      'unprocessable',
      `${VERB} failed. Record ${missing} has no value in column ${key.name} of table ${table.name}, which the upsert goes by.`,
      {
        table: table.name,
        column: key.name,
        index: missing,
      },
    )
  }
  return lookupCells(
    context.barrier.ring,
    key,
    parsed.map((values) => values[key.position]),
  )
}

/** One record written over another: the later values win, and a token stays only with the value it was brought for. */
function overlay(table: Table, under: Keyed, over: Keyed): Keyed {
  const values = under.values.map((value, position) => (over.values[position] === undefined ? value : over.values[position]))
  const brought = new Map(over.brought ?? [])
  for (const [name, token] of under.brought ?? []) {
    if (over.values[table.byName.get(name)?.position ?? -1] === undefined) brought.set(name, token)
  }
  return { cell: under.cell, values, brought, index: under.index }
}
