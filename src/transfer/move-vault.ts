/** Moves a vault from one storage to another, sealed all the way: its rows are copied while it works, and it is closed here when the copy takes over. */
import { closeSource, noteTakeOver, readDeparture } from '../core/catalog/vault-moves.ts'
import type { Row, Snapshot, StorageHandle, StoredTable } from '../core/ports/storage.ts'
import { CATALOG, MARKER } from '../core/schema/system-tables.ts'
import { append } from '../core/util/lists.ts'
import { readOptions } from '../core/util/options.ts'
import { arrivingTables, assertArriving, beginArrival, countArrived, endArrival, prepareArriving } from './arrival.ts'
import { countRows, pagesOf, rowsById, tablesOfVault, versionsOf } from './vault-rows.ts'
import { COPY_OPTIONS, type CopyOptions, type CopyWatch, createCopyWatch } from './watch.ts'

/** From where to where. */
export interface MoveOptions extends CopyOptions {
  /** The storage of the vault: a handle of its own, on which no vault is open. Other handles and processes can have the vault open, and write. */
  readonly from: StorageHandle
  /** An empty storage, of any kind. */
  readonly to: StorageHandle
}

/** What was moved. */
export interface MovedVault {
  /** Rows of each table of the copy. */
  readonly rows: Readonly<Record<string, number>>
  /** All of them. */
  readonly rowCount: number
  /** Milliseconds from the closing of the one storage to the opening of the other. */
  readonly closedMs: number
}

/** Differences are copied while the vault works as often as this at most, and not where the copy before took so short, or changed so few rows. */
const MAX_ROUNDS = 5
const SHORT_MS = 3000
const FEW_ROWS = 2000
/** Rows that are deleted, and rows that are looked up, at once. */
const DELETED_AT_ONCE = 4000
const ROWS_AT_ONCE = 500

/**
 * Moves a vault. No key is needed: what is sealed stays sealed, so ids, tokens, credentials and the audit trail are the same afterwards. Writers go on while
 * rows are copied. Then the storage is closed to all of them, what they changed meanwhile is copied, and the other storage can be opened. A move that
 * ended early is run again with the same storages. Contents of files outside the database stay where they are.
 *
 * Throws `failed_precondition` if there is no vault to move, or the other storage is not empty, `aborted` if another move is into the same storage, and `unavailable` if writers do not end within 30 seconds.
 * The vault stays as it was then.
 */
export async function moveVault(options: MoveOptions): Promise<MovedVault> {
  const { from, to, ...watched } = readOptions(options, ['from', 'to', ...COPY_OPTIONS], { of: 'moveVault' })
  const watch = createCopyWatch(watched)
  const resumed = await from.snapshot(async (snapshot) => {
    await tablesOfVault(snapshot)
    return readDeparture(snapshot)
  })
  const name = await beginArrival(to, resumed)
  if (resumed === undefined) await copyAndClose({ from, to, name, watch })
  const closedAt = performance.now()
  const { tables, opening } = await from.snapshot(async (snapshot) => {
    const found = await tablesOfVault(snapshot)
    await copyDifferences(snapshot, to, { tables: found, watch })
    return { tables: found, opening: await openingRows(snapshot) }
  })
  await endArrival(to, name, { tables, opening, beforeOpening: () => noteTakeOver(from, name) })
  const closedMs = performance.now() - closedAt
  return { ...(await countArrived(to, tables)), closedMs }
}

/** The two storages, and the name of the copy. */
interface Move {
  readonly from: StorageHandle
  readonly to: StorageHandle
  readonly name: string
  readonly watch: CopyWatch
}

/** Copies while the vault works, and closes it when few rows are left. */
async function copyAndClose({ from, to, name, watch }: Move): Promise<void> {
  const began = performance.now()
  await from.snapshot(async (snapshot) => {
    const tables = arrivingTables(await tablesOfVault(snapshot))
    watch.expect(await countRows(snapshot, tables))
    await prepareArriving(to, tables)
    for (const table of tables) await copyTable(snapshot, to, { table, watch })
  })
  let changed = performance.now() - began < SHORT_MS ? 0 : Number.POSITIVE_INFINITY
  for (let round = 0; round < MAX_ROUNDS && changed > FEW_ROWS; round++)
    changed = await from.snapshot(async (snapshot) => {
      const tables = await tablesOfVault(snapshot)
      return copyDifferences(snapshot, to, { tables, watch })
    })
  const tables = await from.snapshot(tablesOfVault)
  await from.prepare(tables.map(({ name, columns }) => ({ name, columns, indexes: [] })))
  const names = tables.map((table) => table.name)
  await assertArriving(to, name)
  await closeSource(from, names, name)
}

/** Copies a table into one that is empty. The next page is read while one is written. */
async function copyTable(
  snapshot: Snapshot,
  to: StorageHandle,
  { table, watch }: { readonly table: StoredTable; readonly watch: CopyWatch },
): Promise<void> {
  let writing = Promise.resolve()
  for await (const rows of pagesOf(snapshot, table.name)) {
    await writing
    writing = to.insert(table.name, rows).then(() => watch.step(rows.length))
    // Its error is thrown where it is waited for, after the next page was read.
    writing.catch(() => {})
  }
  await writing
}

/** Copies what changed since the last copy: a row is the same if it has the same version. Returns how many rows were copied or deleted. */
async function copyDifferences(
  snapshot: Snapshot,
  to: StorageHandle,
  { tables, watch }: { readonly tables: readonly StoredTable[]; readonly watch: CopyWatch },
): Promise<number> {
  const arriving = arrivingTables(tables)
  await prepareArriving(to, arriving)
  let changed = 0
  for (const { name } of arriving) {
    const { missing, stale } = await findDifferences(snapshot, to, name)
    // All go before any comes: two rows can have exchanged a unique value.
    for (let start = 0; start < stale.length; start += DELETED_AT_ONCE)
      await to.delete(name, { ids: stale.slice(start, start + DELETED_AT_ONCE) })
    for (let start = 0; start < missing.length; start += ROWS_AT_ONCE) {
      const rows = await rowsById(snapshot, name, missing.slice(start, start + ROWS_AT_ONCE))
      await to.insert(name, rows)
      await watch.step(rows.length)
    }
    changed += Math.max(stale.length, missing.length)
  }
  return changed
}

/** Walks both tables by id. Returns the ids of the rows that the copy lacks, and of those that it must not have, or has in another version. */
async function findDifferences(
  snapshot: Snapshot,
  to: StorageHandle,
  table: string,
): Promise<{ readonly missing: readonly number[]; readonly stale: readonly number[] }> {
  const missing: number[] = []
  const stale: number[] = []
  const [ours, theirs] = [createWalk(snapshot, table), createWalk(to, table)]
  await Promise.all([ours.next(), theirs.next()])
  while (ours.row !== undefined || theirs.row !== undefined) {
    const [mine, other] = [ours.row, theirs.row]
    const isOurs = mine !== undefined && mine.id <= (other?.id ?? mine.id)
    const isTheirs = other !== undefined && other.id <= (mine?.id ?? other.id)
    const isSame = isOurs && isTheirs && mine.version === other.version
    if (isOurs && !isSame) missing.push(mine.id)
    if (isTheirs && !isSame) stale.push(other.id)
    // Nearly always there is a next row at once, and waiting for it would cost more than the comparison.
    for (const reading of [isOurs && ours.next(), isTheirs && theirs.next()]) if (reading) await reading
  }
  return { missing, stale }
}

/** The ids and versions of a table, one row at a time. */
interface Walk {
  /** The row that it is at; undefined at the end. */
  readonly row: Row | undefined
  /** Goes on to the next row. Returns a promise only if more rows must be read. */
  next(): Promise<void> | undefined
}

function createWalk(storage: Pick<Snapshot, 'find'>, table: string): Walk {
  const pages = versionsOf(storage, table)
  let rows: readonly Row[] | undefined = []
  let at = 0
  async function readPage(): Promise<void> {
    const page = await pages.next()
    rows = page.done === true ? undefined : page.value
    at = 0
  }
  return {
    get row() {
      return rows?.[at]
    },
    next() {
      at++
      return rows === undefined || at < rows.length ? undefined : readPage()
    },
  }
}

async function openingRows(snapshot: Snapshot): Promise<ReadonlyMap<string, readonly Row[]>> {
  const opening = new Map<string, readonly Row[]>()
  for (const table of [CATALOG.name, MARKER.name]) {
    const rows: Row[] = []
    for await (const page of pagesOf(snapshot, table)) append(rows, page)
    opening.set(table, rows)
  }
  return opening
}
