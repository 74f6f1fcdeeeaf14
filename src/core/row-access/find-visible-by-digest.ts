/** Finds the first record with each of some digests among those visible to a caller. */
import type { Barrier } from '../barrier/barrier.ts'
import type { RequiredGrant, TableAccess } from '../policy/table-access.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import { findByDigest } from './find-by-digest.ts'
import { findVisible } from './find-visible.ts'

/** The column to look up, the digests, and the grants that a row needs to be visible. */
export interface VisibleByDigest {
  readonly access: TableAccess
  readonly column: Column
  readonly needs: readonly RequiredGrant[]
  readonly digests: readonly Uint8Array[]
  /** Returns which rows with the digest at `index` have its value, in order. Without it the caller must compare the opened values. */
  hasValue?(index: number, rows: readonly Row[]): readonly boolean[]
}

/** Returns the visible row with the lowest id for each digest, in order; undefined if there is none. */
export async function findVisibleByDigest(
  storage: StorageReads,
  barrier: Barrier,
  { access, column, needs, digests, hasValue }: VisibleByDigest,
): Promise<(Row | undefined)[]> {
  if (column.digest === undefined || !needs.every((need) => access.possiblyMeets(need))) return digests.map(() => undefined)
  if (needs.every((need) => access.alwaysMeets(need))) {
    return findByDigest(storage, { table: access.table, column }, digests)
  }
  const rows: (Row | undefined)[] = []
  for (const [index, digest] of digests.entries()) {
    const filter = { kind: 'compare', column: column.digest, operator: '=', value: digest } as const
    const keeps = hasValue === undefined ? {} : { keeps: (found: readonly Row[]) => hasValue(index, found) }
    const [first] = await findVisible(storage, barrier, { access, needs, filter, page: { order: 'asc', limit: 1 }, ...keeps })
    rows.push(first?.row)
  }
  return rows
}
