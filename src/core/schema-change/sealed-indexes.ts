/** What a change of the schema does with sealed indexes: who knows of one while it begins or ends, and what its fill stores. */
import { type IndexChanges, notFull } from '../index-runs/delta.ts'
import { indexKeys } from '../index-runs/trigrams.ts'
import type { Row, Storage } from '../ports/storage.ts'
import { deltaOf } from '../records/index-changes.ts'
import type { CatalogColumn } from '../schema/catalog-schema.ts'
import { type ColumnDefinition, sealedKinds } from '../schema/column.ts'
import { type Column, type ColumnIndex, IS_INDEXED, indexCell } from '../schema/column-layout.ts'
import type { IndexedColumn, Table } from '../schema/layout.ts'
import { insertInOrder } from '../unit-of-work/unit-of-work.ts'

/** Returns a column as it is stored, for writers with the sealed index of another definition of it. Readers lose one that ends, before writers do. */
export function withIndexOf({ indexes, definition }: CatalogColumn, stored: CatalogColumn): CatalogColumn {
  const { index: _, ...others } = stored.definition
  const [had, has] = [sealedKinds(stored.definition), sealedKinds(definition)]
  const kept = had.filter((kind) => has.includes(kind))
  const index = kept.length === 0 ? {} : { index: { sealed: kept } }
  return {
    ...stored,
    // With fewer indexes it is a definition of the same type.
    ...(kept.length < had.length && { definition: { ...others, ...index } as ColumnDefinition }),
    ...(indexes !== undefined && { indexes }),
  }
}

/** Returns a column without the sealed indexes whose cells are among these. */
export function withoutIndex(column: CatalogColumn, ended: ReadonlySet<string>): CatalogColumn {
  const { indexes = {}, ...others } = column
  const kept = Object.entries(indexes).filter(([, objectId]) => !ended.has(indexCell(objectId)))
  return kept.length === 0 ? others : { ...others, indexes: Object.fromEntries(kept) }
}

/** What an index gets of a row. */
export interface NewKeys {
  readonly index: ColumnIndex
  readonly keys: Uint8Array
}

/** Returns the keys of a row in those of these indexes that do not have it. `valueIn` gives its value of a column. */
export function missingKeys(
  indexes: readonly IndexedColumn[],
  row: Row,
  valueIn: (column: Column) => unknown,
): readonly NewKeys[] {
  return indexes.flatMap(({ column, index }) =>
    row[index.cell] === IS_INDEXED ? [] : { index, keys: indexKeys(index.kind, column.type, valueIn(column) ?? null) },
  )
}

/** Stores the keys of rows that are marked in this transaction. */
export async function storeKeys(
  storage: Storage,
  indexing: Parameters<typeof deltaOf>[1],
  table: Table,
  rows: readonly { readonly id: number; readonly keys?: readonly NewKeys[] }[],
): Promise<void> {
  const changes: IndexChanges[] = []
  for (const { id, keys: all = [] } of rows)
    for (const { index, keys } of all) notFull(changes).add(index.objectId, keys, id, index.kind)
  await insertInOrder(storage, await deltaOf(storage, indexing, table, changes))
}
