/** Inserts records, all or none, or upserts them by a unique column, and answers their ids and tokens. */
import type { Byot } from '../barrier/brought-tokens.ts'
import { assertNoPointers, parseTokens } from '../barrier/brought-tokens.ts'
import { isSameValue } from '../barrier/digest-values.ts'
import { keyOfCell, lookupCells } from '../barrier/lookup.ts'
import type { TokenTexts } from '../barrier/marks.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { mintRecords } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import { assertComplete, parseFields, unknownColumn } from '../barrier/parse-record.ts'
import { openRows } from '../barrier/reveal.ts'
import { isVaultError, VaultError } from '../errors.ts'
import { visibleColumn } from '../policy/column-views.ts'
import { assertAllowed } from '../policy/decide.ts'
import type { Cell, Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { Written } from '../stores/record-store.ts'
import { markedOf, STALE, storeChanges, storeNew } from '../stores/record-store.ts'
import type { Writing } from '../stores/writing.ts'
import type { OperationContext } from './context.ts'
import { assertOptions, byotOf, flagOf, listOf, tableOf } from './context.ts'

const VERB = 'Insert'

/** Times an upsert begins again because others keep changing the same records. */
const MOST_ATTEMPTS = 1000

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

/** Records as they were understood. */
interface Request {
  readonly parsed: readonly Values[]
  readonly brought: TokenTexts
  readonly tokenization: boolean
}

/** Inserts in the order given. Throws `invalid_request`, `rule_broken`, `conflict` or `forbidden`; then nothing is stored. */
export async function insertRecords(
  context: OperationContext,
  tableName: string,
  records: readonly RecordInput[],
  options: InsertOptions,
): Promise<{ records: StoredRecord[] }> {
  const table = tableOf(context, tableName, VERB, 'invalid_request')
  assertOptions<InsertOptions>(options, VERB, ['tokenization', 'upsert', 'homogeneous', 'byot'])
  const tokenization = flagOf(options.tokenization, VERB, 'tokenization')
  const homogeneous = flagOf(options.homogeneous, VERB, 'homogeneous')
  const mode = byotOf(options.byot, VERB)
  const given = listOf(context, records, VERB, 'records')
  assertAllowed(context.caller, 'CREATE', table)
  const key = upsertColumn(context, table, options.upsert, homogeneous)
  const parsed = given.map((record, index) => parseFields(table, memberOf(record, 'fields'), { verb: VERB, index }))
  if (homogeneous) assertHomogeneous(table, parsed)
  const brought = given.map((record, index) =>
    parseTokens(table, memberOf(record, 'tokens'), { mode, values: parsed[index] ?? [], place: { verb: VERB, index } }),
  )
  assertNoPointers(context.barrier.ring, context.layout, table, brought, VERB)
  const request = { parsed, brought, tokenization }
  return { records: key === undefined ? await insert(context, table, request) : await upsert(context, table, key, request) }
}

function memberOf(record: unknown, name: keyof RecordInput): unknown {
  return typeof record === 'object' && record !== null ? Reflect.get(record, name) : undefined
}

async function insert(
  context: OperationContext,
  table: Table,
  { parsed, brought, tokenization }: Request,
): Promise<StoredRecord[]> {
  for (const [index, values] of parsed.entries()) assertComplete(table, values, { verb: VERB, index })
  const written = await storeNew(context, table, { records: parsed, brought, verb: VERB, indexes: [...parsed.keys()] })
  return mintRecords(context.barrier.ring, table, written.ids, tokenization ? markedOf(written, parsed) : undefined)
}

/** The column to upsert by; undefined for a plain insert. */
function upsertColumn(
  context: OperationContext,
  table: Table,
  name: string | undefined,
  homogeneous: boolean,
): Column | undefined {
  if (name === undefined || name === '') return undefined
  if (homogeneous)
    throw new VaultError('invalid_request', `${VERB} failed. homogeneous and upsert do not go together. Leave one out.`)
  const column = visibleColumn(context.caller, table, name)
  if (column === undefined) throw unknownColumn(VERB, table.name, name)
  if (!column.unique) {
    throw new VaultError(
      'rule_broken',
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
    'rule_broken',
    `${VERB} failed. Record ${odd} of table ${table.name} names other columns than record 0, and homogeneous asks for the same.`,
    {
      table: table.name,
      index: odd,
    },
  )
}

/** Records that share a key are one, written one over the other in their order. */
interface Keyed {
  /** What storage finds the key under. */
  readonly cell: Exclude<Cell, null>
  readonly values: Values
  readonly brought: ReadonlyMap<string, string> | undefined
  /** Where the first of them stood in the request. */
  readonly index: number
}

async function upsert(
  context: OperationContext,
  table: Table,
  key: Column,
  { parsed, brought, tokenization }: Request,
): Promise<StoredRecord[]> {
  const cells = keyCells(context, table, key, parsed)
  const byCell = new Map<string, Keyed>()
  for (const [index, cell] of cells.entries()) {
    const record = { cell, values: parsed[index] ?? [], brought: brought[index], index }
    const earlier = byCell.get(keyOfCell(cell))
    byCell.set(keyOfCell(cell), earlier === undefined ? record : overlay(table, earlier, record))
  }
  const merged = [...byCell.values()]
  const stored = await context.storage.transaction((storage) =>
    storeMerged({ ...context, storage }, table, { key, merged, tokenization }),
  )
  const places = new Map([...byCell.keys()].map((cell, place) => [cell, place]))
  return cells.flatMap((cell) => stored[places.get(keyOfCell(cell)) ?? -1] ?? [])
}

/** What storage finds each record's key under. Throws `rule_broken` where a record has no key. */
function keyCells(context: OperationContext, table: Table, key: Column, parsed: readonly Values[]): Exclude<Cell, null>[] {
  const missing = parsed.findIndex((values) => (values[key.position] ?? null) === null)
  if (missing >= 0) {
    throw new VaultError(
      'rule_broken',
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

interface Merged {
  readonly key: Column
  readonly merged: readonly Keyed[]
  readonly tokenization: boolean
}

/** Updates the records that exist and inserts the others, beginning again when another transaction was quicker. */
async function storeMerged(context: OperationContext, table: Table, request: Merged): Promise<(StoredRecord | undefined)[]> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const found = await findByKey(context, table, request)
    try {
      return await context.storage.transaction((storage) => storeOnce({ ...context, storage }, table, request, found))
    } catch (error) {
      const raced = error === STALE || (isVaultError(error, 'conflict') && error.facts.column === request.key.name)
      if (!raced) throw error
    }
  }
  throw new VaultError(
    'unavailable',
    `${VERB} failed. The records of table ${table.name} are being changed too often. Try again.`,
    { table: table.name },
  )
}

/** The row each merged record already has. */
async function findByKey(context: OperationContext, table: Table, { key, merged }: Merged): Promise<(Row | undefined)[]> {
  const cells = merged.map((record) => record.cell)
  const lookup = key.lookup ?? ''
  const rows = await context.storage.find(
    table.physical.name,
    { kind: 'in', column: lookup, values: cells },
    { order: 'up', limit: merged.length },
  )
  const cursor = openRows(context.barrier, table, rows)
  const byCell = new Map(rows.map((row, index) => [keyOfCell(row[lookup]), index]))
  return merged.map(({ cell, values }) => {
    const index = byCell.get(keyOfCell(cell))
    if (index === undefined) return undefined
    cursor.to(index)
    // What a digest claims is checked on the opened value: a digest moved by hand brings no wrong record.
    return isSameValue(key, cursor.value(key), values[key.position]) ? rows[index] : undefined
  })
}

/** One try, inside its own savepoint: changes to the records that exist, then the new ones. */
async function storeOnce(
  context: OperationContext,
  table: Table,
  { merged, tokenization }: Merged,
  found: readonly (Row | undefined)[],
): Promise<(StoredRecord | undefined)[]> {
  const places = merged.map((_, place) => place)
  const old = places.filter((place) => found[place] !== undefined)
  const fresh = places.filter((place) => found[place] === undefined)
  for (const place of fresh) assertComplete(table, merged[place]?.values ?? [], { verb: VERB, index: merged[place]?.index ?? 0 })
  const stored: (StoredRecord | undefined)[] = new Array(merged.length)
  const note = (at: readonly number[], written: Written, records: readonly Values[]): void => {
    const minted = mintRecords(context.barrier.ring, table, written.ids, tokenization ? markedOf(written, records) : undefined)
    for (const [k, record] of minted.entries()) stored[at[k] ?? 0] = record
  }
  if (old.length > 0) {
    const changes = writingOf(merged, old)
    const written = await storeChanges(
      context,
      table,
      old.flatMap((place) => found[place] ?? []),
      changes,
    )
    if (written === undefined) throw STALE
    note(old, written, changes.records)
  }
  if (fresh.length > 0) {
    const news = writingOf(merged, fresh)
    note(fresh, await storeNew(context, table, news), news.records)
  }
  return stored
}

function writingOf(merged: readonly Keyed[], places: readonly number[]): Writing {
  const chosen = places.flatMap((place) => merged[place] ?? [])
  return {
    records: chosen.map(({ values }) => values),
    brought: chosen.map(({ brought }) => brought),
    verb: VERB,
    indexes: chosen.map(({ index }) => index),
  }
}
