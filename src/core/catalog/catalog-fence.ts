/** What writers and readers of one process know of the catalog, and what it keeps them from. */
import type { RootKeySet } from '../ports/crypto.ts'
import type { StorageReads } from '../ports/storage.ts'
import { type CatalogSchema, findOutdatedTables, hiddenTokenIds } from '../schema/catalog-schema.ts'
import type { Table } from '../schema/layout.ts'
import type { SchemaRules } from '../schema/schema-rules.ts'
import { assertKnownFormat, type Catalog } from './open-catalog.ts'

/** What writers know of the catalog. */
export interface CatalogFence {
  /** Root keys and generation as they were read last. */
  readonly keys: RootKeySet
  /** The stored schema as it was read last. */
  readonly schema: CatalogSchema
  /** Number of legal holds. */
  readonly holds: number
  /** The rules of the stored schema, with the names of this process. */
  readonly rules: SchemaRules
  /** Throws `failed_precondition` if the stored format is newer than this release: nothing is written then. */
  assertKnownFormat(): void
  /** Throws `failed_precondition` for a table whose records this process must not write: its schema lacks a rule of the stored one. */
  assertWritable(table: Table): void
  /** Object ids of columns of a table that have tokens and that this process does not know: a deleted record loses those tokens too. */
  hiddenTokenIds(table: Table): readonly number[]
  /** True if a column of the table holds files, also one that this process does not know: a deleted record loses those files too. */
  holdsFiles(table: Pick<Table, 'objectId'>): boolean
  /**
   * True if what was read since the catalog had this generation is certainly of it. Else it may have been looked up by keys that are no longer in use, and
   * `isCurrent` says so. Looks at no storage.
   */
  isCertain(generation: number): boolean
  /** True if the stored catalog is of this generation, and this process has read none after it. One small read. */
  isCurrent(storage: StorageReads, generation: number): Promise<boolean>
  /** Reads the catalog again. */
  reload(storage: StorageReads): Promise<void>
}

const succeeding = new WeakMap<CatalogSchema, boolean>()

/**
 * True if a column of the schema is about to be replaced: from then on writers no longer store what readers of before read. So each read is compared with the catalog
 * meanwhile. A change waits until all readers know of it, before it replaces one.
 */
function isSucceeding(schema: CatalogSchema): boolean {
  const known = succeeding.get(schema)
  if (known !== undefined) return known
  const is = Object.values(schema.tables).some(({ columns }) =>
    Object.values(columns).some(({ successor }) => successor !== undefined),
  )
  succeeding.set(schema, is)
  return is
}

/** Returns the fence of a process that knows this part of the stored schema. */
export function createCatalogFence(catalog: Catalog, known: { readonly part: CatalogSchema }): CatalogFence {
  let evaluated = catalog.state
  let outdated = findOutdatedTables(known.part, evaluated.schema)
  return {
    get keys() {
      return catalog.state
    },
    get schema() {
      return catalog.state.schema
    },
    get holds() {
      return catalog.state.holds
    },
    get rules() {
      return known.part.rules
    },
    assertKnownFormat: () => assertKnownFormat(catalog.state),
    assertWritable({ name }) {
      if (evaluated !== catalog.state) {
        evaluated = catalog.state
        outdated = findOutdatedTables(known.part, evaluated.schema)
      }
      const reason = outdated.get(name)
      if (reason !== undefined) throw reason
    },
    hiddenTokenIds: ({ name }) => hiddenTokenIds(known.part, catalog.state.schema, name),
    holdsFiles: ({ objectId }) =>
      Object.values(catalog.state.schema.tables)
        .filter((table) => table.objectId === objectId)
        .some(({ columns }) => Object.values(columns).some(({ definition: is }) => is.type === 'FILE')),
    isCertain: (generation) => catalog.isFresh() && catalog.state.generation === generation && !isSucceeding(known.part),
    // A call can be older than the last reading, which another call of this process asked for meanwhile.
    isCurrent: async (storage, generation) => catalog.state.generation === generation && (await catalog.isCurrent(storage)),
    reload: catalog.reload,
  }
}
