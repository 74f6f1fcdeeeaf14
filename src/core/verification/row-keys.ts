/** The keys that rows must have in an index, and what the keys that it has of rows come to. */
import type { Barrier } from '../barrier/barrier.ts'
import { openRows } from '../barrier/reveal.ts'
import { isVaultError } from '../errors.ts'
import { compareKeys } from '../index-runs/order-key.ts'
import { indexKeys, splitKeys } from '../index-runs/trigrams.ts'
import type { Row } from '../ports/storage.ts'
import type { Column, ColumnIndex } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'

/** Rows whose keys one walk sums, four bytes for each: an index of a table with more ids is walked once for each so many. */
const IDS_AT_ONCE = 2 ** 21

/** An index of a column of a table. */
export interface IndexPlace {
  readonly table: Table
  readonly column: Column
  readonly index: ColumnIndex
}

/** The keys of the value of a row, or `unknown` for a row that does not open. */
export type OwnKeys = readonly Uint8Array[] | 'unknown'

/** True if an entry may be that of a row with these keys. */
export function isOwn(own: OwnKeys, key: Uint8Array): boolean {
  return own === 'unknown' || own.some((one) => compareKeys(one, key) === 0)
}

/** Returns the keys of the values of rows, by row. */
export function openKeys(
  barrier: Barrier,
  { table, column, index }: IndexPlace,
  rows: readonly Row[],
): ReadonlyMap<number, OwnKeys> {
  const cursor = openRows(barrier, table, rows)
  return new Map(
    rows.map(({ id }, position): [number, OwnKeys] => {
      try {
        cursor.to(position)
      } catch (error) {
        if (!isVaultError(error, 'data_loss')) throw error
        return [id, 'unknown']
      }
      return [id, splitKeys(index.kind, indexKeys(index.kind, column.type, cursor.value(column)))]
    }),
  )
}

/** Sums of the keys of IDS_AT_ONCE rows. */
export class KeySums {
  readonly #from: number
  readonly #sums = new Uint32Array(IDS_AT_ONCE)
  /** The first row beyond that was asked for. */
  next = Number.POSITIVE_INFINITY

  constructor(from: number) {
    this.#from = from
  }

  /** True if the row is one of these, and not beyond. */
  covers(row: number): boolean {
    if (row >= this.#from + IDS_AT_ONCE) this.next = Math.min(this.next, row)
    return row >= this.#from && row < this.#from + IDS_AT_ONCE
  }

  add(row: number, key: Uint8Array): void {
    this.#sums[row - this.#from] = (this.#sums[row - this.#from] ?? 0) + hashOf(key)
  }

  /** Returns whether the sum of a row is that of its keys, and is left without it. Of a row that does not open, only whether it has some. */
  takes(row: number, keys: OwnKeys): boolean {
    const sum = this.#sums[row - this.#from]
    this.#sums[row - this.#from] = 0
    return keys === 'unknown' ? sum !== 0 : sum === keys.reduce((all, key) => (all + hashOf(key)) >>> 0, 0)
  }

  /** Yields the rows whose sum was not taken. */
  *left(): Generator<number> {
    for (const [position, sum] of this.#sums.entries()) if (sum !== 0) yield this.#from + position
  }
}

/** Mixes the bytes of a key to a number that is not 0: sums of keys that are equal by chance are one in 2^32. */
function hashOf(key: Uint8Array): number {
  let mixed = 0x811c_9dc5
  for (const byte of key) mixed = Math.imul(mixed ^ byte, 0x0100_0193)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b)
  return (mixed ^ (mixed >>> 13)) >>> 0 || 1
}
