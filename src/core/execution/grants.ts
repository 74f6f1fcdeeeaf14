/** Checks the names and rows of a request against the caller's grants: the few checks that operations share. */

import type { Values } from '../barrier/parse-record.ts'
import { unknownColumn } from '../barrier/record-errors.ts'
import { openRows } from '../barrier/reveal.ts'
import { forbidden } from '../policy/create-access.ts'
import type { Action } from '../policy/statement.ts'
import type { TableAccess } from '../policy/table-access.ts'
import { type CheckedOverwrites, evaluateAccess, evaluateValues, type Overwrite } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'
import type { SessionContext } from './context.ts'

/** Returns the caller's access to a table. Throws `forbidden` if no row can grant the action on any column. */
export function requireAccess(context: SessionContext, table: Table, action: Action): TableAccess {
  const access = context.access.table(table)
  if (!access.possiblyMeets({ action, columns: [] })) throw forbidden(context.caller, action, table)
  return access
}

/** Throws `forbidden` for a caller without a statement ALL ON * in plain text: a credential can have any role, so only an owner may give it out. */
export function assertOwner({ access, caller }: Pick<SessionContext, 'access' | 'caller'>): void {
  if (!access.allowsEverything) throw forbidden(caller, 'ALL')
}

/** Throws `forbidden` for a caller without AUDIT. */
export function assertAuditor({ access, caller }: Pick<SessionContext, 'access' | 'caller'>): void {
  if (!access.allowsAudit) throw forbidden(caller, 'AUDIT')
}

/** The name of a column in a request, and the action to do with it. */
export interface NamedColumn {
  readonly name: unknown
  readonly action: Action
}

/**
 * Returns the column with this name. Throws `invalid_request` if it does not exist or is invisible to the caller, and `forbidden` if
 * the caller can read it but has no grant for the action.
 */
export function requireColumn(context: SessionContext, access: TableAccess, { name, action }: NamedColumn): Column {
  const { table } = access
  const column = typeof name === 'string' ? table.byName.get(name) : undefined
  if (column !== undefined && access.possiblyAllows(action, column)) return column
  if (column !== undefined && access.possiblyVisible(column)) throw forbidden(context.caller, action, table)
  throw unknownColumn(table.name, name)
}

/** True if the action is granted on every column of every row. Then no record needs to be checked. */
export function alwaysGranted({ table, alwaysMeets }: TableAccess, action: Action): boolean {
  return alwaysMeets({ action, columns: table.columns })
}

/** Throws like `requireColumn` for a column that the caller cannot write. Reads names only, no values. */
export function assertColumnsWritable(
  context: SessionContext,
  access: TableAccess,
  { members, action }: { readonly members: readonly unknown[]; readonly action: 'CREATE' | 'UPDATE' },
): void {
  if (alwaysGranted(access, action)) return
  for (const member of members) {
    if (typeof member !== 'object' || member === null) continue
    for (const name of Object.keys(member)) requireColumn(context, access, { name, action })
  }
}

/** Throws `forbidden` if the caller cannot write a required column. The error does not name it: the caller may not know that it exists. */
export function assertRequiredWritable(context: SessionContext, access: TableAccess): void {
  const { table } = access
  if (table.columns.some((column) => column.required && !access.possiblyAllows('CREATE', column)))
    throw forbidden(context.caller, 'CREATE', table)
}

/** Returns the columns that a record names. */
export function namedColumns(table: Table, values: Values): Column[] {
  return table.columns.filter((column) => values[column.position] !== undefined)
}

/** A record as it would be stored: the values it names and, for an update, its current values. */
interface ResultingRecord {
  readonly action: 'CREATE' | 'UPDATE'
  readonly values: Values
  before?(column: Column): unknown
}

/** Throws `forbidden` for a record that the caller's grants would not cover after it is stored. */
export function assertGranted(context: SessionContext, access: TableAccess, { action, values, before }: ResultingRecord): void {
  const need = { action, columns: namedColumns(access.table, values) }
  if (access.alwaysMeets(need)) return
  const valueIn = (column: Column): unknown => {
    const value = values[column.position]
    return value === undefined ? before?.(column) : value
  }
  if (!evaluateValues(access, valueIn).meets(need)) throw forbidden(context.caller, action, access.table)
}

/** Checks overwrites of visible rows against the caller's grants. Throws `forbidden` for one that the grants would not cover after it is stored. */
export function checkOverwrites(
  context: SessionContext,
  access: TableAccess,
  overwrites: readonly Overwrite[],
): CheckedOverwrites {
  const { table } = access
  const rows = overwrites.map(({ row }) => row)
  const existing = evaluateAccess(context.barrier, access, rows)
  if (alwaysGranted(access, 'UPDATE')) return { existing, invisible: [] }
  const cursor = openRows(context.barrier, table, rows)
  const invisible = overwrites.filter(({ values }, index) => {
    const need = { action: 'UPDATE', columns: namedColumns(table, values) } as const
    if (!at(existing, index).access.meets(need)) return true
    cursor.to(index)
    assertGranted(context, access, { action: 'UPDATE', values, before: (column) => cursor.value(column) })
    return false
  })
  return { existing, invisible }
}
