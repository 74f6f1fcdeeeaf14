/** Cells in memory: checked and copied in and out, so that no caller shares memory with a row; how two compare; and the key an index has for them. */
import { VaultError } from '../../core/errors.ts'
import type { Cell, PhysicalColumn } from '../../core/ports/storage.ts'
import { keyOfBytes } from '../../core/util/bytes.ts'
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

/** Below zero where left comes first, above where right does, zero where they are equal. */
export function compareCells(left: Exclude<Cell, null>, right: Exclude<Cell, null>): number {
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right)
  if (left instanceof Uint8Array && right instanceof Uint8Array) return compareBytes(left, right)
  // Comparing a number with a bigint is exact.
  if (isNumeric(left) && isNumeric(right)) return left < right ? -1 : left > right ? 1 : 0
  throw new VaultError('internal', 'Cells of different types cannot be compared. Compare a column with a value of its type.')
}

function isNumeric(cell: Exclude<Cell, null>): cell is number | bigint {
  return typeof cell === 'number' || typeof cell === 'bigint'
}

/** JavaScript compares UTF-16 units, which puts U+E000..U+FFFF after everything beyond; code points put them before. */
function compareText(left: string, right: string): number {
  if (left === right) return 0
  const shorter = Math.min(left.length, right.length)
  for (let at = 0; at < shorter; at++) {
    const leftUnit = left.charCodeAt(at)
    const rightUnit = right.charCodeAt(at)
    if (leftUnit !== rightUnit) return codePointRank(leftUnit) - codePointRank(rightUnit)
  }
  return left.length - right.length
}

/** Lifts surrogates, which begin code points beyond U+FFFF, above all other units. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const shorter = Math.min(left.length, right.length)
  for (let at = 0; at < shorter; at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** Cells of one column are of one type, so keys of two types never stand for equal cells. */
export type IndexKey = string | number | bigint

/** The key of a row, `undefined` if a column is null: such rows are in no index and conflict with none. */
export function indexKey(columns: readonly string[], row: StoredRow): IndexKey | undefined {
  const [first] = columns
  if (columns.length === 1 && first !== undefined) return cellKey(row[first] ?? null)
  let joined = ''
  for (const column of columns) {
    const key = cellKey(row[column] ?? null)
    if (key === undefined) return undefined
    // The length in front keeps ('ab', 'c') apart from ('a', 'bc').
    const part = key === 0 ? '0' : String(key)
    joined += `${part.length}:${part}`
  }
  return joined
}

/** The key of one cell, `undefined` for null. */
export function cellKey(cell: Cell): IndexKey | undefined {
  if (cell === null) return undefined
  return cell instanceof Uint8Array ? keyOfBytes(cell) : cell
}
