/** Shows rows as records: values at the level of each row's access, or tokens instead. */

import { type MintInput, mintTokens, type Tokens } from '../barrier/mint-tokens.ts'
import { assertVersions } from '../barrier/record-errors.ts'
import { encodeVersions } from '../barrier/record-ids.ts'
import { type Fields, openRows, revealRows } from '../barrier/reveal.ts'
import { createTokenMetadata, slotOf } from '../barrier/token-metadata.ts'
import type { FileMetadata } from '../files/file-metadata.ts'
import { bytesOfRow } from '../pace/pace.ts'
import type { Row } from '../ports/storage.ts'
import type { Levels, Redaction } from '../redaction.ts'
import { type FoundRows, loweredLevels, type ReadingContext, type RowWithAccess } from '../row-access/evaluate-access.ts'
import type { Column, ColumnView } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { at, required } from '../util/lists.ts'
import { nowMs } from '../util/time.ts'

/** A record as a read returns it. With the option `tokenization`, `fields` and `tokens` are both the tokens. */
export interface UntypedRecord {
  readonly id: string
  readonly fields: Fields
  /** The levels of the fields that are masked or redacted. Absent with the option `tokenization`. Shared by records, and frozen. */
  readonly levels?: Levels
  readonly tokens?: Tokens
  /** The version of the record, with the option `version`. */
  readonly version?: string
  /** Metadata of files by column, with the option `returnFileMetadata`. */
  readonly fileMetadata?: Readonly<Record<string, FileMetadata>>
  /** Tickets to download files by column, with the option `downloadTickets`. */
  readonly downloadTickets?: Readonly<Record<string, string>>
}

/** The columns to show, the requested redaction, and whether to show tokens instead of values. */
export interface Show {
  readonly table: Table
  readonly columns: readonly Column[]
  readonly redaction: Redaction
  readonly asTokens: boolean
  /** Not with `asTokens`. Default false. */
  readonly asTexts?: boolean
}

/** Returns the shown records of rows with the version of each. Throws `data_loss` for a version that no record can have. */
export function withVersions(
  barrier: ReadingContext['barrier'],
  rows: readonly Pick<RowWithAccess, 'row'>[],
  { table, shown }: { readonly table: Table; readonly shown: readonly UntypedRecord[] },
): UntypedRecord[] {
  const versioned = rows.map(({ row }) => row)
  assertVersions(barrier, table, versioned)
  const versions = encodeVersions(barrier.ring, table, versioned)
  return shown.map((record, index) => ({ ...record, version: at(versions, index) }))
}

/** Bytes of the rows opened between two turns of the event loop. */
const MAX_BYTES = 256 * 1024

/** Returns the record of each row, in order. Neighbors that share their access are opened together. A promise only if there are several groups of them. */
export function showRecords(context: ReadingContext, found: FoundRows, show: Show): UntypedRecord[] | Promise<UntypedRecord[]> {
  const { rows } = found
  if (rows.length === 0) return []
  const first = groupFrom(rows, 0)
  return first.end === rows.length ? showGroup(context, found, show) : showGroups(context, found, show)
}

/** Neighbors from an index on that share their access, up to `end` (exclusive), and the bytes of their rows. */
interface Neighbors {
  readonly end: number
  readonly bytes: number
}

function groupFrom(rows: readonly RowWithAccess[], start: number): Neighbors {
  const { access } = required(rows[start])
  let end = start
  let bytes = 0
  while (end < rows.length && rows[end]?.access === access && bytes < MAX_BYTES) bytes += bytesOfRow(required(rows[end++]).row)
  return { end, bytes }
}

/** Shows one group after the other. Yields to the event loop between large ones. */
async function showGroups(context: ReadingContext, { rows, ids }: FoundRows, show: Show): Promise<UntypedRecord[]> {
  const shown: UntypedRecord[] = []
  let bytes = 0
  for (let start = 0; start < rows.length; ) {
    const group = groupFrom(rows, start)
    if (start > 0 && bytes + group.bytes > MAX_BYTES) {
      await context.scheduler.yield()
      bytes = 0
    }
    bytes += group.bytes
    const own = { rows: rows.slice(start, group.end), ids: ids.slice(start, group.end) }
    for (const one of showGroup(context, own, show)) shown.push(one)
    start = group.end
  }
  return shown
}

/** Shows rows with one access, at least one. */
function showGroup(context: ReadingContext, { rows, ids }: FoundRows, show: Show): UntypedRecord[] {
  const { access } = required(rows[0])
  const rowGroup = { group: rows.map(({ row }) => row), views: access.views(show.columns, show.redaction), ids }
  return show.asTokens ? tokenViews(context, show.table, rowGroup) : fieldViews(context, show, rowGroup)
}

/** Rows with the same views, and the public ids of their records. */
interface RowGroup {
  readonly group: readonly Row[]
  readonly views: readonly ColumnView[]
  readonly ids: readonly string[]
}

function fieldViews({ barrier }: ReadingContext, { table, asTexts }: Show, { group, views, ids }: RowGroup): UntypedRecord[] {
  const levels = loweredLevels(views)
  return revealRows(barrier, table, group, { views, asTexts }).map((fields, k) => ({ id: at(ids, k), fields, levels }))
}

function tokenViews(context: ReadingContext, table: Table, { group, views, ids }: RowGroup): UntypedRecord[] {
  const columns = views.map((view) => view.column)
  const tokens = mintTokens(context.barrier.ring, columns, mintInputOfRows(context, table, { group, columns }))
  return tokens.map((one, k) => ({ id: at(ids, k), fields: { ...one }, tokens: one }))
}

/** True for a column whose values decide which tokens there are. */
function hasValue({ token, mayLackToken }: Column): boolean {
  return token?.keeps === 'nothing' || mayLackToken
}

/** Returns the input to mint the tokens of stored rows. */
export function mintInputOfRows(
  context: Pick<ReadingContext, 'barrier' | 'clock'>,
  table: Table,
  { group, columns }: { readonly group: readonly Row[]; readonly columns: readonly Column[] },
): MintInput {
  const metadata = createTokenMetadata(table, group.length)
  const cursor = openRows(context.barrier, table, group)
  const values = group.map((_, row) => {
    cursor.to(row)
    for (const column of columns) cursor.readMetadata(column, metadata, slotOf(metadata, row, column))
    return new Map(columns.map((column) => [column, hasValue(column) ? cursor.value(column) : null]))
  })
  return {
    ids: group.map((row) => row.id),
    metadata,
    valueOf: (row, column) => required(values[row]).get(column),
    nowMs: nowMs(context),
  }
}
