/** Records to be written, as every function of this module takes them. */

import type { RecordIndex, Values } from '../barrier/parse-record.ts'
import type { TokensByRow } from '../barrier/token-metadata.ts'
import type { Table } from '../schema/layout.ts'

/** Values, the tokens supplied with them, and where each record stands in the request; all three lists have one length. */
export interface WriteRequest {
  readonly table: Table
  readonly records: readonly Values[]
  readonly supplied: TokensByRow
  readonly indexes: readonly RecordIndex[]
}
