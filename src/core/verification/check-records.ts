/** Checks rows by themselves: whether they open, whether their digests agree with the opened values, and whether their files exist and are theirs. */
import { type Barrier, isForgotten } from '../barrier/barrier.ts'
import { digestPresent } from '../barrier/digest-values.ts'
import { hasImpossibleVersion } from '../barrier/record-errors.ts'
import { bodyOf, type OpenRows, openRows } from '../barrier/reveal.ts'
import { createTokenMetadata, slotOf, type TokenMetadata } from '../barrier/token-metadata.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import type { LiveSchema } from '../catalog/live-schema.ts'
import { isVaultError } from '../errors.ts'
import { tryOpenFileRow } from '../file-store/file-rows.ts'
import type { Cell, Row, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { FILES } from '../schema/system-tables.ts'
import { sameBytes } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import type { StoredFile } from '../values/file-type.ts'
import type { RecordFindingKind, Suspicion } from './record-findings.ts'

/** The dependencies of a verification. */
export interface Verifying extends Omit<ReadingContext, 'layout'> {
  /** The schema as this process knows it, which can change meanwhile: each slice goes by what it is then. */
  readonly live: LiveSchema
  readonly catalog: Pick<CatalogFence, 'reload' | 'isCurrent' | 'keys'>
  readonly storage: StorageReads
}

/** Returns a table as the schema has it now; undefined if it was erased meanwhile. */
export function tableNow({ live }: Pick<Verifying, 'live'>, objectId: number): Table | undefined {
  return [...live.layout.tables.values()].find((table) => table.objectId === objectId)
}

/** Reads the catalog again if another process has changed it. */
export async function refreshSchema({ catalog, storage }: Pick<Verifying, 'catalog' | 'storage'>): Promise<void> {
  if (!(await catalog.isCurrent(storage, catalog.keys.generation))) await catalog.reload(storage)
}

/** Some rows of a table, opened. */
export interface OpenedPage {
  readonly table: Table
  readonly rows: readonly Row[]
  /** The values of each row by position; undefined for a row that does not open, and in place of a value that cannot be read. */
  readonly values: readonly (readonly unknown[] | undefined)[]
  readonly metadata: TokenMetadata
  /** The digests, of the newest root key, of each digested column as its values have them, in the order of the rows; undefined where there is no value. */
  readonly digests: ReadonlyMap<Column, readonly (Uint8Array | undefined)[]>
  /** What is wrong with the rows themselves. */
  readonly suspicions: readonly Suspicion[]
}

/** Opens rows, and compares their digests. A row that does not open is a suspicion, not an error. */
export function openPage(barrier: Barrier, table: Table, rows: readonly Row[]): OpenedPage {
  const suspicions: Suspicion[] = []
  const metadata = createTokenMetadata(table, rows.length)
  const cursor = openRows(barrier, table, rows)
  const values = rows.map((row, index) => {
    if (hasImpossibleVersion(row)) suspicions.push({ kind: 'impossible_version', row })
    if (!isOpened(cursor, index)) {
      if (!isForgotten(barrier, bodyOf(row))) suspicions.push({ kind: 'unreadable_record', row })
      return undefined
    }
    for (const column of table.tokenized) cursor.readMetadata(column, metadata, slotOf(metadata, index, column))
    return table.columns.map((column) =>
      readValue(cursor, column, () => suspicions.push({ kind: 'unreadable_value', row, column })),
    )
  })
  const digests = new Map<Column, readonly (Uint8Array | undefined)[]>()
  for (const column of table.digested) {
    const held = values.map((record) => record?.[column.position] ?? null)
    const [computed = [], older] = barrier.ring.lookupVersions.map((version) =>
      digestPresent(barrier.ring, column, held, version),
    )
    digests.set(column, computed)
    for (const [index, row] of rows.entries()) {
      if (values[index]?.[column.position] === undefined) continue
      const stored = row[required(column.digest)] ?? null
      const isOlder = older !== undefined && stored !== null && compareDigest(stored, older[index]) === undefined
      const kind = isOlder ? undefined : compareDigest(stored, computed[index])
      if (kind !== undefined) suspicions.push({ kind, row, column })
    }
  }
  return { table, rows, values, metadata, digests, suspicions }
}

function isOpened(cursor: OpenRows, index: number): boolean {
  try {
    cursor.to(index)
    return true
  } catch (error) {
    if (isVaultError(error, 'data_loss')) return false
    throw error
  }
}

/** Returns a value, null if there is none. Returns undefined if it cannot be read, as a plain cell that was changed to another type. */
function readValue(cursor: OpenRows, column: Column, unreadable: () => void): unknown {
  try {
    return cursor.value(column)
  } catch {
    unreadable()
    return undefined
  }
}

/** Returns how a stored digest differs from that of the value; undefined if it does not. */
function compareDigest(stored: Cell, computed: Uint8Array | undefined): RecordFindingKind | undefined {
  if (computed === undefined) return stored === null ? undefined : 'unexpected_digest'
  if (stored === null) return 'missing_digest'
  return stored instanceof Uint8Array && sameBytes(stored, computed) ? undefined : 'wrong_digest'
}

/** A cell that holds a file. */
interface FileCell {
  readonly row: Row
  readonly column: Column
  readonly stored: StoredFile
}

/** Returns what is wrong with the files of these rows. */
export async function checkFiles(storage: StorageReads, barrier: Barrier, page: OpenedPage): Promise<readonly Suspicion[]> {
  const cells = fileCells(page)
  if (cells.length === 0) return []
  const files = await storage.get(
    FILES.name,
    cells.map(({ stored }) => stored.file),
  )
  return cells.flatMap((cell, index) => {
    const kind = compareFile(barrier, page.table, { cell, file: files[index] })
    return kind === undefined ? [] : [{ kind, row: cell.row, column: cell.column }]
  })
}

function fileCells({ table, rows, values }: OpenedPage): FileCell[] {
  if (table.files.length === 0) return []
  return rows.flatMap((row, index) =>
    table.files.flatMap((column) => {
      // The cells of a FILE column hold stored files: their mark was compared when the body was opened.
      const stored = values[index]?.[column.position] as StoredFile | null | undefined
      return stored === null || stored === undefined ? [] : [{ row, column, stored }]
    }),
  )
}

function compareFile(
  barrier: Barrier,
  table: Table,
  { cell, file }: { readonly cell: FileCell; readonly file: Row | undefined },
): RecordFindingKind | undefined {
  if (file === undefined) return 'missing_file'
  const opened = tryOpenFileRow(barrier, file)
  if (opened === undefined) return 'wrong_file'
  if (opened.removeAt !== null) return 'missing_file'
  const isOfCell = opened.tableId === table.objectId && opened.rowId === cell.row.id && opened.entry.size === cell.stored.size
  return isOfCell ? undefined : 'wrong_file'
}
