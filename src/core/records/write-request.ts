/** Records to write, as the functions of this module expect them. */

import type { Values } from '../barrier/parse-record.ts'
import type { RecordIndex } from '../barrier/record-errors.ts'
import type { TokensByRow } from '../barrier/token-metadata.ts'
import type { Table } from '../schema/layout.ts'

/** The values of each record, the tokens supplied with it, and its index in the request. The three lists have one length. */
export interface WriteRequest {
  readonly table: Table
  readonly records: readonly Values[]
  readonly supplied: TokensByRow
  readonly indexes: readonly RecordIndex[]
  /** Returns what is thrown in place of the `conflict` of a unique value that another record holds; undefined for the conflict itself. */
  readonly onValueTaken?: (conflict: unknown) => Error | undefined
}
