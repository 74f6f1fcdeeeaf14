/** Keeps a process with an older schema from writing records that the stored schema would not allow. */
import type { RootKeySet } from '../ports/crypto.ts'
import type { StorageReads } from '../ports/storage.ts'
import { findOutdatedTables, hiddenTokenIds } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { Table } from '../schema/layout.ts'
import type { Catalog } from './open-catalog.ts'

/** What writers know of the catalog. */
export interface CatalogFence {
  /** Root keys and generation as they were read last. */
  readonly keys: RootKeySet
  /** Throws `failed_precondition` for a table whose records this process must not write: its schema lacks a rule of the stored one. */
  assertWritable(table: Table): void
  /** Object ids of columns of a table that have tokens and that this process does not know: a deleted record loses those tokens too. */
  hiddenTokenIds(table: Table): readonly number[]
  /** True if a column of the table holds files, also one that this process does not know: a deleted record loses those files too. */
  holdsFiles(table: Pick<Table, 'name'>): boolean
  /** True if the stored catalog is of this generation, and this process has read none after it. One small read. */
  isCurrent(storage: StorageReads, generation: number): Promise<boolean>
  /** Reads the catalog again. */
  reload(storage: StorageReads): Promise<void>
}

/** Returns the fence of a process that opened the vault with this definition. */
export function createCatalogFence(catalog: Catalog, definition: SchemaDefinition): CatalogFence {
  let evaluated = catalog.state
  let outdated = findOutdatedTables(definition, evaluated.schema)
  return {
    get keys() {
      return catalog.state
    },
    assertWritable({ name }) {
      if (evaluated !== catalog.state) {
        evaluated = catalog.state
        outdated = findOutdatedTables(definition, evaluated.schema)
      }
      const reason = outdated.get(name)
      if (reason !== undefined) throw reason
    },
    hiddenTokenIds: ({ name }) => hiddenTokenIds(definition, catalog.state.schema, name),
    holdsFiles: ({ name }) =>
      Object.values(catalog.state.schema.tables[name]?.columns ?? {}).some(({ definition: is }) => is.type === 'FILE'),
    // A call can be older than the last reading, which another call of this process asked for meanwhile.
    isCurrent: async (storage, generation) => catalog.state.generation === generation && (await catalog.isCurrent(storage)),
    reload: catalog.reload,
  }
}
