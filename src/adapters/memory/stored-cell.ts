/** Checks cells against their column and copies them in and out, so that no caller shares memory with a row. */

import { VaultError } from '../../core/errors.ts'
import type { Cell, PhysicalColumn } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import { copyFew } from '../../core/util/memory.ts'

/** A row as the memory storage keeps it: every column present, never changed once stored. */
export type StoredRow = { id: number; version: number; [column: string]: Cell }

/** A column as cells meet it; `table` is there for errors. */
export interface StoredColumn extends PhysicalColumn {
  readonly table: string
}

/** The cell as it is stored: of the column's type, integers as the port gives them out, bytes through `keepBytes`. */
export function toStoredCell(column: StoredColumn, cell: Cell, keepBytes: (bytes: Uint8Array) => Uint8Array): Cell {
  if (cell === null) return null
  switch (column.type) {
    case 'integer':
      if (Number.isSafeInteger(cell)) return cell === 0 ? 0 : cell
      return toInteger(column, cell)
    case 'real':
      if (typeof cell === 'number' && Number.isFinite(cell)) return cell
      break
    case 'text':
      if (typeof cell === 'string') return cell
      break
    case 'bytes':
      if (cell instanceof Uint8Array) return keepBytes(cell)
      break
    default:
      return unreachable(column.type)
  }
  throw refused(column)
}

/** Integers beyond 2^53 are kept, and given out, as bigint, all others as number. A number that large may have lost digits. */
function toInteger(column: StoredColumn, cell: Cell): number | bigint {
  if (typeof cell === 'bigint' && BigInt.asIntN(64, cell) === cell) return smallest(cell)
  throw refused(column)
}

/** A number where it is exact, else the bigint. */
export function smallest(whole: bigint): number | bigint {
  const near = Number(whole)
  return Number.isSafeInteger(near) ? near : whole
}

function refused({ type, table, name }: StoredColumn): VaultError {
  const message = `Column "${name}" of table "${table}" has type ${type} and was given a cell of another type.`
  return new VaultError('internal', message, { table, column: name })
}

/** The row as it is given out: a copy, its bytes too. */
export function copyOut(
  row: StoredRow,
  bytesColumns: readonly string[],
  copyBytes: (bytes: Uint8Array) => Uint8Array,
): StoredRow {
  const copy = { ...row }
  for (const column of bytesColumns) {
    const cell = copy[column]
    if (cell instanceof Uint8Array) copy[column] = copyBytes(cell)
  }
  return copy
}

/** A copy of `id`, `version` and these columns of the row, their bytes too. */
export function copyColumns(row: StoredRow, columns: readonly string[], copyBytes: (bytes: Uint8Array) => Uint8Array): StoredRow {
  const copy: StoredRow = { id: row.id, version: row.version }
  for (const column of columns) {
    const cell = row[column] ?? null
    copy[column] = cell instanceof Uint8Array ? copyBytes(cell) : cell
  }
  return copy
}

/** Longest byte string that shares a piece of memory with others. */
const MAX_SHARED_LENGTH = 1024
const MAX_PIECE_LENGTH = 65_536

/**
 * Copies byte strings, also a Buffer's, to plain `Uint8Array`s. Short ones lie side by side in a larger piece of
 * memory, which is ten times faster than memory of their own; only copies made by one copier ever lie together. `rows` is the number of rows
 * whose bytes it copies, if that is known.
 */
export function createBytesCopier(rows = Number.POSITIVE_INFINITY): (bytes: Uint8Array) => Uint8Array {
  if (rows <= 1) return copyFew
  // Rows that are not counted are kept one by one, and there may be few.
  const alike = Number.isFinite(rows) ? rows : 1
  let piece = new Uint8Array(0)
  let used = 0
  return (bytes) => {
    if (bytes.length > MAX_SHARED_LENGTH) return new Uint8Array(bytes)
    if (used + bytes.length > piece.length) {
      piece = new Uint8Array(Math.min(MAX_PIECE_LENGTH, Math.max(piece.length * 2, bytes.length * alike)))
      used = 0
    }
    const copy = piece.subarray(used, used + bytes.length)
    copy.set(bytes)
    used += bytes.length
    return copy
  }
}
