/** What to ask storage for when records are looked up by the value of a column. */

import type { KeyRing } from '../ports/keys.ts'
import type { Cell } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import { keyOfBytes } from '../util/bytes.ts'
import { digestValues } from './digest-values.ts'

/** The cell of `column.lookup` that each value is found under; none of the values is null. */
export function lookupCells(ring: KeyRing, column: Column, values: readonly unknown[]): Exclude<Cell, null>[] {
  return column.lookup === column.digest ? digestValues(ring, column, values) : values.map((value) => column.type.toCell(value))
}

/** A text that equal cells of one column share and others do not: what rows are found by in a map. */
export function keyOfCell(cell: Cell | undefined): string {
  return cell instanceof Uint8Array ? keyOfBytes(cell) : String(cell)
}
