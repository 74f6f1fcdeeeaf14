/** The key under which an index files a row: equal keys exactly where SQL calls the cells equal. */

import type { Cell } from '../../core/ports/storage.ts'
import { keyOfBytes } from '../../core/util/bytes.ts'
import type { StoredRow } from './stored-cell.ts'

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
