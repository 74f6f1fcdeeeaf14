/** Decides when long rows are moved from the log into the file: often, because moving many megabytes at once holds the event loop. */
import type { Cell } from '../../core/ports/storage.ts'

/** Bytes of long rows that were written since the last move. */
export interface LongWrites {
  /** Adds rows like this one. */
  note(row: Readonly<Record<string, Cell>>, count: number): void
  /** True if it is time to move them; counts from zero then. */
  areDue(): boolean
}

/**
 * A cell from this length on has pages of its own. They are written once, so rare moves would not combine their writes. A text counts its
 * characters: its bytes are not fewer.
 */
const LONG_CELL_BYTES = 4096
/** Bytes that are moved in a few milliseconds. */
const MAX_BYTES = 5 * 1024 * 1024

export function createLongWrites(): LongWrites {
  let bytes = 0
  return {
    note(row, count) {
      for (const column in row) {
        const cell = row[column]
        const length = cell instanceof Uint8Array || typeof cell === 'string' ? cell.length : 0
        if (length >= LONG_CELL_BYTES) bytes += length * count
      }
    },
    areDue() {
      if (bytes < MAX_BYTES) return false
      bytes = 0
      return true
    },
  }
}
