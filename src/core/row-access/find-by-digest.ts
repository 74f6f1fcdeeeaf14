/** Finds the first record with each of some digests, however many records share one. */
import { keyOfCell } from '../barrier/lookup.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'

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
  const first = new Map<string, Row>()
  const pending = new Map(digests.map((digest) => [keyOfCell(digest), digest]))
  let size = pending.size
  while (column.digest !== undefined && pending.size > 0) {
    const requested = [...pending].slice(0, size)
    const limit = requested.length + SPARE
    const filter = { kind: 'in', column: column.digest, values: requested.map(([, digest]) => digest) } as const
    const rows = await storage.find(table.physical.name, filter, { order: 'asc', limit })
    for (const row of rows) {
      const key = keyOfCell(row[column.digest])
      if (!first.has(key)) first.set(key, row)
    }
    // A full page can hold one common value alone: digests not seen on it are looked up again, a few at a time.
    const isComplete = rows.length < limit
    for (const [key] of requested) if (isComplete || first.has(key)) pending.delete(key)
    size = FEW
  }
  return digests.map((digest) => first.get(keyOfCell(digest)))
}
