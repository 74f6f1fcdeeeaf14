/** Refuses to write what is shown in place of a value: a masked record that is written back would destroy its values. */

import { isUnchanged } from '../barrier/digest-values.ts'
import type { Values } from '../barrier/parse-record.ts'
import { cellDetail, inRecord, type RecordIndex } from '../barrier/record-errors.ts'
import { type OpenRows, openColumns } from '../barrier/reveal.ts'
import type { LevelOf } from '../barrier/token-metadata.ts'
import { type Fault, fault } from '../errors.ts'
import { inSlices } from '../pace/pace.ts'
import { bytesOfBody } from '../pace/pages.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import { REDACTED_TEXT } from '../redaction/levels.ts'
import { evaluateValues, type ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column, Table } from '../schema/layout.ts'
import { at, groupBy, required } from '../util/lists.ts'
import { ValueError } from '../values/column-type.ts'
import { liveTransients, type TransientCell, transientCells } from './unchanged-cells.ts'

/** The values of a record to write, and its index in the request. */
interface WrittenValues {
  readonly values: Values
  readonly index: RecordIndex
}

/** Records to write over existing rows, one for each row, and the caller's access to each before. */
interface WrittenOver {
  readonly table: Table
  readonly rows: readonly Row[]
  readonly before: readonly RowAccess[]
  readonly levelOf: LevelOf
  readonly records: readonly WrittenValues[]
}

/**
 * Throws `unprocessable` for a new record that holds the text of a redacted value in a column whose own level is lower than plain text, or that the
 * caller does not see in plain text.
 */
export function assertNewUnredacted(access: TableAccess, { values, index }: WrittenValues): void {
  if (!values.includes(REDACTED_TEXT)) return
  const granted = evaluateValues(access, (column) => values[column.position])
  assertNoRedactedText(access.table, granted, { values, index })
}

/**
 * Throws `unprocessable` for values that are shown in place of the stored ones: the text of a redacted value, or the masked form of the value in this
 * row. A refusal reveals nothing. A masked form is compared only for callers who can be shown it, and refused also where it equals the value, except for
 * those who see that. For all others the text alone decides: one with a star is refused whatever is stored. Opens no body without such a text, unless
 * the mask replaces matches, which can write anything.
 */
export async function assertUnredacted(storage: StorageReads, context: ReadingContext, written: WrittenOver): Promise<void> {
  const { table, rows, before, records } = written
  const suspects: Suspect[] = []
  const masked = table.columns.filter(({ mask }) => mask !== undefined)
  for (let position = 0; position < rows.length; position++) {
    assertNoRedactedText(table, required(before[position]), required(records[position]))
    for (const column of masked) if (isSuspect(column, written, position)) suspects.push({ position, column })
  }
  if (suspects.length === 0) return
  const groups = [...groupBy(suspects, ({ position }) => position)]
  const list = { count: groups.length, bytesAt: (index: number) => bytesOfBody(rows[required(groups[index])[0]]) }
  const apart = await inSlices(list, context.scheduler, (start, end) => compareRows(context, written, groups.slice(start, end)))
  const cells = apart.map(({ cell }) => cell)
  const live = await liveTransients(storage, context, cells)
  for (const { cell, position, column } of apart) assertNotMasked(written, { position, column }, live.get(cell)?.value ?? null)
}

/** A value that may be a masked form: the position of its record, and its column. */
interface Suspect {
  readonly position: number
  readonly column: Column
}

/** Compares suspects with the values in their rows. Returns those whose values are stored apart. */
function compareRows(
  { barrier }: ReadingContext,
  written: WrittenOver,
  groups: readonly (readonly [position: number, suspects: readonly Suspect[]])[],
): (Suspect & { readonly cell: TransientCell })[] {
  const { table, rows } = written
  const columns = [...new Set(groups.flatMap(([, suspects]) => suspects.map(({ column }) => column)))]
  const opened = groups.map(([position]) => at(rows, position))
  const cursor: OpenRows = openColumns(barrier, table, opened, columns)
  const cells = transientCells(cursor, table)
  const apart: (Suspect & { cell: TransientCell })[] = []
  for (const [k, [, suspects]] of groups.entries()) {
    cursor.to(k)
    for (const suspect of suspects) {
      const { column } = suspect
      if (column.token?.expires !== true) {
        assertNotMasked(written, suspect, cursor.value(column))
        continue
      }
      const cell = cells(column)
      if (cell !== undefined) apart.push({ ...suspect, cell })
    }
  }
  return apart
}

function assertNoRedactedText(table: Table, access: RowAccess, { values, index }: WrittenValues): void {
  if (!values.includes(REDACTED_TEXT)) return
  for (const column of table.columns) {
    if (values[column.position] !== REDACTED_TEXT) continue
    if (column.level !== 'PLAIN_TEXT' || access.level(column) !== 'PLAIN_TEXT') throw shownText(table, column, index)
  }
}

/** True if a value must be compared with the stored one. Throws for one that is refused without comparing. */
function isSuspect(column: Column, { table, levelOf, records }: WrittenOver, position: number): boolean {
  const { values, index } = required(records[position])
  const value = values[column.position]
  if (value === undefined || value === null || column.mayBeMasked?.(column.type.toText(value)) !== true) return false
  const level = levelOf(position, column)
  if (level === 'MASKED') return true
  if (column.level === 'PLAIN_TEXT') return false
  if (level === 'PLAIN_TEXT') return true
  if (typeof value === 'string' && value.includes('*')) throw shownText(table, column, index)
  return false
}

/** Throws if a value is the masked form of the stored one. A caller who sees the value can write it again. */
function assertNotMasked({ table, levelOf, records }: WrittenOver, { position, column }: Suspect, stored: unknown): void {
  const { values, index } = at(records, position)
  const value = values[column.position]
  if (!isMaskedForm(column, value, stored)) return
  if (levelOf(position, column) !== 'PLAIN_TEXT' || !isUnchanged(column, stored, value)) throw shownText(table, column, index)
}

/** True if the value is what the masked form of the stored value means in its column: a masked date can be a date. */
function isMaskedForm(column: Column, value: unknown, stored: unknown): boolean {
  if (column.mask === undefined || stored === null) return false
  try {
    const masked = column.type.parse(column.mask(column.type.toText(stored)))
    return column.type.toText(masked) === column.type.toText(value)
  } catch (error) {
    // The masked form is no value of the column, so it is not what was written.
    if (error instanceof ValueError) return false
    throw error
  }
}

function shownText(table: Table, column: Column, index: RecordIndex): Fault {
  const detail = cellDetail(table, column, index)
  return fault(
    'unprocessable',
    detail,
  )`Column ${column.name} of table ${table.name} cannot be set to the masked or redacted form of a value${inRecord(index)}. Leave it out to keep the value; a session can write the text with allowShownText.`
}
