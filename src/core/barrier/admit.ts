/** Plaintext in: values to rows of sealed bodies, digests and plain cells, a whole list at a time. */
import type { Cell, NewRow, Patch, Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { BODY } from '../schema/layout.ts'
import type { StampPlace } from '../sealing/cell-layout.ts'
import { beginValue, copyCells, endValue, writeCellHead, writeRecordStampHead } from '../sealing/cell-layout.ts'
import { sealBodies } from '../sealing/seal.ts'
import { ByteWriter } from '../util/bytes.ts'
import type { Slab } from '../util/slab.ts'
import { slabItem, slabStart } from '../util/slab.ts'
import type { Barrier } from './barrier.ts'
import { addressOf } from './barrier.ts'
import { digestValues } from './digest-values.ts'
import type { Values } from './parse-record.ts'
import { openBodiesOf } from './reveal.ts'
import type { Stamps } from './stamps.ts'
import { drawStamps, slotOf, stampedSlot } from './stamps.ts'

/** Rows ready to be stored, and the stamps that tokens are made of. */
export interface Admitted<R> {
  readonly rows: readonly R[]
  readonly stamps: Stamps
}

type MutableRow = { id: number; [column: string]: Cell }

/** New rows for these values, `ids` giving each its place. */
export function admitRows(barrier: Barrier, table: Table, ids: readonly number[], records: readonly Values[]): Admitted<NewRow> {
  const stamps = drawStamps(barrier.entropy, table, records)
  const out = new ByteWriter(records.length * 160)
  const ends = new Uint32Array(records.length)
  for (let row = 0; row < records.length; row++) {
    const slot = stampedSlot(stamps, row)
    if (slot !== undefined) {
      writeRecordStampHead(out)
      writeStamp(out, stamps, slot)
    }
    writeCells(out, table, records[row] ?? [], { stamps, row, place: 'shared' })
    ends[row] = out.length
  }
  const bodies = sealBodies(barrier.ring, addressOf(barrier, table), ids, { bytes: out.written(), ends, count: records.length })
  const rows: MutableRow[] = new Array(records.length)
  for (let i = 0; i < records.length; i++) rows[i] = { id: ids[i] ?? 0, [BODY]: slabItem(bodies, i) }
  for (const column of table.digested)
    setDigests(barrier, column, records, (row, digest) => setCell(rows[row], column.digest, digest))
  for (const column of table.plain) {
    for (let row = 0; row < rows.length; row++)
      setCell(rows[row], column.plain, plainCell(column, records[row]?.[column.position]))
  }
  return { rows, stamps }
}

/**
 * Patches that write the named values into rows as they stand. Cells that are not named keep their bytes and stamps; a
 * row whose sealed cells are all untouched keeps its body. Throws `internal` where a body does not open.
 */
export function amendRows(barrier: Barrier, table: Table, rows: readonly Row[], records: readonly Values[]): Admitted<Patch> {
  const stamps = drawStamps(barrier.entropy, table, records)
  const sets: Record<string, Cell>[] = rows.map(() => ({}))
  const touched = rows.flatMap((_, index) => (touchesBody(table, records[index] ?? []) ? [index] : []))
  if (touched.length > 0) {
    const bodies = resealBodies(barrier, table, { rows, records, stamps, touched })
    for (const [k, index] of touched.entries()) setCell(sets[index], BODY, slabItem(bodies, k))
  }
  for (const column of table.digested)
    setDigests(barrier, column, records, (row, digest) => setCell(sets[row], column.digest, digest))
  for (const column of table.plain) {
    for (let row = 0; row < rows.length; row++) {
      const value = records[row]?.[column.position]
      if (value !== undefined) setCell(sets[row], column.plain, plainCell(column, value))
    }
  }
  return { rows: rows.map((row, index) => ({ id: row.id, version: row.version, set: sets[index] ?? {} })), stamps }
}

interface Amendment {
  readonly rows: readonly Row[]
  readonly records: readonly Values[]
  readonly stamps: Stamps
  /** Places of the rows whose bodies change. */
  readonly touched: readonly number[]
}

/** The new bodies of the touched rows, in their order. */
function resealBodies(barrier: Barrier, table: Table, { rows, records, stamps, touched }: Amendment): Slab {
  const old = touched.flatMap((index) => rows[index] ?? [])
  const opened = openBodiesOf(barrier, table, old)
  const out = new ByteWriter(opened.bytes.length + touched.length * 160)
  const ends = new Uint32Array(touched.length)
  touched.forEach((index, k) => {
    const values = records[index] ?? []
    const replaced = new Set(
      table.columns.filter((column) => values[column.position] !== undefined).map((column) => column.ordinal),
    )
    copyCells(opened.bytes, slabStart(opened, k), opened.ends[k] ?? 0, (ordinal) => replaced.has(ordinal), out)
    writeCells(out, table, values, { stamps, row: index, place: 'own' })
    ends[k] = out.length
  })
  const ids = old.map((row) => row.id)
  return sealBodies(barrier.ring, addressOf(barrier, table), ids, { bytes: out.written(), ends, count: touched.length })
}

/** The stamps of a list of rows, one row of it, and where its cells are to have theirs. */
interface RowStamps {
  readonly stamps: Stamps
  readonly row: number
  readonly place: StampPlace
}

/** Writes the cells of the columns that hold a value. */
function writeCells(out: ByteWriter, table: Table, values: Values, { stamps, row, place }: RowStamps): void {
  const { columns } = table
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]
    const value = values[i]
    if (column === undefined || value === undefined || value === null) continue
    const isSealed = column.plain === undefined
    const stamp = column.token === undefined ? 'none' : place
    if (!isSealed && stamp === 'none') continue
    writeCellHead(out, column.ordinal, stamp, isSealed)
    if (stamp === 'own') writeStamp(out, stamps, slotOf(stamps, row, column))
    if (!isSealed) continue
    const mark = beginValue(out)
    column.type.write(value, out)
    endValue(out, mark)
  }
}

function writeStamp(out: ByteWriter, stamps: Stamps, slot: number): void {
  out.u32(stamps.high[slot] ?? 0)
  out.u32(stamps.low[slot] ?? 0)
}

/** Hands the digest of each named value of one column to `set`, null for null. */
function setDigests(
  barrier: Barrier,
  column: Column,
  records: readonly Values[],
  set: (row: number, digest: Uint8Array | null) => void,
): void {
  const rows: number[] = []
  const values: unknown[] = []
  for (let row = 0; row < records.length; row++) {
    const value = records[row]?.[column.position]
    if (value === null) set(row, null)
    else if (value !== undefined) {
      rows.push(row)
      values.push(value)
    }
  }
  if (rows.length === 0) return
  const digests = digestValues(barrier.ring, column, values)
  for (let i = 0; i < rows.length; i++) set(rows[i] ?? 0, digests[i] ?? null)
}

function touchesBody(table: Table, values: Values): boolean {
  return table.columns.some(
    (column) => values[column.position] !== undefined && (column.plain === undefined || column.token !== undefined),
  )
}

function plainCell(column: Column, value: unknown): Cell {
  return value === undefined || value === null ? null : column.type.toCell(value)
}

function setCell(row: Record<string, Cell> | undefined, column: string | undefined, cell: Cell): void {
  if (row !== undefined && column !== undefined) row[column] = cell
}
