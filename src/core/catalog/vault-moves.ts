/** Closes the storage that a vault was moved out of, and keeps one closed that a vault has not arrived in whole. No key is needed: what says so are plain entries of the catalog. */
import { fault, VaultError } from '../errors.ts'
import { eachPage } from '../pace/pace.ts'
import type { Row, Storage, StorageHandle } from '../ports/storage.ts'
import { AUDIT_CHAINS, CATALOG, CLOSED_CHAIN } from '../schema/system-tables.ts'
import { readUtf8, toUtf8 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { readOptions } from '../util/options.ts'

/** The entry of a storage that the vault was moved out of. Its content is the name of the move, and behind it `TAKES_OVER`. */
export const DEPARTED = 'departed'
/** Follows the name of a move whose copy can be open. */
const TAKES_OVER = ' takes over'
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

/** A move that has closed the storage that it copies from. */
export interface Departure {
  readonly name: string
  /** True from just before the copy is opened. Where that was killed in between, the copy is not open. */
  readonly takesOver: boolean
}

/** Returns the move that closed a storage; undefined if none has. */
export async function readDeparture(storage: Pick<Storage, 'find'>): Promise<Departure | undefined> {
  const content = await readPlainEntry(storage, DEPARTED)
  if (content === undefined) return undefined
  const takesOver = content.endsWith(TAKES_OVER)
  return { name: takesOver ? content.slice(0, -TAKES_OVER.length) : content, takesOver }
}

/** Notes that the copy is opened next: from here on, this storage is not reopened by mistake. */
export async function noteTakeOver(storage: StorageHandle, move: string): Promise<void> {
  await storage.prepare([CATALOG])
  await storage.transaction(async (inner) => {
    if ((await readDeparture(inner))?.name !== move)
      throw new VaultError('aborted', 'The storage to move from was reopened meanwhile. Run the move again.')
    await deletePlainEntry(inner, DEPARTED)
    await writePlainEntry(inner, DEPARTED, `${move}${TAKES_OVER}`)
  })
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
    if ((await readPlainEntry(inner, DEPARTED)) !== undefined)
      throw new VaultError(
        'failed_precondition',
        'Another move of the vault closed this storage first. Its copy is the vault now.',
      )
    await writePlainEntry(inner, DEPARTED, move)
    await markChains(inner, CLOSED_CHAIN)
  })
}

/** Options of `reopenVault`. */
export interface ReopenOptions {
  /** Reopen also where the copy took over. True only if the copy can be opened by no process, now or later. Default false. */
  readonly copyIsDestroyed?: boolean
}

/**
 * Opens a closed storage again, for a move that is given up. Throws `failed_precondition` if no vault was moved out of it, or if the copy took over: two
 * vaults that both are used give equal ids to different records.
 */
export async function reopenSource(storage: StorageHandle, options: ReopenOptions = {}): Promise<void> {
  const { copyIsDestroyed = false } = readOptions(options, ['copyIsDestroyed'], { of: 'reopenVault' })
  await storage.prepare([CATALOG, AUDIT_CHAINS])
  await storage.transaction(async (inner) => {
    const departure = await readDeparture(inner)
    if (departure === undefined)
      throw new VaultError('failed_precondition', 'No vault was moved out of this storage, so there is nothing to reopen.')
    if (departure.takesOver && copyIsDestroyed !== true)
      throw new VaultError(
        'failed_precondition',
        'The copy of this vault has taken over, or was about to. Open it where it is now, or run that move again. Only if the copy is destroyed, reopen with copyIsDestroyed.',
      )
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
