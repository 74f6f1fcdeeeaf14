/** The rows that upserts of a batch will change: those that have their keys. Source: docs/decisions/0087. */
import { lookupCells } from '../barrier/lookup.ts'
import type { Column, Table } from '../schema/layout.ts'
import { required } from '../util/at.ts'
import type { ChangedRows } from './changed-rows.ts'
import type { OperationContext } from './context.ts'

/** What names the rows of an upsert, before its records are checked. */
interface UpsertNames {
  readonly table: Table
  /** The name of the column of the keys. Absent for an insert. */
  readonly upsert: string | undefined
  readonly records: readonly unknown[]
}

/** The keys of upserts by one column. */
interface UpsertKeys {
  readonly table: Table
  readonly values: unknown[]
}

/** Returns the rows that have the keys of upserts. A key that its column does not accept is left out, and so is a column that is not unique: their items will be refused. */
export async function upsertedRows(context: OperationContext, requests: readonly UpsertNames[]): Promise<ChangedRows[]> {
  const keyed = new Map<Column, UpsertKeys>()
  for (const { table, upsert: name, records } of requests) {
    const column = name === undefined ? undefined : table.byName.get(name)
    const access = context.access.table(table)
    if (column?.unique !== true || !access.possiblyMeets({ action: 'UPDATE', columns: [] })) continue
    const keys = keyed.get(column) ?? { table, values: [] }
    keyed.set(column, keys)
    for (const record of records) keys.values.push(...keyIn(column, record))
  }
  const changed: ChangedRows[] = []
  for (const [column, { table, values }] of keyed)
    if (values.length > 0) changed.push({ table, ids: await findKeyed(context, { table, column, values }) })
  return changed
}

/** Returns the ids of the rows that have one of these values in a unique column, without opening them. */
async function findKeyed(
  { unit, barrier }: OperationContext,
  { table, column, values }: UpsertKeys & { readonly column: Column },
): Promise<number[]> {
  const filter = {
    kind: 'in',
    column: required(column.lookup, 'The look-up column of an upsert'),
    values: lookupCells(barrier.ring, column, values),
  } as const
  const rows = await unit.storage.find(table.physical.name, filter, { order: 'asc', limit: values.length, columns: [] })
  return rows.map(({ id }) => id)
}

/** Returns the value of the key of a record; nothing if it has none. */
function keyIn(column: Column, record: unknown): unknown[] {
  try {
    const value = memberOf(memberOf(record, 'fields'), column.name)
    return value === undefined || value === null ? [] : [column.type.parse(value)]
  } catch {
    return []
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
