/** What PostgreSQL takes in one row: the number of its columns, and the bytes that must stay in its page. */
import { VaultError } from '../../core/errors.ts'
import type { PhysicalColumn, PhysicalTable } from '../../core/ports/storage.ts'
import { tooManyColumnsError } from '../errors/storage-errors.ts'
import { toTableShape } from '../sql/table-shapes.ts'
import { ENGINE } from './setup-errors.ts'

/** Columns of a table at most. */
const MAX_COLUMNS = 1600
/** Bytes of a row in a page of 8 kB at most. */
export const MAX_ROW_BYTES = 8160
/** Bytes of a number. */
const NUMBER_BYTES = 8
/** Bytes that are left in the row of a text that is stored elsewhere, as happens to any that takes more than 24. */
const POINTER_BYTES = 18
/** Bytes of a text that never has many characters: those of a date. */
const SHORT_TEXT_BYTES = 11
/** Bytes of the header of a row without its bitmap of nulls. */
const HEADER_BYTES = 23

/** Throws `failed_precondition` for a table of which a row with a value in each column could not be stored. */
export function assertRowFits(table: PhysicalTable): void {
  const { columns } = toTableShape(table)
  if (columns.length > MAX_COLUMNS) throw tooManyColumnsError(ENGINE, table.name, { count: columns.length, max: MAX_COLUMNS })
  let bytes = aligned(HEADER_BYTES + Math.ceil(columns.length / 8))
  for (const column of columns) bytes += bytesOf(column)
  if (bytes <= MAX_ROW_BYTES) return
  const message = `A row of table "${table.name}" with a value in each column takes ${bytes} bytes, and a row of PostgreSQL has at most ${MAX_ROW_BYTES}. Plain columns and digests count, sealed ones without a digest do not. Split the table, or seal columns.`
  throw new VaultError('failed_precondition', message, { table: table.name })
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / NUMBER_BYTES) * NUMBER_BYTES
}

/** Bytes that the server cannot move out of the row. */
function bytesOf({ type, isShort, byteLength = POINTER_BYTES }: PhysicalColumn): number {
  switch (type) {
    case 'integer':
    case 'real':
      return NUMBER_BYTES
    case 'text':
      return isShort === true ? SHORT_TEXT_BYTES : POINTER_BYTES
    case 'bytes':
      return Math.min(POINTER_BYTES, byteLength + 1)
  }
}
