/** Seals and reveals transient values: each in a row of its own, with its token check and its expiry. */
import type { Opened } from '../ports/crypto.ts'
import type { NewRow, Row } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import { BODY, type Table } from '../schema/layout.ts'
import { type CellMap, createCellMap, mapCells, valueEnd, valueStart } from '../sealing/body-reader.ts'
import { beginValue, createLayoutWriter, endValue } from '../sealing/body-writer.ts'
import { type CellSpec, type CellSpecs, cellBits, hashColumn, TOKEN_CHECK_BYTES, toCellSpecs } from '../sealing/cell-layout.ts'
import { ByteWriter, readI64, readU32, readUtf8 } from '../util/bytes.ts'
import { at, required } from '../util/lists.ts'
import { slabItem, slabStart } from '../util/memory.ts'
import { type Barrier, sealBodiesOf } from './barrier.ts'
import type { Values } from './parse-record.ts'
import { openSealed } from './reveal.ts'
import { slotOf, type TokenMetadata, type TransientRef, writeTokenCheck } from './token-metadata.ts'

/** Ordinals of the cells of a transient body: the value, the expiry, and the text of a supplied token. The expiry is sealed too, so that it cannot be extended in the database. */
const VALUE = 0
const EXPIRY = 1
const TEXT = 2

/** Length of the expiry in bytes. */
const EXPIRY_BYTES = 8
/** The cells beside the value. They are the same in every column. */
const EXPIRY_CELL: CellSpec = { ordinal: EXPIRY, column: hashColumn(0, 'expiry'), size: EXPIRY_BYTES }
const TEXT_CELL: CellSpec = { ordinal: TEXT, column: hashColumn(0, 'text'), size: undefined }

/** Returns the cells of a transient body. The value has the hash of its column, so that it is never read as a value of another one. */
function cellsOf({ hash, type }: Column): CellSpecs {
  return toCellSpecs([{ ordinal: VALUE, column: hash, size: type.size }, EXPIRY_CELL, TEXT_CELL])
}

/** Values of records that are sealed apart from them, the metadata of their tokens, and the key of each record; absent if all have that of the vault. */
interface RecordsWithTransients {
  readonly records: readonly Values[]
  readonly metadata: TokenMetadata
  readonly keys?: ArrayLike<number> | undefined
}

/** Returns a new row for each transient value of these records, column by column. */
export function sealTransients(barrier: Barrier, table: Table, sealing: RecordsWithTransients): NewRow[] {
  return table.transient.flatMap((column) => sealColumn(barrier, column, sealing))
}

function sealColumn(barrier: Barrier, column: Column, { records, metadata, keys }: RecordsWithTransients): NewRow[] {
  const out = new ByteWriter(records.length * 64)
  const ends: number[] = []
  const transientRefs: TransientRef[] = []
  const sealedRows: number[] = []
  const layout = createLayoutWriter(cellsOf(column))
  // The token check of a transient value is that of its record: a body has one, beside its cells.
  layout.bits[VALUE] = cellBits('shared', true)
  layout.bits[EXPIRY] = cellBits('none', true)
  for (const [row, values] of records.entries()) {
    const slot = slotOf(metadata, row, column)
    const transientRef = metadata.transientRefs[slot]
    const value = values[column.position]
    if (transientRef === undefined || value === undefined || value === null) continue
    const text = metadata.texts[slot]
    layout.bits[TEXT] = text === undefined ? 0 : cellBits('none', true)
    if (layout.write(out)) writeTokenCheck(out, metadata, slot)
    writeValue(out, () => column.type.write(value, out))
    writeValue(out, () => out.i64(transientRef.expiresAt))
    if (text !== undefined) writeValue(out, () => out.utf8(text))
    ends.push(out.length)
    transientRefs.push(transientRef)
    sealedRows.push(row)
  }
  const slab = { bytes: out.written(), ends: Uint32Array.from(ends), count: ends.length }
  const bodies = sealBodiesOf(barrier, column.objectId, {
    ids: transientRefs.map((transientRef) => transientRef.row),
    plaintexts: slab,
    keys: keys && sealedRows.map((row) => at(keys, row)),
  })
  return transientRefs.map((transientRef, index) => ({
    id: transientRef.row,
    [BODY]: slabItem(bodies, index),
    object_id: column.objectId,
    expires_at: transientRef.expiresAt,
  }))
}

function writeValue(out: ByteWriter, write: () => void): void {
  const start = beginValue(out)
  write()
  endValue(out, start)
}

/** A transient value as it is stored. */
export interface FoundTransient {
  readonly value: unknown
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** The two words of the token check. */
  readonly high: number
  readonly low: number
  /** The text of the token, if the caller supplied it. */
  readonly text: string | undefined
}

/**
 * Returns the transient value of each row of one column, in order; undefined for a row that does not exist or fails authentication.
 * A row that fails usually belongs to another column, so that is not an error.
 */
export function revealTransients(
  barrier: Barrier,
  column: Column,
  rows: readonly (Row | undefined)[],
): (FoundTransient | undefined)[] {
  const present = rows.filter((row) => row !== undefined)
  const opened = openSealed(barrier, column.objectId, present)
  const map = createCellMap(cellsOf(column))
  let next = 0
  return rows.map((row) => (row === undefined ? undefined : transientAt(column, next++, { ...opened, map })))
}

function transientAt(
  column: Column,
  index: number,
  { plaintexts, opened, map }: Opened & { readonly map: CellMap },
): FoundTransient | undefined {
  const { bytes } = plaintexts
  if (opened[index] !== 1 || !mapCells(bytes, slabStart(plaintexts, index), required(plaintexts.ends[index]), map))
    return undefined
  if (map.recordCheck < 0) return undefined
  const text = valueStart(map, TEXT)
  return {
    value: column.type.read(bytes, valueStart(map, VALUE), valueEnd(map, VALUE)),
    expiresAt: Number(readI64(bytes, valueStart(map, EXPIRY))),
    high: readU32(bytes, map.recordCheck),
    low: readU32(bytes, map.recordCheck + TOKEN_CHECK_BYTES / 2),
    text: text < 0 ? undefined : readUtf8(bytes, text, valueEnd(map, TEXT)),
  }
}
