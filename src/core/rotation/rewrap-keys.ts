/** Wraps the root keys again with the current key-encryption key. Nothing that is sealed changes, and no process notices. */
import { rootAssociatedData, wipeRoots } from '../catalog/root-keys.ts'
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

const ROOT = /^root\/(\d+)$/

/**
 * Wraps each wrapped root key again, unless the current key-encryption key did it. Returns the versions too. A row that a rotation changes meanwhile is
 * wrapped by that with the current key.
 */
export async function rewrapKeys(ports: KeyChangePorts): Promise<Rewrapping & { readonly versions: readonly number[] }> {
  const { storage, keys } = ports
  const versions: number[] = []
  const current = await keys.currentKeyId?.()
  for (const row of (await catalogRows(storage)).values()) {
    const version = Number(ROOT.exec(String(row.entry))?.[1] ?? 0)
    if (version === 0 || row.key_id === current) continue
    const { keyId, bytes } = await wrappedAgain(ports, version, row)
    const patch = { id: row.id, version: row.version, set: { key_id: keyId, content: bytes } }
    if ((await storage.update(CATALOG.name, [patch])).includes(true)) versions.push(version)
  }
  const rows = [...(await catalogRows(storage)).values()].filter(({ entry }) => ROOT.test(String(entry)))
  return { versions, rewrapped: versions.length, keyIds: [...new Set(rows.map((row) => String(row.key_id)))] }
}

async function wrappedAgain({ keys, vaultId }: KeyChangePorts, version: number, row: Row): Promise<WrappedKey> {
  const associatedData = rootAssociatedData(vaultId, version)
  const wrapped = { keyId: String(row.key_id), bytes: row.content as Uint8Array }
  if (keys.rewrap !== undefined) return keys.rewrap(wrapped, associatedData)
  const key = await keys.unwrap(wrapped, associatedData)
  try {
    return await keys.wrap(key, associatedData)
  } finally {
    wipeRoots([{ version, key }])
  }
}
