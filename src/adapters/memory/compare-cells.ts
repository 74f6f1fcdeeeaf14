/** How two cells compare: numbers by size, text by code point, bytes bytewise. */

import { VaultError } from '../../core/errors.ts'
import type { Cell } from '../../core/ports/storage.ts'

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
