/** Finds the first record that holds each of some values, by digest, however many records hold the same. */
import { keyOfCell } from '../barrier/lookup.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'

/** Rows read beyond one for each digest: a few equal values cost no second query. */
const SPARE = 64
/** Digests looked up at a time once some values have turned out to be common. */
const FEW = 16

/** One column that values are looked up in. */
export interface DigestColumn {
  readonly table: Table
  readonly column: Column
}

/** The row of lowest id for each digest, undefined where no record has it. The caller still compares the opened value: a digest can be moved in the database. */
export async function findByDigest(
  storage: StorageReads,
  { table, column }: DigestColumn,
  digests: readonly Uint8Array[],
): Promise<(Row | undefined)[]> {
  const first = new Map<string, Row>()
  const pending = new Map(digests.map((digest) => [keyOfCell(digest), digest]))
  let size = pending.size
  while (column.digest !== undefined && pending.size > 0) {
    const asked = [...pending].slice(0, size)
    const limit = asked.length + SPARE
    const filter = { kind: 'in', column: column.digest, values: asked.map(([, digest]) => digest) } as const
    const rows = await storage.find(table.physical.name, filter, { order: 'asc', limit })
    for (const row of rows) {
      const key = keyOfCell(row[column.digest])
      if (!first.has(key)) first.set(key, row)
    }
    // A full page can hold one common value alone: digests not seen on it are looked up again, a few at a time.
    const isComplete = rows.length < limit
    for (const [key] of asked) if (isComplete || first.has(key)) pending.delete(key)
    size = FEW
  }
  return digests.map((digest) => first.get(keyOfCell(digest)))
}
