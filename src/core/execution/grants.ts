/** What a caller's grants say to the names and rows of a request: the few checks all operations make, in one place. */
import type { Values } from '../barrier/parse-record.ts'
import { unknownColumn } from '../barrier/parse-record.ts'
import { openRows } from '../barrier/reveal.ts'
import type { Action } from '../policy/actions.ts'
import { forbidden } from '../policy/refuse-access.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { judgeRows, judgeValues } from '../row-access/evaluate-access.ts'
import type { SessionContext } from './context.ts'

/** What the caller may do with the table. Throws `forbidden` when no row of it could grant him the action on any column. */
export function accessTo(context: SessionContext, table: Table, action: Action): TableAccess {
  const access = context.access.table(table)
  if (!access.couldMeet({ action, columns: [] })) throw forbidden(context.caller, action, table)
  return access
}

/**
 * The column of this name, for this action. Throws `invalid_request` when there is none, in the same words when the caller
 * may not know of it; `forbidden` when he sees it and may not do this with it.
 */
export function columnFor(context: SessionContext, access: TableAccess, { name, action }: NamedColumn): Column {
  const { table } = access
  const column = typeof name === 'string' ? table.byName.get(name) : undefined
  if (column !== undefined && access.couldMay(action, column)) return column
  if (column !== undefined && access.couldSee(column)) throw forbidden(context.caller, action, table)
  throw unknownColumn(table.name, name)
}

/** A column as a request names it, and what for. */
export interface NamedColumn {
  readonly name: unknown
  readonly action: Action
}

/** Refuses names the caller may not write, hidden ones as unknown ones; before any value is looked at. */
export function assertNameable(
  context: SessionContext,
  access: TableAccess,
  { members, action }: { readonly members: readonly unknown[]; readonly action: 'CREATE' | 'UPDATE' },
): void {
  if (access.alwaysMeets({ action, columns: access.table.columns })) return
  for (const member of members) {
    if (typeof member !== 'object' || member === null) continue
    for (const name of Object.keys(member)) columnFor(context, access, { name, action })
  }
}

/** A caller who may not write a required column can insert nothing; told which, he would learn of it. */
export function assertMayComplete(context: SessionContext, access: TableAccess): void {
  const { table } = access
  if (table.columns.some((column) => column.required && !access.couldMay('CREATE', column)))
    throw forbidden(context.caller, 'CREATE', table)
}

/** The columns a record names. */
export function namedColumns(table: Table, values: Values): Column[] {
  return table.columns.filter((column) => values[column.position] !== undefined)
}

/** Refuses a record that his grants do not cover as it would stand. */
export function assertGranted(
  context: SessionContext,
  access: TableAccess,
  { action, values, before }: { readonly action: 'CREATE' | 'UPDATE'; readonly values: Values; before?(column: Column): unknown },
): void {
  const need = { action, columns: namedColumns(access.table, values) }
  if (access.alwaysMeets(need)) return
  const valueIn = (column: Column): unknown => {
    const value = values[column.position]
    return value === undefined ? before?.(column) : value
  }
  if (!judgeValues(access, valueIn).meets(need)) throw forbidden(context.caller, action, access.table)
}

/** A row that stands, what is to be written over it, and how an error names it. */
export interface Overwriting {
  readonly row: Row
  readonly values: Values
  readonly index: number
}

/** The changes his grants do not reach, since for them those rows are not there; refuses those that would leave their reach. */
export function beyondReach(context: SessionContext, access: TableAccess, changes: readonly Overwriting[]): Overwriting[] {
  const { table } = access
  if (access.alwaysMeets({ action: 'UPDATE', columns: table.columns })) return []
  const rows = changes.map(({ row }) => row)
  const grants = judgeRows(context, access, rows)
  const cursor = openRows(context.barrier, table, rows)
  const isReached = changes.map(
    ({ values }, index) => grants[index]?.meets({ action: 'UPDATE', columns: namedColumns(table, values) }) === true,
  )
  for (const [index, { values }] of changes.entries()) {
    if (isReached[index] !== true) continue
    cursor.to(index)
    assertGranted(context, access, { action: 'UPDATE', values, before: (column) => cursor.value(column) })
  }
  return changes.filter((_, index) => isReached[index] !== true)
}
