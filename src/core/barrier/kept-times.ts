/** The times from which records and values are kept, as cells of their rows: what a retention rule counts from, in milliseconds since 1970, rounded up to the hour. */
import type { Cell, Row } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import type { KeptTime, Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'
import { nextHour } from '../util/period.ts'
import type { Barrier } from './barrier.ts'
import type { Values } from './parse-record.ts'
import { columnValues } from './reveal.ts'

type MutableCells = Record<string, Cell>

/** Sets the times of new records in their rows. */
export function setKeptOfNew(table: Table, records: readonly Values[], rows: readonly MutableCells[], nowMs: number): void {
  for (const kept of table.kept) {
    for (const [index, values] of records.entries())
      at(rows, index)[kept.cell] = timeOf(kept, (column) => values[column.position], nowMs)
  }
}

/** The rows that a change writes over, what it writes, and the patches that get the times. */
interface ChangedRows {
  readonly rows: readonly Row[]
  readonly records: readonly Values[]
  readonly sets: readonly MutableCells[]
  readonly nowMs: number
}

/** Sets the times that a change of these rows moves: those of values that it names, and those that count from a column that it names. */
export function setKeptOfChanged(barrier: Barrier, table: Table, { rows, records, sets, nowMs }: ChangedRows): void {
  for (const kept of table.kept) {
    const columns = columnsOf(kept)
    const isNamed = (index: number, { position }: Column): boolean => records[index]?.[position] !== undefined
    const moved = [...rows.keys()].filter((index) => columns.some((column) => isNamed(index, column)))
    // A rule with two columns needs the value of the other one as well.
    const stored = columns.map((column) => {
      const unnamed = moved.filter((index) => !isNamed(index, column))
      const values = columnValues(
        barrier,
        table,
        column,
        unnamed.map((index) => at(rows, index)),
      )
      return new Map(unnamed.map((index, k) => [index, values[k]]))
    })
    for (const index of moved) {
      const read = (column: Column): unknown => records[index]?.[column.position] ?? stored[columns.indexOf(column)]?.get(index)
      at(sets, index)[kept.cell] = timeOf(kept, read, nowMs)
    }
  }
}

/**
 * Returns the cells that give a new rule its times of existing rows, from the values of its columns. By birth it counts from `nowMs` at the earliest: a time
 * that is stored already can be of a rule that was there before.
 */
export function keptCells(kept: KeptTime, nowMs: number) {
  return {
    cell: kept.cell,
    columns: columnsOf(kept),
    cellsOf: (valuesOf: (column: Column) => readonly unknown[], rows: readonly Row[]): Cell[] =>
      rows.map((row, index) => {
        const time = timeOf(kept, (column) => valuesOf(column)[index], nowMs)
        const stored = row[kept.cell]
        return kept.from === undefined && typeof time === 'number' && typeof stored === 'number' ? Math.max(time, stored) : time
      }),
  }
}

function columnsOf({ column, from }: KeptTime): Column[] {
  return [column, from].filter((one) => one !== undefined)
}

/** Returns the time of one row; null if nothing of it expires. */
function timeOf({ column, from }: KeptTime, read: (column: Column) => unknown, nowMs: number): Cell {
  if (column !== undefined && (read(column) ?? null) === null) return null
  if (from === undefined) return nextHour(nowMs)
  const counted = read(from) ?? null
  return typeof counted === 'string' ? nextHour(instantOf(counted)) : null
}

/** The length of `YYYY-MM-DDTHH:MM:SS`. */
const SECONDS_LENGTH = 19

/** Returns the instant of the trusted form of a DATE or DATETIME, in milliseconds since 1970. A part of a second counts as a millisecond, which the hour rounds up. */
function instantOf(text: string): number {
  if (text.length < SECONDS_LENGTH) return Date.parse(text)
  return Date.parse(`${text.slice(0, SECONDS_LENGTH)}Z`) + (text[SECONDS_LENGTH] === '.' ? 1 : 0)
}
