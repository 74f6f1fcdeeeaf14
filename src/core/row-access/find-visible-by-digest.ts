/** Finds the first record visible to a caller that holds each of some values, by digest. */
import type { Barrier } from '../barrier/barrier.ts'
import type { RequiredGrant, TableAccess } from '../policy/table-access.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import { findByDigest } from './find-by-digest.ts'
import { findVisible } from './find-visible.ts'

/** The column that values are looked up in, their digests, and what a row must grant to be visible. */
export interface VisibleByDigest {
  readonly access: TableAccess
  readonly column: Column
  readonly needs: readonly RequiredGrant[]
  readonly digests: readonly Uint8Array[]
  /** Which rows under the digest at this index truly hold its value. Without it the caller compares the opened values. */
  proves?(index: number, rows: readonly Row[]): readonly boolean[]
}

/** The row of lowest id for each digest among those visible to the caller; undefined where there is none. */
export async function findVisibleByDigest(
  storage: StorageReads,
  barrier: Barrier,
  { access, column, needs, digests, proves }: VisibleByDigest,
): Promise<(Row | undefined)[]> {
  if (column.digest === undefined || !needs.every((need) => access.possiblyMeets(need))) return digests.map(() => undefined)
  if (needs.every((need) => access.alwaysMeets(need))) {
    return findByDigest(storage, { table: access.table, column }, digests)
  }
  const rows: (Row | undefined)[] = []
  for (const [index, digest] of digests.entries()) {
    const filter = { kind: 'compare', column: column.digest, operator: '=', value: digest } as const
    const keeps = proves === undefined ? {} : { keeps: (found: readonly Row[]) => proves(index, found) }
    const [first] = await findVisible(storage, barrier, { access, needs, filter, page: { order: 'asc', limit: 1 }, ...keeps })
    rows.push(first?.row)
  }
  return rows
}
