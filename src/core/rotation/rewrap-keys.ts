/** Wraps the root keys again with the current key-encryption key. Nothing that is sealed changes, and no process notices. */
import type { Catalog } from '../catalog/open-catalog.ts'
import { rootAssociatedData, rootEntry, wipeRoots, wrappedRoot } from '../catalog/root-keys.ts'
import type { WrappedKey } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import { CATALOG } from '../schema/system-tables.ts'
import { catalogRows, type KeyChangePorts } from './change-keys.ts'

/** The result of wrapping again. */
export interface Rewrapping {
  /** The number of root keys that were wrapped again. The others have the current key already. */
  readonly rewrapped: number
  /** Names of the key-encryption keys that wrap the root keys now, each once. */
  readonly keyIds: readonly string[]
}

/**
 * Wraps each wrapped root key again, unless the current key-encryption key did it. Returns the versions too. A row that a rotation changes meanwhile is
 * wrapped by that with the current key.
 */
export async function rewrapKeys(
  ports: KeyChangePorts,
  catalog: Catalog,
): Promise<Rewrapping & { readonly versions: readonly number[] }> {
  const { storage, keys } = ports
  const versions: number[] = []
  const current = await keys.currentKeyId?.()
  for (const { version, row } of await wrappedRows(ports, catalog)) {
    if (row.key_id === current) continue
    const { keyId, bytes } = await wrappedAgain(ports, version, row)
    const patch = { id: row.id, version: row.version, set: { key_id: keyId, content: bytes } }
    if ((await storage.update(CATALOG.name, [patch])).includes(true)) versions.push(version)
  }
  const rows = await wrappedRows(ports, catalog)
  return { versions, rewrapped: versions.length, keyIds: [...new Set(rows.map(({ row }) => String(row.key_id)))] }
}

/** Returns the rows of the root keys that are wrapped. Others of such a name are of a backup, or planted: a destroyed key would live on in them. */
async function wrappedRows({ storage }: KeyChangePorts, catalog: Catalog) {
  await catalog.reload(storage)
  const entries = await catalogRows(storage)
  return catalog.state.roots.flatMap(({ version, state }) => {
    const row = state === 'active' || state === 'pending' ? entries.get(rootEntry(version)) : undefined
    return row === undefined ? [] : [{ version, row }]
  })
}

async function wrappedAgain({ keys, vaultId }: KeyChangePorts, version: number, row: Row): Promise<WrappedKey> {
  const associatedData = rootAssociatedData(vaultId, version)
  const wrapped = wrappedRoot(row)
  if (keys.rewrap !== undefined) return keys.rewrap(wrapped, associatedData)
  const key = await keys.unwrap(wrapped, associatedData)
  try {
    return await keys.wrap(key, associatedData)
  } finally {
    wipeRoots([{ version, key }])
  }
}
