/** The number of rows of pages whose rows are of unknown length: pages are small at first, and later about as long as they should be in bytes. */
import type { Row } from '../ports/storage.ts'
import { bytesOfRows } from './row-bytes.ts'

/** The sizes of the pages of one walk. */
export interface PageSize {
  /** Returns the number of rows of the next page. */
  next(): number
  /** Takes the page that was read. */
  read(rows: readonly Row[]): void
}

/** Numbers of rows of the first page, and of any. */
interface PageSizeOptions {
  readonly first?: number
  readonly max?: number
}

/** Default number of rows of the first page. */
const FIRST_ROWS = 16
/** Default maximum: even if much longer rows follow short ones, a page of this many is read in a few milliseconds. */
const MAX_ROWS = 128
/** Factor by which pages grow at most. */
const MAX_GROWTH = 4
/** Bytes that a page should have. */
const TARGET_BYTES = 256 * 1024

/** Creates the sizes of the pages of a walk that begins now. */
export function createPageSize({ first = FIRST_ROWS, max = MAX_ROWS }: PageSizeOptions = {}): PageSize {
  let size = first
  return {
    next: () => size,
    read(rows) {
      if (rows.length === 0) return
      const bytes = bytesOfRows(rows)
      const fitting = Math.floor((TARGET_BYTES * rows.length) / Math.max(bytes, 1))
      size = Math.max(1, Math.min(fitting, size * MAX_GROWTH, max))
    },
  }
}
