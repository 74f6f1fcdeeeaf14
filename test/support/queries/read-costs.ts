/** What reading costs in vaults whose small tables are read by their sealed indexes. */
import type { ReadCosts } from '../../../src/core/queries/candidate-rows.ts'

/** Reading by an index costs nothing, so that a table of a few rows is read by one wherever it has one. */
export const INDEXES_ONLY: ReadCosts = { scannedRow: 1e9, foundRow: 0, entry: 0, anyUse: 0 }
