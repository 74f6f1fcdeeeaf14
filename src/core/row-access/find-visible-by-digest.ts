/** Finds the first record with each of some digests among those visible to a caller. */
import { keyOfCell } from '../barrier/digest-values.ts'
import type { RequiredGrant, TableAccess } from '../policy/table-access.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import { findByDigest } from './find-by-digest.ts'
import { findVisible } from './find-visible.ts'
import type { ReadingContext } from './reading-context.ts'

/** The column to look up, the digests, and the grants that a row needs to be visible. */
export interface VisibleByDigest {
  readonly access: TableAccess
  readonly column: Column
  readonly needs: readonly RequiredGrant[]
  readonly digests: readonly Uint8Array[]
}

/** Returns the visible row with the lowest id for each digest, in order; undefined if there is none. The opened value is not compared here. */
export async function findVisibleByDigest(
  storage: StorageReads,
  context: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  { access, column, needs, digests }: VisibleByDigest,
): Promise<(Row | undefined)[]> {
  if (column.digest === undefined || !needs.every((need) => access.possiblyMeets(need))) return digests.map(() => undefined)
  if (needs.every((need) => access.alwaysMeets(need))) {
    return findByDigest(storage, { table: access.table, column }, digests)
  }
  const rows: (Row | undefined)[] = []
  for (const digest of digests) {
    const filter = { kind: 'compare', column: column.digest, operator: '=', value: digest } as const
    const holds = { column, digests: new Set([keyOfCell(digest)]) }
    const [first] = await findVisible(storage, context, { access, needs, filter, holds, page: { order: 'asc', limit: 1 } })
    rows.push(first?.row)
  }
  return rows
}
