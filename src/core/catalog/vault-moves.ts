/** Closes the storage that a vault was moved out of, and keeps one closed that a vault has not arrived in whole. No key is needed: what says so are plain entries of the catalog. */
import { fault, VaultError } from '../errors.ts'
import { eachPage } from '../pace/pace.ts'
import type { Row, Storage, StorageHandle } from '../ports/storage.ts'
import { AUDIT_CHAINS, CATALOG, CLOSED_CHAIN } from '../schema/system-tables.ts'
import { readUtf8, toUtf8 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'

/** The entry of a storage that the vault was moved out of. Its content is the name of the move. */
export const DEPARTED = 'departed'
/** The entry of a storage that a vault is copied into. It is deleted in the transaction that stores the rest of the catalog. */
export const ARRIVING = 'arriving'

/** Throws `failed_precondition` for the catalog of a storage that a vault has left, or has not arrived in. */
export function assertVaultIsHere(entries: ReadonlyMap<string, Row>): void {
  if (entries.has(DEPARTED))
    throw fault(
      'failed_precondition',
    )`The vault was moved out of this storage. Open it where it is now. Nothing is written here any more.`
  if (entries.has(ARRIVING))
    throw fault(
      'failed_precondition',
    )`A copy of a vault into this storage has not ended. Run the move or the restore again, or use another storage.`
}

/** Returns what a plain entry of the catalog says; undefined if there is none. */
export async function readPlainEntry(storage: Pick<Storage, 'find'>, entry: string): Promise<string | undefined> {
  const [row] = await storage.find(CATALOG.name, ofEntry(entry), { order: 'asc', limit: 1 })
  return row?.content instanceof Uint8Array ? readUtf8(row.content, 0, row.content.length) : undefined
}

/** Stores a plain entry of the catalog. */
export async function writePlainEntry(storage: Storage, entry: string, content: string): Promise<void> {
  const id = required((await storage.reserveIds(CATALOG.name, 1))[0])
  await storage.insert(CATALOG.name, [{ id, entry, key_id: null, content: toUtf8(content) }])
}

/** Deletes a plain entry of the catalog. */
export async function deletePlainEntry(storage: Storage, entry: string): Promise<void> {
  await storage.delete(CATALOG.name, { filter: ofEntry(entry) })
}

/** Time that a closing waits for transactions that are open, in milliseconds. */
const CLOSING_MS = 30_000

/**
 * Closes a storage for writers, of all processes that have the vault open, at once and for good. `tables` are all tables of the vault. Writers that have
 * begun are waited for. Throws `unavailable` after 30 seconds; nothing is changed then.
 */
export async function closeSource(storage: StorageHandle, tables: readonly string[], move: string): Promise<void> {
  // Writers change records first, and the chains of the trail last. In another order each could wait for the other.
  const last = [AUDIT_CHAINS.name, CATALOG.name]
  const inOrder = [...tables.filter((name) => !last.includes(name)), ...last]
  await storage.transaction(async (inner) => {
    await inner.lock({ kind: 'tables', tables: inOrder, waitMs: CLOSING_MS })
    await writePlainEntry(inner, DEPARTED, move)
    await markChains(inner, CLOSED_CHAIN)
  })
}

/** Opens a closed storage again, for a move that is given up. The caller sees to it that no copy is used. */
export async function reopenSource(storage: StorageHandle): Promise<void> {
  await storage.prepare([CATALOG, AUDIT_CHAINS])
  if ((await readPlainEntry(storage, DEPARTED)) === undefined)
    throw new VaultError('failed_precondition', 'No vault was moved out of this storage, so there is nothing to reopen.')
  await storage.transaction(async (inner) => {
    await deletePlainEntry(inner, DEPARTED)
    await markChains(inner, null)
  })
}

/** Sets `released` of all chains, and raises the version of the schema's row. */
async function markChains(storage: Storage, released: number | null): Promise<void> {
  const [schema] = await storage.find(CATALOG.name, ofEntry('schema'), { order: 'asc', limit: 1, columns: [] })
  const isRaised = schema === undefined ? [] : await storage.update(CATALOG.name, [{ ...schema, set: { key_id: null } }])
  if (isRaised[0] !== true) throw new VaultError('failed_precondition', 'There is no vault in this storage.')
  for await (const rows of eachPage(storage, AUDIT_CHAINS.name))
    await storage.update(
      AUDIT_CHAINS.name,
      rows.map(({ id, version }) => ({ id, version, set: { released } })),
    )
}

function ofEntry(value: string) {
  return { kind: 'compare', column: 'entry', operator: '=', value } as const
}
