/** The first record that holds each of some values, found by digest, however many hold the same. */
import { keyOfCell } from '../barrier/lookup.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'

/** Rows asked for beyond one for each digest: a few equal values cost no second question. */
const SPARE = 64
/** Digests asked for at a time once some values have turned out to be common. */
const FEW = 16

/** The row of lowest id for each digest, undefined where no record holds it. The digest's claim is still to be proven on the opened value. */
export async function findByDigest(
  storage: StorageReads,
  table: Table,
  column: Column,
  digests: readonly Uint8Array[],
): Promise<(Row | undefined)[]> {
  const first = new Map<string, Row>()
  const pending = new Map(digests.map((digest) => [keyOfCell(digest), digest]))
  let size = pending.size
  while (column.digest !== undefined && pending.size > 0) {
    const asked = [...pending].slice(0, size)
    const limit = asked.length + SPARE
    const filter = { kind: 'in', column: column.digest, values: asked.map(([, digest]) => digest) } as const
    const rows = await storage.find(table.physical.name, filter, { order: 'up', limit })
    for (const row of rows) {
      const key = keyOfCell(row[column.digest])
      if (!first.has(key)) first.set(key, row)
    }
    // A full page may be one common value's alone: what was not seen is asked for again, a few at a time.
    const isWhole = rows.length < limit
    for (const [key] of asked) if (isWhole || first.has(key)) pending.delete(key)
    size = FEW
  }
  return digests.map((digest) => first.get(keyOfCell(digest)))
}
