/** What a scan reads at once: whole rows, or only ids and bodies. */
import type { RowBodies } from '../barrier/reveal.ts'
import { bytesOfRows, endOfSlice } from '../pace/pages.ts'
import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'
import { BODY } from '../schema/layout.ts'
import { type Slab, slabStart, sliceSlab } from '../util/memory.ts'

/** Rows in the order of their ids. */
export type ScannedRows = readonly Row[] | RowBodies

/** True if only ids and bodies were read. */
export function isSealed(rows: ScannedRows): rows is RowBodies {
  return 'bodies' in rows
}

/** A part of the rows of a table. */
export interface ScannedPage {
  readonly rows: ScannedRows
  /** The id after which the next page begins; undefined at the end. */
  readonly next: number | undefined
  /** Frees the memory of the rows, which are no longer used. */
  free?(): void
}

/** Reads the rows of a page in rising order. */
export async function readScannedRows(storage: StorageReads, table: string, filter: Filter, page: Page): Promise<ScannedPage> {
  const rows = await storage.find(table, filter, page)
  return { rows, next: rows.length < page.limit ? undefined : rows.at(-1)?.id }
}

/** Reads the ids and bodies of a page in rising order. There can be fewer than its limit, or none, also where more follow. */
export async function readScannedBodies(storage: StorageReads, table: string, filter: Filter, page: Page): Promise<ScannedPage> {
  const { limit, after } = page
  const part = await storage.readBytes(table, filter, { column: BODY, limit, ...(after === undefined ? {} : { after }) })
  return { rows: rowBodies(part.ids, part.cells), next: part.next, free: () => part.free?.() }
}

/** Returns the rows from index `from` to `to` (exclusive). */
export function sliceOf(rows: ScannedRows, from: number, to: number): ScannedRows {
  if (from === 0 && to === rows.length) return rows
  return isSealed(rows) ? rowBodies(rows.ids.slice(from, to), sliceSlab(rows.bodies, from, to)) : rows.slice(from, to)
}

/** Estimated bytes of rows. */
export function bytesOf(rows: ScannedRows): number {
  return isSealed(rows) ? rows.bodies.bytes.length : bytesOfRows(rows)
}

/** Returns the end of a slice that begins at `start`, as `endOfSlice` does. */
export function endOf(rows: ScannedRows, start: number, limits: { readonly size: number; readonly maxBytes: number }): number {
  if (!isSealed(rows)) return endOfSlice(rows, start, limits)
  const { bodies, length } = rows
  const last = Math.min(length, start + limits.size)
  const full = slabStart(bodies, start) + limits.maxBytes
  let end = start
  while (end < last && slabStart(bodies, end) < full) end++
  return end
}

function rowBodies(ids: readonly number[], bodies: Slab): RowBodies {
  return { length: ids.length, ids, bodies }
}
