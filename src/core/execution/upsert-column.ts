/** The column that an upsert looks its records up by, and the rows that have the keys of upserts. */
import type { Barrier } from '../barrier/barrier.ts'
import { lookupCells } from '../barrier/digest-values.ts'
import { fault, isRefusal } from '../errors.ts'
import { forbidden } from '../policy/create-access.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { append, required } from '../util/lists.ts'
import type { ChangedRows } from './changed-rows.ts'
import type { OperationContext } from './context.ts'
import { assertRequiredWritable, requireAccess, requireColumn } from './grants.ts'

/** What an upsert says beside its records. */
export interface Upserted {
  readonly table: Table
  readonly records: readonly unknown[]
  readonly upsert: string | undefined
  readonly homogeneous: boolean
  readonly ignoresTaken: boolean
}

/** The keys of upserts by one column. */
interface UpsertKeys {
  readonly table: Table
  readonly values: unknown[]
}

/** Returns the column to upsert by; undefined for an insert without upsert. */
export function upsertColumn(
  context: OperationContext,
  access: TableAccess,
  { upsert: name, homogeneous, ignoresTaken }: Omit<Upserted, 'records'>,
): Column | undefined {
  if (name === undefined || name === '') return undefined
  if (ignoresTaken) throw fault('invalid_request')`onConflict cannot be combined with upsert.`
  if (homogeneous) throw fault('invalid_request')`homogeneous cannot be combined with upsert.`
  const { table } = access
  const column = requireColumn(context, access, { name, action: 'CREATE' })
  if (!access.possiblyMeets({ action: 'UPDATE', columns: [] })) throw forbidden(context.caller, 'UPDATE', table)
  if (column.unique) return column
  const detail = { table: table.name, column: column.name }
  throw fault('unprocessable', detail)`Column ${column.name} of table ${table.name} is not unique. Upsert by a unique column.`
}

/** Returns the rows that have the keys of upserts. A value that its column does not accept is left out: its item will be refused. */
export async function upsertedRows(context: OperationContext, requests: readonly Upserted[]): Promise<ChangedRows[]> {
  const keyed = new Map<Column, UpsertKeys>()
  for (const request of requests) {
    const column = lookedUpColumn(context, request)
    if (column === undefined) continue
    const keys = keyed.get(column) ?? { table: request.table, values: [] }
    keyed.set(column, keys)
    for (const record of request.records) append(keys.values, keyIn(column, record))
  }
  const changed: ChangedRows[] = []
  for (const [column, { table, values }] of keyed)
    if (values.length > 0)
      changed.push({ table, ids: await findKeyed(context.unit.storage, context.barrier, { table, column, values }) })
  return changed
}

/**
 * Returns the column of the keys of an upsert; undefined for other requests, and for one that is refused before its keys are looked up. Its caller
 * would learn by waiting for a row that it exists.
 */
function lookedUpColumn(context: OperationContext, request: Upserted): Column | undefined {
  try {
    const access = requireAccess(context, request.table, 'CREATE')
    const column = upsertColumn(context, access, request)
    assertRequiredWritable(context, access)
    return column
  } catch (error) {
    if (!isRefusal(error)) throw error
    return undefined
  }
}

/** Returns the ids of the rows that have one of these values in a unique column, without opening them. */
async function findKeyed(
  storage: StorageReads,
  { ring }: Barrier,
  { table, column, values }: { readonly table: Table; readonly column: Column; readonly values: readonly unknown[] },
): Promise<number[]> {
  const filter = {
    kind: 'in',
    column: required(column.lookup, 'The look-up column of an upsert'),
    values: lookupCells(ring, column, values),
  } as const
  const rows = await storage.find(table.physical.name, filter, { order: 'asc', limit: values.length, columns: [] })
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

/** Returns a member of an object as a caller passes it, such as the fields of a record; undefined for anything that has none. */
export function memberOf(given: unknown, name: string): unknown {
  return typeof given === 'object' && given !== null ? Reflect.get(given, name) : undefined
}
