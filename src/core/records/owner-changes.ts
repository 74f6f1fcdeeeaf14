/** Seals stored records with the key of another subject: what refers to a record that another person has now, and what was stored before its subject had a key. */
import { type Barrier, sealBodiesOf } from '../barrier/barrier.ts'
import { allLookupCells } from '../barrier/digest-values.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { bodyOf, columnValues, openSealed } from '../barrier/reveal.ts'
import { moveSecrets } from '../file-store/file-rows.ts'
import type { Patch, Row, Storage } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import { BODY, type Table } from '../schema/layout.ts'
import { subjectKeyOf } from '../sealing/subject-bodies.ts'
import { keysOfReferences } from '../subject-keys/owners.ts'
import { at, groupBy, required } from '../util/lists.ts'
import { slabItem } from '../util/memory.ts'
import { STALE } from './attempt-change.ts'

/** Rows that are sealed again at a time. */
const SLICE = 200

/** The dependencies of sealing records again. */
type OwnerContext = Pick<ReadingContext, 'barrier' | 'layout'>

/** Rows of a table, and the key that each is to have. */
export interface RowsToMove {
  readonly table: Table
  readonly rows: readonly Row[]
  readonly keys: readonly number[]
}

/** Returns the patches that seal these rows with these keys, in order; undefined for one that has its key, or does not open. */
export function patchKeys(barrier: Barrier, { table, rows, keys }: RowsToMove): (Patch | undefined)[] {
  const { plaintexts, opened } = openSealed(barrier, table.objectId, rows)
  const bodies = sealBodiesOf(barrier, table.objectId, { ids: rows.map(({ id }) => id), plaintexts, keys })
  plaintexts.bytes.fill(0)
  return rows.map((row, index) => {
    const isMoved = opened[index] === 1 && subjectKeyOf(bodyOf(row)) !== keys[index]
    return isMoved ? { id: row.id, version: row.version, set: { [BODY]: slabItem(bodies, index) } } : undefined
  })
}

/**
 * Seals what refers to these records with the keys that they have now, and what refers to that in turn, within the transaction that changed them. Throws
 * STALE if a row changed meanwhile.
 */
export async function followOwners(
  storage: Storage,
  context: OwnerContext,
  table: Table,
  records: readonly number[],
): Promise<void> {
  const { barrier, layout } = context
  if (table.files.length > 0) await moveFiles(storage, context, table, records)
  if (table.owner?.isReferenced !== true || records.length === 0) return
  for (const other of layout.tables.values()) {
    for (const { column: name, table: target } of other.owner?.references ?? []) {
      const column = other.byName.get(name)
      if (target !== table.name || column?.lookup === undefined) continue
      const values = barrier.ring.lookupVersions.flatMap((version) => encodeRecordIds(barrier.ring, table, records, version))
      const filter = { kind: 'in', column: column.lookup, values: allLookupCells(barrier.ring, column, values) } as const
      for (let after = 0; ; ) {
        const rows = await storage.find(other.physical.name, filter, { order: 'asc', after, limit: SLICE })
        if (rows.length === 0) break
        after = at(rows, rows.length - 1).id
        const keys = await keysOfReferences(storage, context, other, (one) =>
          columnValues(barrier, other, required(other.byName.get(one), 'A column with references'), rows),
        )
        const patches = patchKeys(barrier, { table: other, rows, keys }).filter((patch) => patch !== undefined)
        if ((await storage.update(other.physical.name, patches)).includes(false)) throw STALE
        await followOwners(
          storage,
          context,
          other,
          patches.map(({ id }) => id),
        )
      }
    }
  }
}

/** Seals the keys of the contents of these records with the keys that the records have now. */
async function moveFiles(storage: Storage, context: OwnerContext, table: Table, records: readonly number[]): Promise<void> {
  const filter = { kind: 'in', column: 'id', values: records } as const
  const rows = await storage.find(table.physical.name, filter, {
    order: 'asc',
    limit: Math.max(1, records.length),
    columns: [BODY],
  })
  for (const [key, group] of groupBy(rows, (row) => subjectKeyOf(bodyOf(row)))) {
    const ids = group.map(({ id }) => id)
    if (!(await moveSecrets(storage, context.barrier, { table, records: ids, key }))) throw STALE
  }
}
