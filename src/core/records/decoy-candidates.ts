/** Decoys: reads that make a token without a row cost what a token with a hidden, expired or foreign row costs. */
import type { StorageReads } from '../ports/storage.ts'
import { TRANSIENTS } from '../schema/system-tables.ts'
import { groupBy } from '../util/lists.ts'
import { type CheckedCandidate, NO_ROW, NO_TOKEN, TokenCandidate } from './verify-candidates.ts'

/**
 * Returns a candidate for each of these, in the same table: one of the newest rows where the candidate had no row, and no row where it
 * had one. So each candidate and its decoy together read one row. The result of a decoy must be dropped.
 */
export async function decoysOf(storage: StorageReads, failed: readonly CheckedCandidate[]): Promise<TokenCandidate[]> {
  const decoys: TokenCandidate[] = []
  for (const [name, group] of groupBy(failed, readFrom)) {
    const newest = await storage.find(name, { kind: 'all' }, { order: 'desc', limit: group.length, columns: [] })
    for (const [k, { candidate, isFound }] of group.entries()) {
      const row = isFound ? undefined : newest[k % newest.length]
      const { table, column, read } = candidate
      // Compared with a token check, so that its row is not reported as one that a digest found.
      decoys.push(new TokenCandidate(candidate.index, { table, column, read, row: row?.id ?? NO_ROW, expected: NO_TOKEN }))
    }
  }
  return decoys
}

/** Returns the name of the table that a candidate is read from. */
function readFrom({ candidate: { table, column } }: CheckedCandidate): string {
  return column.token?.expires === true ? TRANSIENTS.name : table.physical.name
}
