/** Stored cells by which storage finds records with given values of a column. */

import type { KeyRing } from '../ports/crypto.ts'
import type { Cell } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import { keyOfBytes } from '../util/bytes.ts'
import { digestValues } from './digest-values.ts'

/** Returns the cell of `column.lookup` for each value, in order: a digest, or the plain cell. No value is null. */
export function lookupCells(ring: KeyRing, column: Column, values: readonly unknown[]): Exclude<Cell, null>[] {
  return column.lookup === column.digest ? digestValues(ring, column, values) : values.map((value) => column.type.toCell(value))
}

/** Returns text that is equal for equal cells of one column only: the key of a row in a map. */
export function keyOfCell(cell: Cell | undefined): string {
  return cell instanceof Uint8Array ? keyOfBytes(cell) : String(cell)
}
