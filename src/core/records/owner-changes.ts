/** Seals stored records with the key of another subject: what refers to a record that another person has now, and what was stored before its subject had a key. */
import { type Barrier, sealBodiesOf } from '../barrier/barrier.ts'
import { allLookupCells } from '../barrier/digest-values.ts'
import { allRecordIds } from '../barrier/record-ids.ts'
import { columnValues, keyOf, openSealed } from '../barrier/reveal.ts'
import { moveSecrets } from '../file-store/file-rows.ts'
import type { Filter, Patch, Row, Storage } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import { BODY, type Table } from '../schema/layout.ts'
import { keysOfRecords, keysOfReferences } from '../subject-keys/owners.ts'
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

/** Returns the patches that seal these rows with these keys, without those that have their key or do not open. */
export function patchKeys(barrier: Barrier, { table, rows, keys }: RowsToMove): Patch[] {
  const moved = [...rows.keys()].filter((index) => keyOf(at(rows, index)) !== keys[index])
  const old = moved.map((index) => at(rows, index))
  const { plaintexts, opened } = openSealed(barrier, table.objectId, old)
  const ids = old.map(({ id }) => id)
  const bodies = sealBodiesOf(barrier, table.objectId, { ids, plaintexts, keys: moved.map((index) => at(keys, index)) })
  plaintexts.bytes.fill(0)
  return old.flatMap(({ id, version }, index) =>
    opened[index] === 1 ? [{ id, version, set: { [BODY]: slabItem(bodies, index) } }] : [],
  )
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
  if (table.files.length > 0) await moveFiles(storage, context, table, records)
  if (table.owner?.isReferenced !== true || records.length === 0) return
  for (const other of context.layout.tables.values()) {
    for (const reference of other.owner?.references ?? []) {
      const column = other.byName.get(reference.column)
      if (reference.table !== table.name || column?.lookup === undefined) continue
      await moveReferring(storage, context, { table: other, filter: referring(context, column, { table, records }) })
    }
  }
}

/** Returns the filter of the records that refer to some others by a column. */
function referring(
  { barrier: { ring } }: OwnerContext,
  column: Column,
  { table, records }: { readonly table: Table; readonly records: readonly number[] },
): Filter {
  const values = allRecordIds(ring, table, records)
  return { kind: 'in', column: required(column.lookup), values: allLookupCells(ring, column, values) }
}

/** Seals the records of a filter with the keys that their references say, and follows them. */
async function moveReferring(
  storage: Storage,
  context: OwnerContext,
  { table, filter }: { readonly table: Table; readonly filter: Filter },
): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await storage.find(table.physical.name, filter, { order: 'asc', after, limit: SLICE })
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.id
    const patches = await patchOwners(storage, context, table, rows)
    if ((await storage.update(table.physical.name, patches)).includes(false)) throw STALE
    await followOwners(
      storage,
      context,
      table,
      patches.map(({ id }) => id),
    )
  }
}

/** Returns the patches of the rows whose references say another key than they are sealed with. */
export async function patchOwners(
  storage: Storage,
  context: OwnerContext,
  table: Table,
  rows: readonly Row[],
): Promise<readonly Patch[]> {
  const keys = await keysOfReferences(storage, context, table, (column) => columnValues(context.barrier, table, column, rows))
  return patchKeys(context.barrier, { table, rows, keys })
}

/** Seals the keys of the contents of these records with the keys that the records have now. */
export async function moveFiles(
  storage: Storage,
  context: OwnerContext,
  table: Table,
  records: readonly number[],
): Promise<void> {
  const keys = await keysOfRecords(storage, table, records)
  for (const [key, group] of groupBy([...keys], ([, own]) => own)) {
    const ids = group.map(([row]) => row)
    if (!(await moveSecrets(storage, context.barrier, { table, records: ids, key }))) throw STALE
  }
}
