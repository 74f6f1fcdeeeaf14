/** Plaintext in: values to rows of sealed bodies, digests and plain cells, a whole list at a time. */
import type { Cell, NewRow, Patch, Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { BODY } from '../schema/layout.ts'
import type { CheckPlacement } from '../sealing/cell-layout.ts'
import { beginValue, endValue, writeCellHead, writeRecordCheckHead } from '../sealing/cell-layout.ts'
import { sealBodies } from '../sealing/seal.ts'
import { ByteWriter } from '../util/bytes.ts'
import type { Slab } from '../util/slab.ts'
import { slabItem } from '../util/slab.ts'
import type { Barrier } from './barrier.ts'
import { addressOf } from './barrier.ts'
import { digestValues } from './digest-values.ts'
import type { Values } from './parse-record.ts'
import { openRows } from './reveal.ts'
import type { TokenMetadata, TokenSources } from './token-metadata.ts'
import { checkedSlot, createTokenMetadata, drawTokenMetadata, slotOf } from './token-metadata.ts'
import { sealTransients } from './transients.ts'

/** Rows ready to be stored, the marks that tokens are told by, and the values that live apart. */
export interface SealedRows<R> {
  readonly rows: readonly R[]
  readonly metadata: TokenMetadata
  readonly transients: readonly NewRow[]
}

/**
 * The same for rows that stood before: `replaced` holds the marks of the cells that were written over, and `kept` a 1 for
 * each slot whose text was kept.
 */
export interface ResealedRows extends SealedRows<Patch> {
  readonly replaced: TokenMetadata
  readonly kept: Uint8Array
}

type MutableRow = { id: number; [column: string]: Cell }

/** New rows for these values, `ids` giving each its place. */
export function sealRows(
  barrier: Barrier,
  table: Table,
  {
    ids,
    records,
    sources,
  }: { readonly ids: readonly number[]; readonly records: readonly Values[]; readonly sources: TokenSources },
): SealedRows<NewRow> {
  const metadata = drawTokenMetadata(barrier.entropy, table, records, sources)
  const out = new ByteWriter(records.length * 160)
  const ends = new Uint32Array(records.length)
  for (let row = 0; row < records.length; row++) {
    const slot = checkedSlot(metadata, row)
    if (slot !== undefined) {
      writeRecordCheckHead(out)
      writeTokenCheck(out, metadata, slot)
    }
    writeCells(out, table, records[row] ?? [], { metadata, row, checkPlacement: 'shared' })
    ends[row] = out.length
  }
  const bodies = sealBodies(barrier.ring, addressOf(barrier, table), ids, { bytes: out.written(), ends, count: records.length })
  const rows: MutableRow[] = new Array(records.length)
  for (let i = 0; i < records.length; i++) rows[i] = { id: ids[i] ?? 0, [BODY]: slabItem(bodies, i) }
  for (const column of table.digested) {
    setDigests(barrier, column, records, (row, digest) => setCell(rows[row], column.digest, digest))
  }
  for (const column of table.plain) {
    for (let row = 0; row < rows.length; row++) {
      setCell(rows[row], column.plain, plainCell(column, records[row]?.[column.position]))
    }
  }
  return { rows, metadata, transients: sealTransients(barrier, table, records, metadata) }
}

/**
 * Patches that write the named values into rows as they stand. Cells that are not named keep their bytes and marks; a
 * row whose sealed cells are all untouched keeps its body. Throws `internal` where a body does not open.
 */
export function resealRows(
  barrier: Barrier,
  table: Table,
  {
    rows,
    records,
    sources,
  }: { readonly rows: readonly Row[]; readonly records: readonly Values[]; readonly sources: TokenSources },
): ResealedRows {
  const metadata = drawTokenMetadata(barrier.entropy, table, records, sources)
  const replaced = createTokenMetadata(table, rows.length)
  const kept = new Uint8Array(metadata.texts.length)
  const sets: Record<string, Cell>[] = rows.map(() => ({}))
  const touched = rows.flatMap((_, index) => (touchesBody(table, records[index] ?? []) ? [index] : []))
  if (touched.length > 0) {
    const bodies = resealBodies(barrier, table, { rows, records, metadata, replaced, kept, touched })
    for (const [k, index] of touched.entries()) setCell(sets[index], BODY, slabItem(bodies, k))
  }
  for (const column of table.digested) {
    setDigests(barrier, column, records, (row, digest) => setCell(sets[row], column.digest, digest))
  }
  for (const column of table.plain) {
    for (let row = 0; row < rows.length; row++) {
      const value = records[row]?.[column.position]
      if (value !== undefined) setCell(sets[row], column.plain, plainCell(column, value))
    }
  }
  const patches = rows.map((row, index) => ({ id: row.id, version: row.version, set: sets[index] ?? {} }))
  return { rows: patches, metadata, replaced, kept, transients: sealTransients(barrier, table, records, metadata) }
}

interface Resealing {
  readonly rows: readonly Row[]
  readonly records: readonly Values[]
  readonly metadata: TokenMetadata
  readonly replaced: TokenMetadata
  readonly kept: Uint8Array
  /** Places of the rows whose bodies change. */
  readonly touched: readonly number[]
}

/** The new bodies of the touched rows, in their order. */
function resealBodies(barrier: Barrier, table: Table, { rows, records, metadata, replaced, kept, touched }: Resealing): Slab {
  const old = touched.flatMap((index) => rows[index] ?? [])
  const cursor = openRows(barrier, table, old)
  const out = new ByteWriter(touched.length * 320)
  const ends = new Uint32Array(touched.length)
  for (const [k, index] of touched.entries()) {
    const values = records[index] ?? []
    const named = table.columns.filter((column) => values[column.position] !== undefined)
    const ordinals = new Set(named.map((column) => column.ordinal))
    cursor.to(k)
    for (const column of named) {
      if (column.token === undefined) continue
      cursor.readMetadata(column, replaced, slotOf(replaced, index, column))
      const slot = slotOf(metadata, index, column)
      const value = values[column.position]
      // A kept text that happens to be the new value would give it away: that one token is drawn anew.
      const isTelling = value !== null && replaced.texts[slot] === column.type.toText(value)
      if (column.isStable && value !== null && !isTelling && keepMetadata(metadata, replaced, slot)) kept[slot] = 1
    }
    cursor.copyCells((ordinal) => ordinals.has(ordinal), out)
    writeCells(out, table, values, { metadata, row: index, checkPlacement: 'own' })
    ends[k] = out.length
  }
  const ids = old.map((row) => row.id)
  return sealBodies(barrier.ring, addressOf(barrier, table), ids, { bytes: out.written(), ends, count: touched.length })
}

/** Gives a slot its old mark back, unless the caller brought another; true where that is a text, which then is not replaced. */
function keepMetadata(metadata: TokenMetadata, replaced: TokenMetadata, slot: number): boolean {
  const old = replaced.texts[slot]
  if (old === undefined) {
    if (replaced.hasCheck[slot] === 1 && metadata.hasCheck[slot] === 1) {
      metadata.high[slot] = replaced.high[slot] ?? 0
      metadata.low[slot] = replaced.low[slot] ?? 0
    }
    return false
  }
  if (metadata.isSupplied[slot] === 1) return false
  metadata.texts[slot] = old
  metadata.hasCheck[slot] = 0
  replaced.texts[slot] = undefined
  return true
}

/** The marks of a list of rows, one row of it, and where its cells are to have their stamps. */
interface RowMetadata {
  readonly metadata: TokenMetadata
  readonly row: number
  readonly checkPlacement: 'shared' | 'own'
}

/** Writes the cells of the columns that hold a value. */
function writeCells(out: ByteWriter, table: Table, values: Values, rowMarks: RowMetadata): void {
  const { columns } = table
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]
    const value = values[i]
    if (column === undefined || value === undefined || value === null) continue
    if (column.token !== undefined) writeTokenizedCell(out, column, value, rowMarks)
    else if (column.plain === undefined) {
      writeCellHead(out, column.ordinal, 'none', true)
      writeValue(out, column, value)
    }
  }
}

/** Writes the cell of a tokenized column: its mark, and the value or, where that lives apart, its ticket. */
function writeTokenizedCell(
  out: ByteWriter,
  column: Column,
  value: unknown,
  { metadata, row, checkPlacement }: RowMetadata,
): void {
  const slot = slotOf(metadata, row, column)
  const text = metadata.texts[slot]
  const place: CheckPlacement = text !== undefined ? 'text' : metadata.hasCheck[slot] === 1 ? checkPlacement : 'none'
  const isSealed = column.plain === undefined
  if (!isSealed && place === 'none') return
  writeCellHead(out, column.ordinal, place, isSealed)
  if (place === 'own') writeTokenCheck(out, metadata, slot)
  if (text !== undefined) {
    const start = beginValue(out)
    out.utf8(text)
    endValue(out, start)
  }
  if (!isSealed) return
  const transientRef = metadata.transientRefs[slot]
  if (transientRef === undefined) writeValue(out, column, value)
  else {
    const start = beginValue(out)
    out.i64(transientRef.row)
    out.i64(transientRef.expiresAt)
    endValue(out, start)
  }
}

function writeValue(out: ByteWriter, column: Column, value: unknown): void {
  const start = beginValue(out)
  column.type.write(value, out)
  endValue(out, start)
}

function writeTokenCheck(out: ByteWriter, metadata: TokenMetadata, slot: number): void {
  out.u32(metadata.high[slot] ?? 0)
  out.u32(metadata.low[slot] ?? 0)
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
