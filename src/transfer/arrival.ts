/** A storage that a vault is copied into: closed from the first row to the last, so that what is left of a copy that was killed never opens. */
import { randomBytes } from 'node:crypto'
import { ARRIVING, type Departure, deletePlainEntry, readPlainEntry, writePlainEntry } from '../core/catalog/vault-moves.ts'
import { VaultError } from '../core/errors.ts'
import type { PhysicalTable, Row, Snapshot, Storage, StorageHandle, StoredTable } from '../core/ports/storage.ts'
import { CATALOG, MARKER, SYSTEM_TABLES } from '../core/schema/system-tables.ts'
import { countRows, EVERY, opensVault, vaultTables } from './vault-rows.ts'

/** The rows that open a vault, by table. */
export type OpeningRows = ReadonlyMap<string, readonly Row[]>

/**
 * Begins a copy into an empty storage, or into one with what is left of a copy that was killed, which is deleted. One that is resumed goes on with what
 * the storage has of it. Returns the name of the copy, which the storage has as long as it has not ended. Throws `failed_precondition` if the storage holds
 * a vault, or rows of one, and if there is no copy of this name to resume.
 */
export async function beginArrival(to: StorageHandle, resumed?: Departure): Promise<string> {
  const name = resumed?.name ?? randomBytes(16).toString('hex')
  // The catalog has its unique index from the start: of two copies at once, one fails.
  await to.prepare([CATALOG, ...SYSTEM_TABLES.map(withoutIndexes)])
  const found = await readPlainEntry(to, ARRIVING)
  if (resumed !== undefined) {
    if (found === name) return name
    throw new VaultError(
      'failed_precondition',
      resumed.takesOver
        ? 'The vault was moved out of the storage to move from: that move has ended, or was about to. Open the vault where it is now. Only if it does not open there, run that move again. Nothing was written.'
        : 'The storage to move from was closed by a move into another storage. Run that move again, or give it up with reopenVault (`strongroom move --reopen`). Nothing was written.',
    )
  }
  const leftOver = await to.snapshot((snapshot) => occupiedTables(snapshot))
  if (found === undefined && leftOver.length > 0)
    throw new VaultError(
      'failed_precondition',
      `The storage to copy into holds a vault already: table ${leftOver[0]?.name} has rows. Use an empty one. Nothing was written.`,
    )
  await prepareArriving(to, leftOver)
  for (const table of leftOver) if (table.name !== CATALOG.name) await to.delete(table.name, { filter: EVERY })
  await to.transaction(async (inner) => {
    await inner.delete(CATALOG.name, { filter: EVERY })
    await writePlainEntry(inner, ARRIVING, name)
  })
  return name
}

/** Prepares tables of the vault. Their indexes are built by the first opening, which knows them: a table without indexes is filled faster. */
export async function prepareArriving(to: Storage, tables: readonly StoredTable[]): Promise<void> {
  await to.prepare(tables.filter(({ name }) => name !== CATALOG.name).map(withoutIndexes))
}

/** What a copy ends with. */
interface Ending {
  readonly tables: readonly StoredTable[]
  readonly opening: OpeningRows
  /** Runs when nothing is left but the transaction that opens the copy. */
  readonly beforeOpening?: () => Promise<void>
}

/**
 * Ends a copy: raises the counters of ids, and stores what opens the vault, in one transaction. Throws `aborted` if another copy into the same storage
 * was begun meanwhile.
 */
export async function endArrival(to: StorageHandle, name: string, { tables, opening, beforeOpening }: Ending): Promise<void> {
  for (const table of tables) await to.raiseIds(table.name, table.nextId)
  await assertArriving(to, name)
  await beforeOpening?.()
  await to.transaction(async (inner) => {
    await assertArriving(inner, name)
    await deletePlainEntry(inner, ARRIVING)
    for (const table of [CATALOG.name, MARKER.name]) {
      await inner.delete(table, { filter: EVERY })
      await inner.insert(table, opening.get(table) ?? [])
    }
  })
}

/** Counts the rows of each table of a copy, and all of them. */
export async function countArrived(
  to: StorageHandle,
  tables: readonly StoredTable[],
): Promise<{ readonly rows: Readonly<Record<string, number>>; readonly rowCount: number }> {
  const rows: Record<string, number> = {}
  for (const table of tables) rows[table.name] = await countRows(to, [table])
  return { rows, rowCount: Object.values(rows).reduce((sum, count) => sum + count, 0) }
}

/** Throws `aborted` if another copy into the same storage was begun meanwhile. */
export async function assertArriving(to: Pick<Storage, 'find'>, name: string): Promise<void> {
  if ((await readPlainEntry(to, ARRIVING)) !== name)
    throw new VaultError('aborted', 'Another copy into the same storage was begun meanwhile. Run one at a time, and begin again.')
}

async function occupiedTables(snapshot: Snapshot): Promise<readonly StoredTable[]> {
  const occupied: StoredTable[] = []
  for (const table of vaultTables(snapshot))
    if ((await snapshot.find(table.name, EVERY, { order: 'asc', limit: 1, columns: [] })).length > 0) occupied.push(table)
  return occupied
}

function withoutIndexes({ name, columns }: Pick<PhysicalTable, 'name' | 'columns'>): PhysicalTable {
  return { name, columns, indexes: [] }
}

/** Returns the tables whose rows are copied as they come. */
export function arrivingTables(tables: readonly StoredTable[]): readonly StoredTable[] {
  return tables.filter(({ name }) => !opensVault(name))
}
