/** Evaluates the conditions of a policy on rows: what a caller can do with each row. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Values } from '../barrier/parse-record.ts'
import type { RecordIndex } from '../barrier/record-errors.ts'
import { columnValues, openColumns } from '../barrier/reveal.ts'
import type { LevelOf } from '../barrier/token-metadata.ts'
import type { Condition, Truth, ValueOf } from '../expressions/condition.ts'
import { compileCondition } from '../expressions/evaluate-condition.ts'
import { inSlices } from '../pace/pace.ts'
import { byBodies } from '../pace/pages.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import type { Column, Layout, Table } from '../schema/layout.ts'
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
