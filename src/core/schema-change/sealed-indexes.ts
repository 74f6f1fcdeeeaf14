/** What a change of the schema does with sealed indexes: who knows of one while it begins or ends, and what its fill stores. */
import { IndexChanges } from '../index-runs/delta.ts'
import { orderKey } from '../index-runs/order-key.ts'
import type { Row, Storage } from '../ports/storage.ts'
import { deltaOf } from '../records/index-changes.ts'
import type { CatalogColumn } from '../schema/catalog-schema.ts'
import type { ColumnDefinition } from '../schema/column.ts'
import { type Column, IS_INDEXED, indexCell } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { insertInOrder } from '../unit-of-work/unit-of-work.ts'

/** Returns a column as it is stored, for writers with the sealed index of another definition of it. Readers lose one that ends, before writers do. */
export function withIndexOf({ index, definition }: CatalogColumn, stored: CatalogColumn): CatalogColumn {
  const { index: had, ...others } = stored.definition
  const endsSealed = had === 'sealed' && definition.index !== 'sealed'
  return {
    ...stored,
    // Without `index` it is a definition of the same type.
    ...(endsSealed && { definition: others as ColumnDefinition }),
    ...(index !== undefined && { index }),
  }
}

/** Returns a column without its sealed index, if its cells are among these. */
export function withoutIndex(column: CatalogColumn, ended: ReadonlySet<string>): CatalogColumn {
  const { index, ...others } = column
  return index !== undefined && ended.has(indexCell(index)) ? others : column
}

/** A key that an index gets, and the physical column that says so. */
export interface NewKey {
  readonly index: number
  readonly cell: string
  readonly key: Uint8Array
}

/** Returns the keys of a row in the indexes of these columns that do not have it. `valueIn` gives its value of a column. */
export function missingKeys(columns: readonly Column[], row: Row, valueIn: (column: Column) => unknown): readonly NewKey[] {
  return columns.flatMap((column) => {
    const { writtenIndex: index } = column
    if (index === undefined || row[index.cell] === IS_INDEXED) return []
    return [{ index: index.objectId, cell: index.cell, key: orderKey(column.type, valueIn(column) ?? null) }]
  })
}

/** Stores the keys of rows that are marked in this transaction. */
export async function storeKeys(
  storage: Storage,
  indexing: Parameters<typeof deltaOf>[1],
  table: Table,
  rows: readonly { readonly id: number; readonly keys?: readonly NewKey[] }[],
): Promise<void> {
  const changes = new IndexChanges()
  for (const { id, keys = [] } of rows) for (const { index, key } of keys) changes.add(index, key, id)
  await insertInOrder(storage, await deltaOf(storage, indexing, table, changes))
}
