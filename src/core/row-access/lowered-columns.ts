/** Lowered columns: those that a result shows masked or redacted. A read names them, or refuses to show less than plain text. */
import { type Fault, fault, type Sentence, say, words } from '../errors.ts'
import type { Redaction } from '../redaction/levels.ts'
import type { Column, ColumnView, Table } from '../schema/layout.ts'

/** The option of reads that refuses a result with lowered columns. Default: they are shown, and named. */
export type OnLowered = 'throw'

/** The words of the option, as events record them. */
export const ON_LOWERED: readonly string[] = ['throw'] satisfies OnLowered[]

/** The names by views. Rows with equal access share their views, so a page has few lists. */
const byViews = new WeakMap<readonly ColumnView[], readonly string[]>()

/** Returns the names of the columns that are not shown in plain text, whatever their values: null is shown as null at every level. */
export function loweredColumns(views: readonly ColumnView[]): readonly string[] {
  const known = byViews.get(views)
  if (known !== undefined) return known
  const names = Object.freeze(views.flatMap(({ column, level }) => (level === 'PLAIN_TEXT' ? [] : [column.name])))
  byViews.set(views, names)
  return names
}

/** Returns whether a read refuses lowered columns. Throws `invalid_request` for another word, or for a redaction that lowers every column. */
export function parseOnLowered(onLowered: unknown, redaction: Redaction): boolean {
  if (onLowered === undefined) return false
  if (onLowered !== 'throw') throw fault('invalid_request')`onLowered must be throw, or absent.`
  if (redaction === 'MASKED' || redaction === 'REDACTED')
    throw fault('invalid_request')`onLowered cannot be combined with redaction ${words(redaction)}.`
  return true
}

/** What a result would show of one table: views of its columns and, if the caller named columns, all of these. */
export interface ShownColumns {
  readonly table: Table
  readonly views: Iterable<readonly ColumnView[]>
  readonly named: readonly Column[] | undefined
}

/** Throws `forbidden` if some row would be shown with a lowered column, or without a column that the caller named. Reads no value. */
export function assertPlainText({ table, views, named = [] }: ShownColumns): void {
  const lowered = new Set<string>()
  for (const ofRow of new Set(views)) {
    for (const name of loweredColumns(ofRow)) lowered.add(name)
    if (ofRow.length >= named.length) continue
    for (const column of named) if (!ofRow.some((view) => view.column === column)) lowered.add(column.name)
  }
  if (lowered.size > 0) throw notInPlainText([...lowered].map((column) => ({ table: table.name, column })))
}

/** A column of a table, by their names. */
interface NamedColumn {
  readonly table: string
  readonly column: string
}

/** Returns the `forbidden` error of a result with these lowered columns, without duplicates. The message names those of the first table. */
export function notInPlainText(details: readonly NamedColumn[]): Fault {
  const table = details[0]?.table ?? ''
  const columns = details.filter((one) => one.table === table).map(({ column }) => column)
  const names = columns.slice(1).reduce<Sentence>((listed, name) => say`${listed}, ${name}`, say`${columns[0] ?? ''}`)
  return fault(
    'forbidden',
    details,
  )`${words(columns.length === 1 ? 'Column' : 'Columns')} ${names} of table ${table} would not be shown in plain text, and onLowered is throw. Ask for redaction PLAIN_TEXT, and the vault owner for READ at that level.`
}
