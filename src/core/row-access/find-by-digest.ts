/** Finds the first record with each of some digests, however many records share one. */
import { keyOfCell } from '../barrier/digest-values.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { required } from '../util/lists.ts'

/** Number of rows read in addition to one for each digest: a few equal values then cost no second query. */
const SPARE = 64
/** Number of digests looked up at a time after some turned out to be common. */
const FEW = 16

/** A column to look up digests in. */
export interface DigestColumn {
  readonly table: Table
  readonly column: Column
}

/** Returns the row with the lowest id for each digest, in order; undefined if no record has it. The caller must compare the opened value, because a digest can be moved in the database. */
export async function findByDigest(
  storage: StorageReads,
  { table, column }: DigestColumn,
  digests: readonly Uint8Array[],
): Promise<(Row | undefined)[]> {
  const { digest } = column
  if (digest === undefined) return digests.map(() => undefined)
  const first = new Map<string, Row>()
  const find = async (requested: readonly Uint8Array[]): Promise<boolean> => {
    const limit = requested.length + SPARE
    const filter = { kind: 'in', column: digest, values: requested } as const
    const rows = await storage.find(table.physical.name, filter, { order: 'asc', limit })
    for (const row of rows) {
      const key = keyOfCell(row[digest])
      if (!first.has(key)) first.set(key, row)
    }
    return rows.length < limit
  }
  const keys = digests.map(keyOfCell)
  const requested = unlike(digests, keys)
  // A full page can hold one common value alone: digests not seen on it are looked up again, a few at a time.
  if (requested.length > 0 && !(await find(requested))) await findRest(requested, first, find)
  return keys.map((key) => first.get(key))
}

/** Looks up the digests of a full page that were not on it, until every one was found or has no row. */
async function findRest(
  requested: readonly Uint8Array[],
  first: ReadonlyMap<string, Row>,
  find: (requested: readonly Uint8Array[]) => Promise<boolean>,
): Promise<void> {
  let pending = requested
  for (;;) {
    pending = pending.filter((digest) => !first.has(keyOfCell(digest)))
    const few = pending.slice(0, FEW)
    if (few.length === 0) return
    // The page that is not full has all rows of its digests, so those without one are done.
    if (await find(few)) pending = pending.slice(few.length)
  }
}

/** Returns the digests without repeats. `keys` has the key of each. */
function unlike(digests: readonly Uint8Array[], keys: readonly string[]): readonly Uint8Array[] {
  const seen = new Set(keys)
  return seen.size === keys.length ? digests : digests.filter((_, index) => seen.delete(required(keys[index])))
}
