/** Checks the files of rows: the row of each must exist, open, and be that of the record. Contents are not read. */
import type { Barrier } from '../barrier/barrier.ts'
import { tryOpenFileRow } from '../file-store/file-rows.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { FILES } from '../schema/system-tables.ts'
import type { StoredFile } from '../values/file-type.ts'
import type { OpenedPage } from './check-records.ts'
import type { RecordFindingKind, Suspicion } from './record-findings.ts'

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
