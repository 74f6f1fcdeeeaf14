/** Opens sealed rows and returns their values, redacted at the level of each column. The only file that opens the bodies of records. */
import { type Fault, fault, words } from '../errors.ts'
import type { Opened } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import { redact } from '../redaction.ts'
import { type Column, type ColumnView, plainValue } from '../schema/column-layout.ts'
import { BODY, type Table } from '../schema/layout.ts'
import {
  bitsOf,
  type CellMap,
  checkStart,
  createCellMap,
  mapCells,
  textEnd,
  textStart,
  type UnknownCells,
  unknownCells,
  valueEnd,
  valueStart,
} from '../sealing/body-reader.ts'
import { copyContent } from '../sealing/body-writer.ts'
import { TOKEN_CHECK_BYTES, TRANSIENT_REF_BYTES } from '../sealing/cell-layout.ts'
import { namesUnknownKey } from '../sealing/envelope.ts'
import { openBodies } from '../sealing/open.ts'
import { subjectKeyOf, VAULT_KEY } from '../sealing/subject-bodies.ts'
import { type ByteWriter, isUtf8, readI64, readU32, readUtf8 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { freeBytes, type Slab, slabStart, toSlab } from '../util/memory.ts'
import type { JsonValue } from '../values/column-type.ts'
import { type Barrier, UNKNOWN_KEY, whyUnreadable } from './barrier.ts'
import { isUnchanged } from './digest-values.ts'
import { encodeRecordIds } from './record-ids.ts'
import { setTokenCheck, type TokenMetadata } from './token-metadata.ts'

/** Redacted values by column name. */
export type Fields = { [column: string]: JsonValue }

/** Rows in order: their ids, and their cells where these were read. */
interface RowsToOpen {
  readonly ids: readonly number[]
  readonly rows: readonly Row[] | undefined
}

/** Ids and bodies of rows side by side: a scan of sealed columns needs no object for each row. */
export interface RowBodies {
  readonly length: number
  readonly ids: readonly number[]
  readonly bodies: Slab
}

/** A cursor over opened rows. `to` selects the row that the other methods read. */
export class OpenRows {
  readonly #barrier: Barrier
  readonly #table: Table
  /** The row ids, in order. */
  readonly ids: readonly number[]
  /** Undefined if only the bodies were read: then no plain column is. */
  readonly #rows: readonly Row[] | undefined
  readonly #bodies: Slab
  readonly #opened: Uint8Array
  readonly #map: CellMap
  /** False if only plain columns are read: then the map stays empty. */
  readonly #isSealed: boolean
  /** The digests to compare with the values; undefined if there are none, or if no body is opened. */
  readonly #digests: StoredDigests | undefined
  #index = 0

  /** `bodies` has the opened bodies of the rows; undefined if only plain columns are read. */
  constructor(barrier: Barrier, table: Table, { ids, rows }: RowsToOpen, bodies: Opened | undefined) {
    const { plaintexts, opened } = bodies ?? UNOPENED
    const isCompared = bodies !== undefined && rows !== undefined && barrier.reportMismatch !== undefined
    this.#barrier = barrier
    this.#isSealed = bodies !== undefined
    this.#digests = isCompared ? storedDigests(table, rows) : undefined
    this.#table = table
    this.ids = ids
    this.#rows = rows
    this.#bodies = plaintexts
    this.#opened = opened
    this.#map = createCellMap(table.cells)
  }

  /** Moves to the row at `index`. Throws `data_loss` if its body failed authentication. Other rows can still be read. */
  to(index: number): void {
    this.#index = index
    if (!this.#isSealed) return
    const end = required(this.#bodies.ends[index])
    const isAuthentic = this.#opened[index] === 1 && mapCells(this.#bodies.bytes, slabStart(this.#bodies, index), end, this.#map)
    if (!isAuthentic) {
      const row = this.#rows?.[index]
      throw unreadable(this.#barrier, this.#table, { id: required(this.ids[index]), body: row && bodyOf(row) })
    }
    if (this.#digests !== undefined) compareDigests(this.#barrier, this.#digests, this.#map, index)
  }

  /** Returns the value of a column; null if the record has none, or if the column is transient. */
  value(column: Column): unknown {
    if (column.token?.expires === true) return null
    if (column.plain !== undefined) {
      const cell = required(this.#rows?.[this.#index])[column.plain] ?? null
      return cell === null ? null : plainValue(column, cell, this.#table.name)
    }
    const start = valueStart(this.#map, column.ordinal)
    return start < 0 ? null : column.type.read(this.#bodies.bytes, start, valueEnd(this.#map, column.ordinal))
  }

  /** True if the value of a column is this one. A text is compared as it is stored, which makes no other. */
  holds(column: Column, value: unknown): boolean {
    if (typeof value !== 'string' || column.plain !== undefined || column.type.isText !== true)
      return isUnchanged(column, this.value(column), value)
    const start = valueStart(this.#map, column.ordinal)
    return start >= 0 && isUtf8(this.#bodies.bytes, start, valueEnd(this.#map, column.ordinal), value)
  }

  /** Tests the bytes of the value of a sealed column: false if the record has none, undefined if they are more than `maxBytes`. */
  testBytes(
    { ordinal }: Column,
    maxBytes: number,
    test: (bytes: Uint8Array, start: number, end: number) => boolean,
  ): boolean | undefined {
    const start = valueStart(this.#map, ordinal)
    if (start < 0) return false
    const end = valueEnd(this.#map, ordinal)
    return end - start > maxBytes ? undefined : test(this.#bodies.bytes, start, end)
  }

  /** Frees the memory of the opened bodies. The cursor cannot be used afterwards. */
  free(): void {
    freeBytes(this.#bodies.bytes)
  }

  /** Copies the token metadata of a column into a slot. */
  readMetadata(column: Column, into: TokenMetadata, slot: number): void {
    const { bytes } = this.#bodies
    const check = checkStart(this.#map, column.ordinal)
    if (check >= 0) setTokenCheck(into, slot, bytes, check)
    into.texts[slot] = this.tokenText(column)
    const transientRef = column.token?.expires === true ? valueStart(this.#map, column.ordinal) : -1
    if (transientRef >= 0)
      into.transientRefs[slot] = {
        row: Number(readI64(bytes, transientRef)),
        expiresAt: Number(readI64(bytes, transientRef + TRANSIENT_REF_BYTES / 2)),
      }
  }

  /** True if the cell of a column has this token check. A cell that stores the text of its token has none. */
  hasTokenCheck(column: Column, high: number, low: number): boolean {
    const { bytes } = this.#bodies
    const start = checkStart(this.#map, column.ordinal)
    return start >= 0 && readU32(bytes, start) === high && readU32(bytes, start + TOKEN_CHECK_BYTES / 2) === low
  }

  /** Returns the text of the token of a column; undefined if the cell stores none. */
  tokenText(column: Column): string | undefined {
    const start = textStart(this.#map, column.ordinal)
    return start < 0 ? undefined : readUtf8(this.#bodies.bytes, start, textEnd(this.#map, column.ordinal))
  }

  /** Fills a list with the bits of the cells of this row, by ordinal: none of columns that were erased. */
  readBits(bits: Uint8Array): void {
    for (let ordinal = 0; ordinal < bits.length; ordinal++) bits[ordinal] = bitsOf(this.#map, ordinal)
    for (const ordinal of this.#map.gone) bits[ordinal] = 0
  }

  /** Returns the cells of columns that this process does not know. */
  unknownCells(): readonly UnknownCells[] {
    return unknownCells(this.#bodies.bytes, this.#map)
  }

  /** Copies the token check of the record. */
  copyRecordCheck(out: ByteWriter): void {
    const { recordCheck } = this.#map
    out.raw(this.#bodies.bytes.subarray(recordCheck, recordCheck + TOKEN_CHECK_BYTES))
  }

  /** Copies the content of the cell of an ordinal, which has these bits. */
  copyContent(ordinal: number, bits: number, out: ByteWriter): void {
    copyContent(this.#bodies.bytes, this.#map, { ordinal, bits }, out)
  }
}

/** Which cells of some rows are null, read at once: the loops over opened rows stay free of look-ups by name. */
interface StoredDigests {
  readonly table: Table
  readonly rows: readonly Row[]
  /** For each digested column, one of the states below for each row. */
  readonly states: readonly Uint8Array[]
}

/** The digest was not read. */
const UNKNOWN = 0
const HAS_DIGEST = 1
const HAS_PLAIN_VALUE = 2
const IS_READ = 4

/** Returns the states of the digests of some rows; undefined if the table stores none. */
function storedDigests(table: Table, rows: readonly Row[]): StoredDigests | undefined {
  if (table.digested.length === 0) return undefined
  const states = table.digested.map(({ digest = '', plain }) => {
    const state = new Uint8Array(rows.length)
    for (let i = 0; i < rows.length; i++) {
      const row = required(rows[i])
      const cell = row[digest]
      const hasPlain = plain !== undefined && row[plain] !== null
      state[i] = cell === undefined ? UNKNOWN : IS_READ | (cell === null ? 0 : HAS_DIGEST) | (hasPlain ? HAS_PLAIN_VALUE : 0)
    }
    return state
  })
  return { table, rows, states }
}

/** Reports a digest without a value, and a value without its digest. Whether a digest is that of the value is compared where it was looked up. */
function compareDigests(barrier: Barrier, { table, rows, states }: StoredDigests, map: CellMap, index: number): void {
  for (let k = 0; k < states.length; k++) {
    const column = required(table.digested[k])
    const state = required(states[k])[index] ?? UNKNOWN
    if (state === UNKNOWN) continue
    const hasValue = column.plain === undefined ? valueStart(map, column.ordinal) >= 0 : (state & HAS_PLAIN_VALUE) !== 0
    if (hasValue !== ((state & HAS_DIGEST) !== 0)) barrier.reportMismatch?.({ table, column, row: required(rows[index]).id })
  }
}

/** Returns a cursor over rows. A row that fails authentication throws only when the cursor moves to it. */
export function openRows(barrier: Barrier, table: Table, rows: readonly Row[]): OpenRows {
  const ids = idsOf(rows)
  return new OpenRows(barrier, table, { ids, rows }, openSlab(barrier, table.objectId, ids, toSlab(rows.map(bodyOf))))
}

/** The same for rows of which only the bodies were read. The cursor has no plain columns. */
export function openSealedRows(barrier: Barrier, table: Table, { ids, bodies }: RowBodies): OpenRows {
  return new OpenRows(barrier, table, { ids, rows: undefined }, openSlab(barrier, table.objectId, ids, bodies))
}

/** Returns a cursor that reads only these columns. If all of them are plain, no body is opened. */
export function openColumns(barrier: Barrier, table: Table, rows: readonly Row[], columns: readonly Column[]): OpenRows {
  const isBodiless = columns.every((column) => column.plain !== undefined)
  return isBodiless ? new OpenRows(barrier, table, { ids: idsOf(rows), rows }, undefined) : openRows(barrier, table, rows)
}

/** Opens the bodies of rows of one object id. A row without a body does not open, like one that was changed. */
export function openSealed(barrier: Barrier, objectId: number, rows: readonly Row[]): Opened {
  return openSlab(barrier, objectId, idsOf(rows), toSlab(rows.map(bodyOf)))
}

function openSlab(barrier: Barrier, objectId: number, ids: readonly number[], bodies: Slab): Opened {
  const opened = openBodies(barrier.ring, { vault: barrier.vault, objectId }, ids, bodies, barrier.subjectKeys)
  if (opened.opened.includes(0)) assertKnownKeys(barrier, bodies)
  return opened
}

/**
 * Throws UNKNOWN_KEY if a body names a root key that this process does not know, where that is asked for, or a key of a subject that was looked up with the
 * row and gave its place to others since.
 */
function assertKnownKeys({ ring, subjectKeys, signalsUnknownKeys }: Barrier, bodies: Slab): void {
  for (let i = 0; i < bodies.count; i++) {
    const [start, end] = [slabStart(bodies, i), slabStart(bodies, i + 1)]
    if (signalsUnknownKeys === true && namesUnknownKey(ring, bodies.bytes, start, end)) throw UNKNOWN_KEY
    const key = subjectKeyOf(bodies.bytes, start, end)
    if (key !== VAULT_KEY && subjectKeys?.hasLost(key) === true) throw UNKNOWN_KEY
  }
}

function idsOf(rows: readonly Row[]): number[] {
  return rows.map(({ id }) => id)
}

/** The columns of rows to reveal, and whether each value is shown as its text, which `fromText` of its type reads. */
export interface Revealing {
  readonly views: readonly ColumnView[]
  readonly asTexts?: boolean | undefined
}

/** Returns the fields of each row, in order, each redacted at the level of its view. Throws `data_loss` for a row that fails authentication. */
export function revealRows(
  barrier: Barrier,
  table: Table,
  rows: readonly Row[],
  { views, asTexts = false }: Revealing,
): Fields[] {
  if (rows.length === 0) return []
  const columns = views.map((view) => view.column)
  const cursor = openColumns(barrier, table, rows, columns)
  const records: Fields[] = new Array(rows.length)
  for (let i = 0; i < rows.length; i++) {
    cursor.to(i)
    const fields: Fields = {}
    for (const view of views) {
      const value = cursor.value(view.column)
      fields[view.column.name] = asTexts && value !== null ? showText(view, value) : showValue(view, value)
    }
    records[i] = fields
  }
  return records
}

/** Returns a value at the level of a view; null for null. */
export function showValue({ column, level }: ColumnView, value: unknown): JsonValue {
  if (value === null) return null
  return level === 'PLAIN_TEXT'
    ? column.type.toJson(value)
    : redact(level, column.mask === undefined ? '' : column.type.toText(value), column.mask)
}

/** Returns a value as text at the level of a view. For detokenize and exports, which have text for every type. */
export function showText({ column, level }: ColumnView, value: unknown): string {
  return redact(level, column.type.toText(value), column.mask)
}

/** Returns the sealed body of a row; no bytes without one. */
export function bodyOf(row: Row): Uint8Array {
  const body = row[BODY]
  return body instanceof Uint8Array ? body : new Uint8Array(0)
}

/** Returns the key that the body of a row is sealed with; VAULT_KEY for that of the vault. */
export function keyOf(row: Row): number {
  return subjectKeyOf(bodyOf(row))
}

/** In place of the bodies, for a cursor that reads plain columns only. */
const UNOPENED: Opened = {
  plaintexts: { bytes: new Uint8Array(0), ends: new Uint32Array(0), count: 0 },
  opened: new Uint8Array(0),
}

/** Names the record by its id, which the vault computes from the row. The id of a record that a caller cannot see gives them no access. */
function unreadable(barrier: Barrier, table: Table, row: { readonly id: number; readonly body: Uint8Array | undefined }): Fault {
  const [id = ''] = encodeRecordIds(barrier.ring, table, [row.id])
  return fault('data_loss', {
    table: table.name,
    id,
  })`Record ${words(id)} of table ${table.name} ${whyUnreadable(barrier, row.body ?? new Uint8Array(0))}`
}

/** Returns the value of one column in each row, in order; null if it has none. Throws `data_loss` for a row that fails authentication. */
export function columnValues(barrier: Barrier, table: Table, column: Column, rows: readonly Row[]): unknown[] {
  const cursor = openColumns(barrier, table, rows, [column])
  return rows.map((_, index) => {
    cursor.to(index)
    return cursor.value(column)
  })
}
