/** Refuses to write what a caller is shown in place of a value: a masked record that is written back would destroy its values. */
import type { Barrier } from '../barrier/barrier.ts'
import { cellDetail, inRecord, type RecordIndex, type Values } from '../barrier/parse-record.ts'
import { openColumns } from '../barrier/reveal.ts'
import { type Fault, fault } from '../errors.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import { REDACTED_TEXT } from '../redaction/redact.ts'
import { evaluateValues, type RowWithAccess } from '../row-access/evaluate-access.ts'
import type { Column, Table } from '../schema/layout.ts'
import { at } from '../util/at.ts'
import { ValueError } from '../values/column-type.ts'

/** The values of a record to write, and its index in the request. */
interface WrittenValues {
  readonly values: Values
  readonly index: RecordIndex
}

/** Throws `unprocessable` for a new record that holds the text of a redacted value in a column that the caller does not see in plain text. */
export function assertNewUnredacted(access: TableAccess, { values, index }: WrittenValues): void {
  if (!values.includes(REDACTED_TEXT)) return
  const granted = evaluateValues(access, (column) => values[column.position])
  assertNoRedactedText(access.table, granted, { values, index })
}

/**
 * Throws `unprocessable` for values that the caller would be shown in place of the stored ones: the text of a redacted value, or the
 * masked form of the value in this row. A masked form is compared only where the caller is shown it, so that a refusal reveals
 * nothing new, and also with a value that equals its masked form. `existing` has the row of each record before the write. Opens no body
 * without a value that looks like a masked form.
 */
export function assertUnredacted(
  barrier: Barrier,
  table: Table,
  { existing, records }: { readonly existing: readonly RowWithAccess[]; readonly records: readonly WrittenValues[] },
): void {
  for (const [position, { row, access }] of existing.entries()) {
    const { values, index } = at(records, position)
    assertNoRedactedText(table, access, { values, index })
    const suspects = table.readable.filter((column) => mayBeMaskedForm(access, column, values[column.position]))
    if (suspects.length === 0) continue
    const cursor = openColumns(barrier, table, [row], suspects)
    cursor.to(0)
    for (const column of suspects) {
      if (isMaskedForm(column, values[column.position], cursor.value(column))) throw redactedValue(table, column, index)
    }
  }
}

function assertNoRedactedText(table: Table, access: RowAccess, { values, index }: WrittenValues): void {
  if (!values.includes(REDACTED_TEXT)) return
  for (const column of table.columns) {
    if (values[column.position] === REDACTED_TEXT && access.level(column) !== 'PLAIN_TEXT')
      throw redactedValue(table, column, index)
  }
}

/** True if the caller is shown masked values of this column, and this value may be one. */
function mayBeMaskedForm(access: RowAccess, column: Column, value: unknown): boolean {
  if (column.mayBeMasked === undefined || value === undefined || value === null) return false
  return access.level(column) === 'MASKED' && column.mayBeMasked(column.type.toText(value))
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

function redactedValue(table: Table, column: Column, index: RecordIndex): Fault {
  const detail = cellDetail(table, column, index)
  return fault(
    'unprocessable',
    detail,
  )`Column ${column.name} of table ${table.name} cannot be set to the masked or redacted form of its value${inRecord(index)}. Leave it out to keep the value.`
}
