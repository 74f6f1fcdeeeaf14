/** Seals new records without a vault, as an insert does. */
import type { Barrier } from '../../../src/core/barrier/barrier.ts'
import { type RecordsToSeal, type SealedRows, writeRows } from '../../../src/core/barrier/seal-rows.ts'
import type { NewRow } from '../../../src/core/ports/storage.ts'
import type { Table } from '../../../src/core/schema/layout.ts'

/** Returns the rows of records with these ids. */
export function sealRecords(
  barrier: Barrier,
  table: Table,
  { ids, ...records }: RecordsToSeal & { readonly ids: readonly number[] },
): SealedRows<NewRow> {
  const writer = writeRows(barrier, table, records)
  while (writer.writeSome());
  return writer.seal(ids)
}
