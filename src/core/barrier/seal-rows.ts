/** Seals values into rows of bodies, digests and plain cells, a list of records at a time. */
import { VaultError } from '../errors.ts'
import type { Cell, NewRow, Patch, Row } from '../ports/storage.ts'
import { type Column, IS_INDEXED } from '../schema/column-layout.ts'
import { BODY, type Table } from '../schema/layout.ts'
import { beginValue, createLayoutWriter, endValue } from '../sealing/body-writer.ts'
import { cellBits, HAS_CHECK, HAS_VALUE, IS_SHARED } from '../sealing/cell-layout.ts'
import { VAULT_KEY } from '../sealing/subject-bodies.ts'
import { ByteWriter } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { fewNumbers, plaintextBytes, type Slab, slabItem } from '../util/memory.ts'
import { type Barrier, sealBodiesOf } from './barrier.ts'
import { digestValues } from './digest-values.ts'
import { setKeptOfChanged, setKeptOfNew } from './kept-times.ts'
import type { Values } from './parse-record.ts'
import { bodyOf, keyOf, type OpenRows, openRows } from './reveal.ts'
import {
  checkedSlot,
  createTokenMetadata,
  drawTokenMetadata,
  slotOf,
  type TokenMetadata,
  type TokenSources,
  type UnchangedCells,
  writeTokenCheck,
} from './token-metadata.ts'
import { sealTransients } from './transients.ts'

/** Rows to store, the token metadata of their new cells, and the rows of their transient values. */
export interface SealedRows<R> {
  readonly rows: readonly R[]
  readonly metadata: TokenMetadata
  readonly transients: readonly NewRow[]
}

/** Patches of existing rows. */
export interface ResealedRows extends SealedRows<Patch> {
  /** The patches of transient values that stay, whose time starts again. */
  readonly restarted: readonly Patch[]
  /** The token metadata of the cells that are overwritten. */
  readonly replaced: TokenMetadata
  /** 1 for each slot whose token text is kept. */
  readonly kept: Uint8Array
}

type MutableRow = { id: number; [column: string]: Cell }

/** Records to insert, and the sources of their tokens. */
export interface RecordsToSeal {
  readonly records: readonly Values[]
  readonly sources: TokenSources
}

/** New rows that are written a slice at a time, because long records take long, and then sealed. */
export interface RowWriter {
  /** Writes the next records, up to 256 KiB of plaintext and the record that exceeds it. Returns false when all are written. */
  writeSome(): boolean
  /**
   * Seals the written records, each with the key of its subject; without `keys` with that of the vault. Throws `internal` if there is not one id for
   * each.
   */
  seal(ids: readonly number[], keys?: readonly number[]): SealedRows<NewRow>
}

/** Bytes of plaintext in a slice. */
const SLICE_BYTES = 256 * 1024

/** Records to write over existing rows, one for each row. A body that is sealed again loses the cells of columns that were erased. */
export interface RecordsToReseal {
  /** True to seal every body again, also one whose cells do not change. Default false. */
  readonly sealsAll?: boolean
  readonly rows: readonly Row[]
  readonly records: readonly Values[]
  readonly sources: TokenSources
  /** The key of the subject of each record, after the change; absent where each keeps the one it has. */
  readonly keys?: readonly number[] | undefined
  /** Called once with each row that is opened, before it is sealed again, with the cursor at it. */
  readonly onOpened?: ((index: number, cursor: OpenRows) => void) | undefined
}

/** Begins to write a new row for each record, in order. Ids are given last, so that long records do not keep those waiting who reserve later ones. */
export function writeRows(barrier: Barrier, table: Table, { records, sources }: RecordsToSeal): RowWriter {
  const metadata = drawTokenMetadata(barrier.entropy, table, records, sources)
  const rows = records.map((): MutableRow => ({ id: 0, [BODY]: null }))
  const out = new ByteWriter(records.length * 192, plaintextBytes)
  const ends = fewNumbers(records.length)
  const layout = createLayoutWriter(table.cells)
  let next = 0

  function writeRecord(row: number): void {
    const cells = { metadata, row, values: required(records[row]) }
    for (const column of table.inBody) layout.bits[column.ordinal] = bitsOf(column, cells, 'shared')
    if (layout.write(out)) writeTokenCheck(out, metadata, required(checkedSlot(metadata, row), 'The token check of a record'))
    for (const column of table.inBody) writeContent(out, column, required(layout.bits[column.ordinal]), cells)
    ends[row] = out.length
  }

  return {
    writeSome() {
      const first = next
      for (const start = out.length; next < records.length && out.length - start < SLICE_BYTES; next++) writeRecord(next)
      setDigests(barrier, table, records.slice(first, next), rows.slice(first, next))
      return next < records.length
    },
    seal(ids, keys) {
      assertOneForEach(ids, rows)
      const plaintexts = { bytes: out.written(), ends, count: rows.length }
      const bodies = sealBodiesOf(barrier, table.objectId, { ids, plaintexts, keys })
      for (const [index, row] of rows.entries()) {
        row.id = required(ids[index])
        row[BODY] = slabItem(bodies, index)
      }
      for (const column of table.plain) {
        for (const [row, values] of records.entries())
          setCell(required(rows[row]), column.plain, plainCell(column, values[column.position]))
      }
      for (const { index } of table.indexed) for (const row of rows) row[index.cell] = IS_INDEXED
      if (table.kept.length > 0) setKeptOfNew(table, records, rows, sources.nowMs)
      return { rows, metadata, transients: sealTransients(barrier, table, { records, metadata, keys }) }
    },
  }
}

/** Existing rows that are sealed again a slice at a time, because opening and sealing many takes long. */
export interface RowResealer {
  /** Opens and seals the next rows, up to 128 KiB of the bodies before or after, and the row that exceeds it. Returns false when all are sealed. */
  resealSome(): boolean
  /** Returns the patches. Throws `internal` if rows are left. */
  end(): ResealedRows
}

/** Bytes of the bodies of a slice, which are opened, copied and sealed. */
const RESEALED_BYTES = 128 * 1024

/**
 * Begins to make a patch for each row, in order, that writes the named values. Other cells keep their bytes and token metadata, and a
 * row whose sealed cells do not change keeps its body. Throws `data_loss` for a row that fails authentication, `internal` if
 * there is not one record for each row.
 */
export function resealRows(
  barrier: Barrier,
  table: Table,
  { rows, records, sources, keys: given, onOpened, sealsAll = false }: RecordsToReseal,
): RowResealer {
  assertOneForEach(rows, records)
  const keys = given ?? (rows.some((row) => keyOf(row) !== VAULT_KEY) ? rows.map(keyOf) : undefined)
  const metadata = drawTokenMetadata(barrier.entropy, table, records, sources)
  const replaced = createTokenMetadata(table, rows.length)
  const kept = new Uint8Array(metadata.texts.length)
  const patches = rows.map(({ id, version }) => ({ id, version, set: {} as Record<string, Cell> }))
  let next = 0
  return {
    resealSome() {
      const first = next
      next = endOfBodies(rows, first)
      const touched: number[] = []
      for (let index = first; index < next; index++) {
        const changesKey = given !== undefined && given[index] !== keyOf(required(rows[index]))
        if (sealsAll || changesKey || touchesBody(table, required(records[index]))) touched.push(index)
      }
      if (touched.length > 0) {
        const bodies = resealBodies(barrier, table, {
          rows,
          records,
          metadata,
          replaced,
          kept,
          keys: keys && touched.map((index) => required(keys[index])),
          touched,
          onOpened,
          unchanged: sources.unchanged,
        })
        for (let k = 0; k < bodies.count; k++) setCell(required(patches[required(touched[k])]).set, BODY, slabItem(bodies, k))
        // Long values fill a slice before its rows end.
        if (bodies.count < touched.length) next = required(touched[bodies.count])
      }
      const sets = patches.slice(first, next).map(({ set }) => set)
      setDigests(barrier, table, records.slice(first, next), sets)
      return next < rows.length
    },
    end() {
      assertOneForEach(patches, records.slice(0, next))
      for (const column of table.plain) {
        for (const [row, values] of records.entries()) {
          const value = values[column.position]
          if (value !== undefined) setCell(required(patches[row]).set, column.plain, plainCell(column, value))
        }
      }
      if (table.kept.length > 0)
        setKeptOfChanged(barrier, table, { rows, records, sets: patches.map(({ set }) => set), nowMs: sources.nowMs })
      const transients = sealTransients(barrier, table, { records, metadata, keys })
      return { rows: patches, metadata, replaced, kept, ...patchKept(transients, sources) }
    },
  }
}

/** Returns the end of a slice of rows. */
function endOfBodies(rows: readonly Row[], start: number): number {
  let end = start
  for (let bytes = 0; end < rows.length && bytes < RESEALED_BYTES; end++) bytes += bodyOf(required(rows[end])).length
  return end
}

interface Resealing extends Pick<RecordsToReseal, 'rows' | 'records' | 'onOpened'> {
  readonly metadata: TokenMetadata
  readonly replaced: TokenMetadata
  readonly kept: Uint8Array
  /** Indexes of the rows whose bodies change. */
  readonly touched: readonly number[]
  /** The keys of these rows. */
  readonly keys: readonly number[] | undefined
  readonly unchanged: UnchangedCells | undefined
}

/** Returns the new bodies of the touched rows, in order, up to the one that fills a slice. Fills `replaced` and `kept`. */
function resealBodies(barrier: Barrier, table: Table, resealing: Resealing): Slab {
  const { rows, records, metadata, touched, keys, onOpened } = resealing
  const old = touched.map((index) => required(rows[index]))
  const cursor = openRows(barrier, table, old)
  const out = new ByteWriter(touched.length * 320, plaintextBytes)
  const ends: number[] = []
  const layout = createLayoutWriter(table.cells)
  for (const [k, index] of touched.entries()) {
    if (out.length >= RESEALED_BYTES) break
    const values = required(records[index])
    cursor.to(k)
    onOpened?.(index, cursor)
    cursor.readBits(layout.bits)
    const named = new Map<number, Column>()
    for (const column of table.inBody) {
      if (values[column.position] === undefined) continue
      named.set(column.ordinal, column)
      keepOrReplace(cursor, column, { resealing, index, value: values[column.position] })
      layout.bits[column.ordinal] = bitsOf(column, { metadata, row: index, values }, 'own')
    }
    const unknown = cursor.unknownCells()
    const sharesCheck = layout.write(
      out,
      unknown.map(({ group }) => group),
    )
    if (sharesCheck) cursor.copyRecordCheck(out)
    for (let ordinal = 0; ordinal < layout.bits.length; ordinal++) {
      const bits = required(layout.bits[ordinal])
      const column = named.get(ordinal)
      if (column !== undefined) writeContent(out, column, bits, { metadata, row: index, values })
      else if (bits !== 0) cursor.copyContent(ordinal, bits, out)
    }
    for (const { content } of unknown) out.raw(content)
    ends.push(out.length)
  }
  const ids = old.slice(0, ends.length).map((row) => row.id)
  const plaintexts = { bytes: out.written(), ends: Uint32Array.from(ends), count: ends.length }
  return sealBodiesOf(barrier, table.objectId, { ids, plaintexts, keys: keys?.slice(0, ids.length) })
}

/** One cell that is overwritten, in the row at an index. */
interface CellToReplace {
  readonly resealing: Resealing
  readonly index: number
  readonly value: unknown
}

/** Reads the token metadata of the cell that the cursor is at, and keeps it for the new value if that is the old one, or if the column is stable. */
function keepOrReplace(cursor: OpenRows, column: Column, { resealing, index, value }: CellToReplace): void {
  if (column.token === undefined) return
  const { metadata, replaced, kept, unchanged } = resealing
  const slot = slotOf(metadata, index, column)
  cursor.readMetadata(column, replaced, slot)
  if (value === null) return
  if (column.token.expires) {
    if (unchanged?.transients.has(slot) !== true) return
    keepTransient(metadata, replaced, slot)
  } else if (unchanged?.levelOf(index, column) !== 'PLAIN_TEXT' || !cursor.holds(column, value)) {
    // A kept text that equals the new value would reveal it. That one token is drawn again.
    if (!column.isStable || replaced.texts[slot] === column.type.toText(value)) return
  }
  if (keepMetadata(metadata, replaced, slot)) kept[slot] = 1
}

/** The new value takes the place of the old one, with its own expiry. */
function keepTransient(metadata: TokenMetadata, replaced: TokenMetadata, slot: number): void {
  const { row } = required(replaced.transientRefs[slot], 'The row of a transient value')
  const { expiresAt } = required(metadata.transientRefs[slot], 'The expiry of a transient value')
  metadata.transientRefs[slot] = { row, expiresAt }
  replaced.transientRefs[slot] = undefined
}

/** Divides the rows of transient values into new ones, and patches of those that stay. */
function patchKept(rows: readonly NewRow[], { unchanged }: TokenSources): Pick<ResealedRows, 'transients' | 'restarted'> {
  const versions = new Map([...(unchanged?.transients.values() ?? [])].map(({ id, version }) => [id, version]))
  const transients: NewRow[] = []
  const restarted: Patch[] = []
  for (const row of rows) {
    const { id, ...set } = row
    const version = versions.get(id)
    if (version === undefined) transients.push(row)
    else restarted.push({ id, version, set })
  }
  return { transients, restarted }
}

/** Restores the old metadata of a slot, unless the caller supplied another token. Returns true if that is a text: it is then not replaced. */
function keepMetadata(metadata: TokenMetadata, replaced: TokenMetadata, slot: number): boolean {
  const old = replaced.texts[slot]
  if (old === undefined) {
    if (replaced.hasCheck[slot] === 1 && metadata.hasCheck[slot] === 1) {
      metadata.high[slot] = required(replaced.high[slot])
      metadata.low[slot] = required(replaced.low[slot])
    }
    return false
  }
  if (metadata.isSupplied[slot] === 1) return false
  metadata.texts[slot] = old
  metadata.hasCheck[slot] = 0
  replaced.texts[slot] = undefined
  return true
}

/** The values of one record, and its row of the token metadata. */
interface RecordCells {
  readonly metadata: TokenMetadata
  readonly row: number
  readonly values: Values
}

/** Returns the bits of the cell of a column; 0 if it has none. `checkPlacement` says where its token check is, if it has one. */
function bitsOf(column: Column, { metadata, row, values }: RecordCells, checkPlacement: 'shared' | 'own'): number {
  const value = values[column.position]
  if (value === undefined || value === null) return 0
  const isSealed = column.plain === undefined
  if (column.token === undefined) return cellBits('none', isSealed)
  const slot = slotOf(metadata, row, column)
  if (metadata.texts[slot] !== undefined) return cellBits('text', isSealed)
  return cellBits(metadata.hasCheck[slot] === 1 ? checkPlacement : 'none', isSealed)
}

/** Writes the content of a cell with these bits: its token check or text, then its value. A transient value is replaced by its reference. */
function writeContent(out: ByteWriter, column: Column, bits: number, { metadata, row, values }: RecordCells): void {
  if (bits === 0) return
  const slot = slotOf(metadata, row, column)
  if ((bits & HAS_CHECK) !== 0) {
    if ((bits & IS_SHARED) === 0) writeTokenCheck(out, metadata, slot)
    else writeText(out, required(metadata.texts[slot], 'The text of a token'))
  }
  if ((bits & HAS_VALUE) === 0) return
  const start = beginValue(out)
  const transientRef = column.token === undefined ? undefined : metadata.transientRefs[slot]
  if (transientRef === undefined) column.type.write(values[column.position], out)
  else {
    out.i64(transientRef.row)
    out.i64(transientRef.expiresAt)
  }
  endValue(out, start)
}

function writeText(out: ByteWriter, text: string): void {
  const start = beginValue(out)
  out.utf8(text)
  endValue(out, start)
}

/** Sets the digest of each named value in the row of its record; null for a null. */
function setDigests(barrier: Barrier, table: Table, records: readonly Values[], rows: readonly Record<string, Cell>[]): void {
  for (const column of table.digestWritten) {
    const present: Record<string, Cell>[] = []
    const values: unknown[] = []
    for (const [index, record] of records.entries()) {
      const value = record[column.position]
      if (value === null) setCell(required(rows[index]), column.writtenDigest, null)
      else if (value !== undefined) {
        present.push(required(rows[index]))
        values.push(value)
      }
    }
    if (values.length === 0) continue
    const digests = digestValues(barrier.ring, column, values)
    for (const [index, row] of present.entries()) setCell(row, column.writtenDigest, required(digests[index]))
  }
}

/** True if these values change a sealed cell of the row. */
function touchesBody(table: Table, values: Values): boolean {
  return table.inBody.some((column) => values[column.position] !== undefined)
}

function plainCell(column: Column, value: unknown): Cell {
  return value === undefined || value === null ? null : column.type.toCell(value)
}

function setCell(row: Record<string, Cell>, column: string | undefined, cell: Cell): void {
  if (column !== undefined) row[column] = cell
}

function assertOneForEach(rows: readonly unknown[], records: readonly unknown[]): void {
  if (rows.length === records.length) return
  throw new VaultError(
    'internal',
    `${records.length} records were sealed into ${rows.length} rows. This is a defect; please report it.`,
  )
}
