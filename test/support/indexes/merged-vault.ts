/** A vault whose sealed indexes the caller merges. */
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import type { SchemaDefinition } from '../../../src/core/schema/column.ts'
import { layoutSchema, type Table } from '../../../src/core/schema/layout.ts'
import { HeadCache } from '../../../src/core/sealed-index/index-rows.ts'
import { compactIndexes, flushDeltas, mergeDue } from '../../../src/core/sealed-index/merge-due.ts'
import { type MergePorts, SIZES } from '../../../src/core/sealed-index/merge-runs.ts'
import { digestVaultId } from '../../../src/core/sealing/envelope.ts'
import { type LooseVault, openLoose } from '../vaults/open-untyped.ts'
import { SYSTEM_PORTS } from '../vaults/system-ports.ts'

/** The digest of the id of these vaults. */
export const VAULT = digestVaultId(SYSTEM_PORTS.hash, 'v1')

/** A vault, and merges of the indexes of its first table. */
export interface Merged extends LooseVault {
  readonly table: Table
  /** Merges what is due. */
  mergeDue(): Promise<unknown>
  /** Merges all deltas into runs. */
  flush(): Promise<unknown>
  /** Merges all into one run for each index, also if there is only one. */
  compact(): Promise<void>
  close(): Promise<void>
}

/** Opens a vault without an audit trail. */
export async function openMerged(
  storage: StorageHandle,
  tables: SchemaDefinition,
  blockBytes: number = SIZES.blockBytes,
): Promise<Merged> {
  const loose = await openLoose(storage, tables, { audit: 'off' })
  const [table] = layoutSchema(assignIds(tables, EMPTY_CATALOG_SCHEMA)).tables.values()
  if (table === undefined) throw new Error('there is no table')
  const ports: MergePorts = {
    ...SYSTEM_PORTS,
    storage,
    keys: { ring: loose.ring, vault: VAULT },
    catalog: { keys: { generation: 1 }, isCurrent: async () => true, reload: async () => {} },
    cache: new HeadCache(),
    between: () => SYSTEM_PORTS.scheduler.yield(),
    sizes: { ...SIZES, blockBytes },
  }
  const indexes = table.indexed.map(({ column, index }) => ({
    objectId: index.objectId,
    hasSums: column.type.scale !== undefined,
  }))
  const indexed = { objectId: table.objectId, indexes }
  return {
    ...loose,
    table,
    mergeDue: () => mergeDue(ports, indexed),
    flush: () => flushDeltas(ports, indexed),
    compact: () => compactIndexes(ports, indexed, { without: new Set() }),
    close: () => loose.vault.close(),
  }
}
