/** Rows to be overwritten, and what the caller's grants say about each. */

import type { Values } from '../barrier/parse-record.ts'
import type { RecordIndex } from '../barrier/record-errors.ts'
import type { Row } from '../ports/storage.ts'
import type { RowWithAccess } from './evaluate-access.ts'

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
