/** Inserts records, all or none, or upserts them by a unique column, and answers their ids and tokens. */
import { admitRows, amendRows } from '../barrier/admit.ts'
import { isSameValue } from '../barrier/digest-values.ts'
import { conflictColumn, explainConflict } from '../barrier/explain-conflict.ts'
import { lookupCells } from '../barrier/lookup.ts'
import type { StoredRecord } from '../barrier/mint-pointers.ts'
import { mintRecords } from '../barrier/mint-pointers.ts'
import type { Values } from '../barrier/parse-record.ts'
import { assertComplete, parseFields, unknownColumn } from '../barrier/parse-record.ts'
import { openRows } from '../barrier/reveal.ts'
import { isVaultError, VaultError } from '../errors.ts'
import { visibleColumn } from '../policy/column-views.ts'
import { assertAllowed } from '../policy/decide.ts'
import type { Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { OperationContext } from './context.ts'
import { assertList, assertOptions, flagOf, tableOf } from './context.ts'

const VERB = 'Insert'

/** Times an upsert begins again because others keep changing the same records. */
const MOST_ATTEMPTS = 1000

/** Options of an insert. Source: specification, "Records". */
export interface InsertOptions {
  /** Answer the tokens of tokenized columns. Default false. */
  readonly tokenization?: boolean
  /** Unique column to go by: a record that holds the same value there is updated instead. Empty means absent. */
  readonly upsert?: string
  /** Require every record to name the same columns. Not with upsert. */
  readonly homogeneous?: boolean
}

/** Inserts in the order given. Throws `invalid_request`, `rule_broken`, `conflict` or `forbidden`; then nothing is stored. */
export async function insertRecords(
  context: OperationContext,
  tableName: string,
  records: readonly { readonly fields: unknown }[],
  options: InsertOptions,
): Promise<{ records: StoredRecord[] }> {
  const table = tableOf(context, tableName, VERB, 'invalid_request')
  assertOptions<InsertOptions>(options, VERB, ['tokenization', 'upsert', 'homogeneous'])
  const tokenization = flagOf(options.tokenization, VERB, 'tokenization')
  const homogeneous = flagOf(options.homogeneous, VERB, 'homogeneous')
  assertList(context, records, VERB, 'records')
  assertAllowed(context.caller, 'CREATE', table)
  const key = upsertColumn(context, table, options.upsert, homogeneous)
  const parsed = records.map((record, index) => parseFields(table, record?.fields, { verb: VERB, index }))
  if (homogeneous) assertHomogeneous(table, parsed)
  if (key !== undefined) return { records: await upsert(context, table, { key, parsed, tokenization }) }
  for (const [index, values] of parsed.entries()) assertComplete(table, values, { verb: VERB, index })
  const ids = await context.storage.reserveIds(table.physical.name, parsed.length)
  const { rows, stamps } = admitRows(context.barrier, table, ids, parsed)
  await context.storage.insert(table.physical.name, rows).catch((error: unknown) => {
    throw explainConflict(error, table, VERB)
  })
  return { records: mintRecords(context.barrier.ring, table, ids, tokenization ? stamps : undefined) }
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

interface Upsert {
  readonly key: Column
  readonly parsed: readonly Values[]
  readonly tokenization: boolean
}

/** Records that share a key are one, written one over the other in their order. */
interface Keyed {
  readonly values: Values
  /** Where the first of them stood in the request. */
  readonly index: number
}

async function upsert(context: OperationContext, table: Table, { key, parsed, tokenization }: Upsert): Promise<StoredRecord[]> {
  const cells = keyCells(context, table, key, parsed)
  const byCell = new Map<string, Keyed>()
  cells.forEach((cell, index) => {
    const values = parsed[index] ?? []
    const earlier = byCell.get(cell)
    byCell.set(
      cell,
      earlier === undefined ? { values, index } : { values: overlay(earlier.values, values), index: earlier.index },
    )
  })
  const merged = [...byCell.values()]
  const stored = await context.storage.transaction((storage) =>
    storeMerged({ ...context, storage }, table, { key, merged, tokenization }),
  )
  const places = new Map([...byCell.keys()].map((cell, place) => [cell, place]))
  return cells.flatMap((cell) => stored[places.get(cell) ?? -1] ?? [])
}

/** A text for each record that equal keys share. Throws `rule_broken` where a record has no key. */
function keyCells(context: OperationContext, table: Table, key: Column, parsed: readonly Values[]): string[] {
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
  ).map(String)
}

function overlay(under: Values, over: Values): Values {
  return under.map((value, position) => (over[position] === undefined ? value : over[position]))
}

interface Merged {
  readonly key: Column
  readonly merged: readonly Keyed[]
  readonly tokenization: boolean
}

/** Thrown inside one try to undo it when a row changed under it. */
const STALE = new Error('a row changed between reading and writing it')

/** Updates the records that exist and inserts the others, beginning again when another transaction was quicker. */
async function storeMerged(context: OperationContext, table: Table, request: Merged): Promise<(StoredRecord | undefined)[]> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const found = await findByKey(context, table, request)
    try {
      return await context.storage.transaction((storage) => storeOnce({ ...context, storage }, table, request, found))
    } catch (error) {
      const raced = error === STALE || (isVaultError(error, 'conflict') && conflictColumn(error, table) === request.key.name)
      if (!raced) throw explainConflict(error, table, VERB)
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
  const values = merged.map((record) => record.values[key.position])
  const cells = lookupCells(context.barrier.ring, key, values)
  const lookup = key.lookup ?? ''
  const rows = await context.storage.find(
    table.physical.name,
    { kind: 'in', column: lookup, values: cells },
    { order: 'up', limit: merged.length },
  )
  const cursor = openRows(context.barrier, table, rows)
  const byCell = new Map(rows.map((row, index) => [String(row[lookup]), index]))
  return cells.map((cell, place) => {
    const index = byCell.get(String(cell))
    if (index === undefined) return undefined
    cursor.to(index)
    // What a digest claims is checked on the opened value: a digest moved by hand brings no wrong record.
    return isSameValue(key, cursor.value(key), values[place]) ? rows[index] : undefined
  })
}

/** One try, inside its own savepoint. */
async function storeOnce(
  context: OperationContext,
  table: Table,
  { merged, tokenization }: Merged,
  found: readonly (Row | undefined)[],
): Promise<(StoredRecord | undefined)[]> {
  const { storage, barrier } = context
  const old: { row: Row; values: Values; place: number }[] = []
  const fresh: { values: Values; place: number }[] = []
  merged.forEach(({ values, index }, place) => {
    const row = found[place]
    if (row === undefined) assertComplete(table, values, { verb: VERB, index })
    if (row === undefined) fresh.push({ values, place })
    else old.push({ row, values, place })
  })
  const patched = amendRows(
    barrier,
    table,
    old.map((one) => one.row),
    old.map((one) => one.values),
  )
  if (old.length > 0 && (await storage.update(table.physical.name, patched.rows)).includes(false)) throw STALE
  const ids = fresh.length === 0 ? [] : await storage.reserveIds(table.physical.name, fresh.length)
  const admitted = admitRows(
    barrier,
    table,
    ids,
    fresh.map((one) => one.values),
  )
  if (fresh.length > 0) await storage.insert(table.physical.name, admitted.rows)
  const stored: (StoredRecord | undefined)[] = new Array(merged.length)
  const oldIds = old.map((one) => one.row.id)
  for (const [k, record] of mintRecords(barrier.ring, table, oldIds, tokenization ? patched.stamps : undefined).entries()) {
    stored[old[k]?.place ?? 0] = record
  }
  for (const [k, record] of mintRecords(barrier.ring, table, ids, tokenization ? admitted.stamps : undefined).entries()) {
    stored[fresh[k]?.place ?? 0] = record
  }
  return stored
}
