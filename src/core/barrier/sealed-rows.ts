/** Rows of which only ids and bodies were read, side by side: a scan of sealed columns needs no object for each row. */
import { type Slab, sliceSlab } from '../util/memory.ts'

/** Ids and bodies of rows, in order. */
export interface SealedRows {
  readonly length: number
  readonly ids: readonly number[]
  readonly bodies: Slab
}

/** Returns these ids and bodies as rows. */
export function toSealedRows(ids: readonly number[], bodies: Slab): SealedRows {
  return { length: ids.length, ids, bodies }
}

/** Returns the rows from index `from` to `to` (exclusive). Bodies are not copied. */
export function sliceSealedRows({ ids, bodies }: SealedRows, from: number, to: number): SealedRows {
  return toSealedRows(ids.slice(from, to), sliceSlab(bodies, from, to))
}
