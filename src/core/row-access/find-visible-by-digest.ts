/** The first record within a caller's reach that holds each of some values, found by digest. */
import type { Need, TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import { findByDigest } from './find-by-digest.ts'
import { findVisible } from './find-visible.ts'
import type { StoreContext } from '../records/writing-context.ts'

/** One column that values are looked for in, and what a row must grant to be there. */
export interface Reached {
  readonly access: TableAccess
  readonly column: Column
  readonly needs: readonly Need[]
  /** Which of the rows found under a digest truly hold its value; without it, a digest's claim is still to be proven. */
  proves?(place: number, rows: readonly Row[]): readonly boolean[]
}

/** The row of lowest id for each digest among those that are there for the caller. */
export async function findReached(
  context: Pick<StoreContext, 'unit' | 'barrier'>,
  { access, column, needs, proves }: Reached,
  digests: readonly Uint8Array[],
): Promise<(Row | undefined)[]> {
  if (!needs.every((need) => access.couldMeet(need))) return digests.map(() => undefined)
  if (needs.every((need) => access.alwaysMeets(need))) return findByDigest(context.unit.storage, access.table, column, digests)
  const rows: (Row | undefined)[] = []
  for (const [place, digest] of digests.entries()) {
    const filter = { kind: 'compare', column: column.digest ?? '', operator: '=', value: digest } as const
    const keeps = proves === undefined ? {} : { keeps: (found: readonly Row[]) => proves(place, found) }
    const [first] = await findVisible(context, access, { needs, filter, page: { order: 'up', limit: 1 }, ...keeps })
    rows.push(first?.row)
  }
  return rows
}
