/** Plain cells as storage gives them, to what a type expects of its own column. */
import type { Cell } from '../ports/storage.ts'

type Filled = Exclude<Cell, null>

/** The text of a text cell. A cell of another kind means that the table was changed behind the vault. */
export function textCell(cell: Filled): string {
  if (typeof cell !== 'string') throw new Error('a text cell holds no text')
  return cell
}

/** The number of an integer or real cell: a number where it is a safe one, else as it is. */
export function numberCell(cell: Filled): number | bigint {
  if (typeof cell === 'number') return cell
  if (typeof cell !== 'bigint') throw new Error('a number cell holds no number')
  return toSafeNumber(cell)
}

/** A bigint as a number where nothing is lost. */
export function toSafeNumber(value: bigint): number | bigint {
  const near = Number(value)
  return Number.isSafeInteger(near) ? near : value
}
