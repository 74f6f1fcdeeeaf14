/** Converts plain cells, as storage returns them, to what a column type expects. */
import type { Cell } from '../ports/storage.ts'

type Filled = Exclude<Cell, null>

/** Returns the text of a text cell. Throws if the cell is not text: the table was changed outside the vault. */
export function textCell(cell: Filled): string {
  if (typeof cell !== 'string') throw new Error('a text cell does not hold text')
  return cell
}

/** Returns the number of an integer or real cell: a number up to 2^53 - 1, else a bigint. Throws if the cell is not a number. */
export function numberCell(cell: Filled): number | bigint {
  if (typeof cell === 'number') return cell
  if (typeof cell !== 'bigint') throw new Error('a number cell does not hold a number')
  return toSafeNumber(cell)
}

/** Returns a bigint as a number if no digit is lost, else unchanged. */
export function toSafeNumber(value: bigint): number | bigint {
  const near = Number(value)
  return Number.isSafeInteger(near) ? near : value
}
