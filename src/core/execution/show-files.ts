/** Shows the files of records that were read: their metadata, and tickets to download them. */
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { openColumns } from '../barrier/reveal.ts'
import { readFiles } from '../file-store/file-rows.ts'
import { type FileMetadata, metadataOf } from '../files/file-metadata.ts'
import { mayOpen } from '../files/scan-state.ts'
import type { RowWithAccess } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'
import type { StoredFile } from '../values/file-type.ts'
import type { OperationContext } from './context.ts'
import { issueTicket } from './file-tickets.ts'

/** What a read shows of files. */
export interface FilesToShow {
  readonly downloadTickets: boolean
  readonly returnFileMetadata: boolean
}

/** The records as they are shown so far, and the columns whose files are shown. */
interface Shown<R> extends FilesToShow {
  readonly table: Table
  readonly shown: R[]
  readonly columns: readonly Column[]
}

/** What is added to a record. */
interface ShownFiles {
  readonly fileMetadata?: Readonly<Record<string, FileMetadata>>
  readonly downloadTickets?: Readonly<Record<string, string>>
}

/** A file that the caller of a read can read in plain text. */
interface ReadableFile {
  readonly column: Column
  readonly stored: StoredFile
}

/** Returns the records with their files. A file that the caller cannot read in plain text, or not open, is left out without a reason. */
export async function withFiles<R extends object>(
  context: OperationContext,
  rows: readonly RowWithAccess[],
  { table, shown, columns, downloadTickets, returnFileMetadata }: Shown<R>,
): Promise<(R & ShownFiles)[]> {
  if (!downloadTickets && !returnFileMetadata) return shown
  const readable = readableFiles(context, table, { rows, columns })
  const openable = downloadTickets ? await openableFiles(context, readable.flat()) : new Set<number>()
  const ids = encodeRecordIds(
    context.barrier.ring,
    table,
    rows.map(({ row }) => row.id),
  )
  return shown.map((record, index) => {
    const files = at(readable, index)
    const ticketOf = ({ column, stored }: ReadableFile): string =>
      issueTicket(context, {
        direction: 'download',
        table: table.name,
        column: column.name,
        id: at(ids, index),
        file: stored.file,
      }).ticket
    return {
      ...record,
      ...(returnFileMetadata ? { fileMetadata: byColumn(files, ({ stored }) => metadataOf(stored)) } : {}),
      ...(downloadTickets
        ? {
            downloadTickets: byColumn(
              files.filter(({ stored }) => openable.has(stored.file)),
              ticketOf,
            ),
          }
        : {}),
    }
  })
}

function byColumn<T>(files: readonly ReadableFile[], show: (file: ReadableFile) => T): Record<string, T> {
  return Object.fromEntries(files.map((file) => [file.column.name, show(file)]))
}

/** Returns the files of each row that its caller can read in plain text. */
function readableFiles(
  { barrier }: OperationContext,
  table: Table,
  { rows, columns }: { readonly rows: readonly RowWithAccess[]; readonly columns: readonly Column[] },
): ReadableFile[][] {
  const cursor = openColumns(
    barrier,
    table,
    rows.map(({ row }) => row),
    columns,
  )
  return rows.map(({ access }, index) => {
    if (columns.length > 0) cursor.to(index)
    return columns.flatMap((column) => {
      if (access.level(column) !== 'PLAIN_TEXT') return []
      // The cells of a FILE column hold stored files: their mark was compared when the body was opened.
      const stored = cursor.value(column) as StoredFile | null
      return stored === null ? [] : [{ column, stored }]
    })
  })
}

/** Returns the row ids of those files that may be opened. */
async function openableFiles(
  { unit, barrier, files }: OperationContext,
  readable: readonly ReadableFile[],
): Promise<Set<number>> {
  const ids = readable.map(({ stored }) => stored.file)
  const found = await readFiles(unit.storage, barrier, ids)
  return new Set(
    found.flatMap((file) =>
      file !== undefined && file.removeAt === null && mayOpen(file.entry.state, files.hasScanner) ? [file.id] : [],
    ),
  )
}
