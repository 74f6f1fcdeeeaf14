/** The cells of unique keys: what a unique index compares of a record, and what a row that holds a key can have. */
import type { KeyRing } from '../ports/crypto.ts'
import type { Cell, Row } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import type { UniqueKey } from '../schema/layout.ts'
import { at, required } from '../util/lists.ts'
import { digestValues, keyOfCell } from './digest-values.ts'
import type { Values } from './parse-record.ts'

/** The cells of a unique key, one for each column. */
export type KeyCells = readonly Exclude<Cell, null>[]

/** What a row that holds a key can have in each column: the cell, and while look-up keys are rotated the digest of the older one. */
export type KeyAlternatives = readonly KeyCells[]

/** Returns the cells of a key for each record; undefined for a record with a null, or no value, in one of the columns: it can repeat. */
export function keyCells(
  ring: KeyRing,
  { columns }: UniqueKey,
  records: readonly Values[],
  version?: number,
): (KeyCells | undefined)[] {
  const whole = records.filter((values) => columns.every((column) => hasValue(values, column)))
  const cells = columns.map((column): KeyCells => {
    const values = whole.map((record) => record[column.position])
    return column.plain === undefined
      ? digestValues(ring, column, values, version)
      : values.map((value) => column.type.toCell(value))
  })
  if (whole.length === records.length) return whole.map((_, index) => cells.map((of) => at(of, index)))
  const positions = new Map(whole.map((values, index) => [values, index]))
  return records.map((values) => {
    const index = positions.get(values)
    return index === undefined ? undefined : cells.map((of) => at(of, index))
  })
}

/** True if a record has a value in a column, and not null. */
export function hasValue(values: Values, column: Column): boolean {
  const value = values[column.position]
  return value !== undefined && value !== null
}

/** Returns text that is equal for equal cells of one key only. */
export function textOfKey(cells: readonly (Cell | undefined)[]): string {
  return cells.length === 1 ? keyOfCell(cells[0]) : JSON.stringify(cells.map(keyOfCell))
}

/** Returns what rows can have that hold the keys of these records, all of which have one. `newest` is what `keyCells` returned for them. */
export function keyAlternatives(
  ring: KeyRing,
  key: UniqueKey,
  records: readonly Values[],
  newest: readonly (KeyCells | undefined)[] = keyCells(ring, key, records),
): KeyAlternatives[] {
  const [, older] = ring.lookupVersions
  const former = older === undefined ? [] : keyCells(ring, key, records, older)
  return records.map((_, index) =>
    key.columns.map(({ plain }, member): KeyCells => {
      const cells = [former[index]?.[member], newest[index]?.[member]].filter((cell) => cell !== undefined)
      return plain === undefined ? cells : cells.slice(-1)
    }),
  )
}

/** Returns a function for the text of the key of a row, with the newest cells for those that rows can have. */
export function newestTexts(key: UniqueKey, keys: readonly KeyAlternatives[]): (row: Row) => string {
  const cellsOf = newestCells(key, keys)
  return (row) => textOfKey(cellsOf(row))
}

/** Returns a function for the cells of the key of a row, with the newest ones for those that rows can have. */
export function newestCells(key: UniqueKey, keys: readonly KeyAlternatives[]): (row: Row) => (Cell | undefined)[] {
  const newest = key.columns.map((_, member) => newestOf(keys, member))
  return (row) => key.cells.map((name, member) => newest[member]?.get(keyOfCell(row[name])) ?? row[name])
}

/** Returns the newest cell for each that rows can have in a member. */
function newestOf(keys: readonly KeyAlternatives[], member: number): ReadonlyMap<string, Cell> {
  const newest = new Map<string, Cell>()
  for (const cells of keys) {
    const alternatives = at(cells, member)
    for (const cell of alternatives) newest.set(keyOfCell(cell), required(alternatives.at(-1)))
  }
  return newest
}
