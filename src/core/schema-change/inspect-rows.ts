/** Counts the records that keep a change of the schema from being made: without a value, with equal values, or of which normalizers leave nothing. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent, hasKey, keyOfCell } from '../barrier/digest-values.ts'
import { openColumns } from '../barrier/reveal.ts'
import { eachPage } from '../pace/pace.ts'
import type { Cell, PhysicalIndex, Row, StorageReads } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import type { TableChange } from './next-schema.ts'

/** Records that keep a change from being made. */
export interface RowProblem {
  /**
   * `new`: the column is new, and required. `null`: no value. `equal`: a value that an earlier record has too. `keyless`: normalizers leave nothing of the text.
   * `unfit`: a value that its new form does not take.
   */
  readonly kind: 'new' | 'null' | 'equal' | 'keyless' | 'unfit'
  readonly column: string
  readonly rows: number
}

interface InspectPorts {
  readonly storage: Pick<StorageReads, 'find' | 'scan'>
  readonly barrier: Barrier
  readonly scheduler: Scheduler
}

/** Reads a table for what a change requires of its records, and returns what is in the way. Opens records only where their values are asked for. */
export async function inspectTable(ports: InspectPorts, change: TableChange, signal?: Signal): Promise<RowProblem[]> {
  const { was, fills, builds } = change
  const isFilled = new Set(fills.flatMap(({ digest }) => digest ?? []))
  const known = builds.filter(({ columns }) => !columns.some((cell) => isFilled.has(cell)))
  const found = [...(await inspectValues(ports, change, signal)), ...(await findEqual(ports, was, known, signal))]
  return found.filter((problem) => problem.rows > 0)
}

async function inspectValues(
  { storage, barrier, scheduler }: InspectPorts,
  { was, fills, requires }: TableChange,
  signal: Signal | undefined,
): Promise<RowProblem[]> {
  if (fills.length + requires.length === 0) return []
  const missing = requires.map((column) => ({ kind: 'null' as const, column: column.name, rows: 0, of: column }))
  const keyless = fills.map((column) => ({ kind: 'keyless' as const, column: column.name, rows: 0, of: column }))
  const unique = fills.filter((column) => column.unique && column.plain === undefined)
  const equal = unique.map((column) => ({
    kind: 'equal' as const,
    column: column.name,
    rows: 0,
    of: column,
    seen: new Set<string>(),
  }))
  for await (const page of eachPage(storage, was.physical.name, { scheduler })) {
    assertNotAborted(signal)
    const valuesOf = readValues(barrier, was, page, [...fills, ...requires])
    for (const one of missing) one.rows += valuesOf(one.of).filter((value) => value === null).length
    for (const one of keyless) one.rows += valuesOf(one.of).filter((value) => !hasKey(one.of, value)).length
    for (const one of equal) {
      const digests = digestPresent(barrier.ring, one.of, valuesOf(one.of))
      one.rows += addSeen(one.seen, [digests.map((digest) => digest ?? null)])
    }
  }
  return [...missing, ...keyless, ...equal].map(({ kind, column, rows }) => ({ kind, column, rows }))
}

/** Returns how many rows have the cells of an earlier row, for each of these indexes that is unique. Rows with a null among these cells do not count. */
export async function findEqual(
  { storage, scheduler }: Pick<InspectPorts, 'storage' | 'scheduler'>,
  table: Table,
  builds: readonly PhysicalIndex[],
  signal?: Signal,
): Promise<RowProblem[]> {
  const { name, columns: stored } = table.physical
  const problems: RowProblem[] = []
  for (const { columns, unique } of builds) {
    // A column that is not stored yet is null in each row.
    if (!unique || columns.some((column) => !stored.some((one) => one.name === column))) continue
    const seen = new Set<string>()
    let rows = 0
    for await (const page of eachPage(storage, name, { columns, size: 1000, scheduler })) {
      assertNotAborted(signal)
      const cells = columns.map((column) => page.map((row) => row[column] ?? null))
      rows += addSeen(seen, cells)
    }
    if (rows > 0) problems.push({ kind: 'equal', column: columnsNamed(table, columns), rows })
  }
  return problems
}

/** Opens rows once, and returns what gives the values of one of these columns in each row, in order; null for none. Throws `data_loss` for a row that does not open. */
export function readValues(
  barrier: Barrier,
  table: Table,
  rows: readonly Row[],
  columns: readonly Column[],
): (column: Column) => readonly unknown[] {
  const cursor = openColumns(barrier, table, rows, columns)
  const records = rows.map((_, index) => {
    cursor.to(index)
    return columns.map((column) => cursor.value(column))
  })
  return (column) => {
    const nth = columns.indexOf(column)
    return records.map((values) => values[nth] ?? null)
  }
}

/** Returns the names of the columns of physical ones. */
function columnsNamed(table: Table, cells: readonly string[]): string {
  return cells.map((cell) => table.byPhysical.get(cell)?.name ?? cell).join(' and ')
}

/** Adds the cells of rows, given column by column, and returns how many rows were there before. */
export function addSeen(seen: Set<string>, columns: readonly (readonly Cell[])[]): number {
  let equal = 0
  for (const index of columns[0]?.keys() ?? []) {
    const cells = columns.map((column) => column[index] ?? null)
    if (cells.includes(null)) continue
    const key = JSON.stringify(cells.map(keyOfCell))
    if (seen.has(key)) equal++
    seen.add(key)
  }
  return equal
}
