/** Evaluates the conditions of a policy on rows: what a caller can do with each row, and which of its columns are shown lowered. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Values } from '../barrier/parse-record.ts'
import type { RecordIndex } from '../barrier/record-errors.ts'
import { columnValues, openColumns } from '../barrier/reveal.ts'
import type { LevelOf } from '../barrier/token-metadata.ts'
import { type Fault, fault, type Sentence, say, words } from '../errors.ts'
import type { Condition, Truth, ValueOf } from '../expressions/condition.ts'
import { compileCondition } from '../expressions/evaluate-condition.ts'
import { byBodies, inSlices } from '../pace/pace.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { type Levels, NONE_LOWERED, type Redaction } from '../redaction.ts'
import type { Column, ColumnView } from '../schema/column-layout.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'

/** The dependencies of reading records and resolving tokens. */
export interface ReadingContext {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly layout: Layout
}

type CompiledCondition = (valueIn: ValueOf) => Truth

const compiled = new WeakMap<readonly Condition[], readonly CompiledCondition[]>()

/** Returns the compiled conditions of a caller's access to a table. They are compiled once for each access. */
export function compiledConditions({ conditions }: Pick<TableAccess, 'conditions'>): readonly CompiledCondition[] {
  const known = compiled.get(conditions)
  if (known !== undefined) return known
  const made = conditions.map((condition) => compileCondition(condition))
  compiled.set(conditions, made)
  return made
}

/** A row, and what the caller can do with it. */
export interface RowWithAccess {
  readonly row: Row
  readonly access: RowAccess
}

/** Rows, and the public ids of their records, in the same order. */
export interface FoundRows {
  readonly rows: readonly RowWithAccess[]
  readonly ids: readonly string[]
}

/** An existing row, the values to write over it, and the index of the record in the request. */
export interface Overwrite {
  readonly row: Row
  readonly values: Values
  readonly index: RecordIndex
}

/** The caller's access to each row of some overwrites, in order, and the overwrites of rows that are invisible for this update. */
export interface CheckedOverwrites {
  readonly existing: readonly RowWithAccess[]
  readonly invisible: readonly Overwrite[]
}

/** Returns each row with the caller's access to it, in order. Throws `data_loss` if a row that a condition reads fails authentication. */
export function evaluateAccess(barrier: Barrier, access: TableAccess, rows: readonly Row[]): RowWithAccess[] {
  if (access.conditions.length === 0) {
    const unconditional = access.forRow([])
    return rows.map((row) => ({ row, access: unconditional }))
  }
  const cursor = openColumns(barrier, access.table, rows, access.conditionColumns)
  return rows.map((row, index) => {
    cursor.to(index)
    return { row, access: evaluateValues(access, (column) => cursor.value(column)) }
  })
}

/** As `evaluateAccess`, of rows of any length: in slices, with a turn of the event loop between two of them. No promise if it is one slice. */
export function evaluateAccessInSlices(
  { barrier, scheduler }: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  access: TableAccess,
  rows: readonly Row[],
): RowWithAccess[] | Promise<RowWithAccess[]> {
  if (access.conditionColumns.length === 0) return evaluateAccess(barrier, access, rows)
  return inSlices(byBodies(rows), scheduler, (start, end) => evaluateAccess(barrier, access, rows.slice(start, end)))
}

/** Returns the highest level at which the caller is shown a value: in a row, at the index of its access, or a transient value by its token. */
export function levelsOf(access: TableAccess, rows: readonly RowAccess[]): LevelOf {
  const byToken = access.withoutRecord()
  return (row, column) => {
    if (column.token?.expires !== true) return at(rows, row).level(column)
    return byToken.allows('DETOKENIZATION', column) ? byToken.level(column) : undefined
  }
}

/** Returns the access to one record, given its values. Null and undefined both mean no value. */
export function evaluateValues(access: TableAccess, valueIn: (column: Column) => unknown): RowAccess {
  const cellOf: ValueOf = ({ column }) => (column === undefined ? null : (valueIn(column) ?? null))
  return access.forRow(compiledConditions(access).map((isTrue) => isTrue(cellOf)))
}

/** As `columnValues`, with a turn of the event loop between two slices. No promise if it is one slice. */
export function valuesInSlices(
  { barrier, scheduler }: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  { table, column }: { readonly table: Table; readonly column: Column },
  rows: readonly Row[],
): unknown[] | Promise<unknown[]> {
  return inSlices(byBodies(rows), scheduler, (start, end) => columnValues(barrier, table, column, rows.slice(start, end)))
}

/** The option of reads that refuses a result with lowered columns. Default: they are shown, and named. */
export type OnLowered = 'throw'

/** The words of the option, as events record them. */
export const ON_LOWERED: readonly string[] = ['throw'] satisfies OnLowered[]

/** The levels by views. Rows with equal access share their views, so a page has few objects. */
const byViews = new WeakMap<readonly ColumnView[], Levels>()

/** Returns the levels of the columns that are not shown in plain text, whatever their values: null is shown as null at every level. */
export function loweredLevels(views: readonly ColumnView[]): Levels {
  const known = byViews.get(views)
  if (known !== undefined) return known
  const lowered = views.flatMap(({ column: { name }, level }) => (level === 'PLAIN_TEXT' ? [] : [[name, level] as const]))
  const levels = lowered.length === 0 ? NONE_LOWERED : Object.freeze(Object.fromEntries(lowered))
  byViews.set(views, levels)
  return levels
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
    for (const name of Object.keys(loweredLevels(ofRow))) lowered.add(name)
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
