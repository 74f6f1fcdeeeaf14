/** Plaintext out: sealed rows to shown fields, at the level decided for each column. The only opener of bodies. */
import { type Fault, fault } from '../errors.ts'
import type { Opened } from '../ports/keys.ts'
import type { Row } from '../ports/storage.ts'
import { redact } from '../redaction/redact.ts'
import type { Column, ColumnView, Table } from '../schema/layout.ts'
import { BODY } from '../schema/layout.ts'
import type { CellMap } from '../sealing/cell-layout.ts'
import {
  checkStart,
  copyCells,
  createCellMap,
  mapCells,
  TOKEN_CHECK_BYTES,
  textEnd,
  textStart,
  valueEnd,
  valueStart,
} from '../sealing/cell-layout.ts'
import { openBodies } from '../sealing/open.ts'
import type { ByteWriter } from '../util/bytes.ts'
import { readI64, readU32, readUtf8 } from '../util/bytes.ts'
import type { Slab } from '../util/slab.ts'
import { slabStart, toSlab } from '../util/slab.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { Barrier } from './barrier.ts'
import type { TokenMetadata } from './token-metadata.ts'
import { setTokenCheck } from './token-metadata.ts'

/** Shown fields by column name. */
export type Fields = { [column: string]: JsonValue }

/** A cursor over opened rows. Move it with `to`, then ask for cells. */
export class OpenRows {
  readonly #table: Table
  readonly #rows: readonly Row[]
  readonly #bodies: Slab
  readonly #opened: Uint8Array
  readonly #map: CellMap
  #index = 0

  constructor(table: Table, rows: readonly Row[], { plaintexts, opened }: Opened) {
    this.#table = table
    this.#rows = rows
    this.#bodies = plaintexts
    this.#opened = opened
    this.#map = createCellMap(table.ordinals)
  }

  /** Stands on row `index`. Throws `internal` (grpc 15) when its body did not open; its siblings are unharmed. */
  to(index: number): void {
    this.#index = index
    const end = this.#bodies.ends[index] ?? 0
    const isWhole = this.#opened[index] === 1 && mapCells(this.#bodies.bytes, slabStart(this.#bodies, index), end, this.#map)
    if (!isWhole) throw unreadable(this.#table)
  }

  /** The value of a column, null where the record has none or the value lives apart. */
  value(column: Column): unknown {
    if (column.token?.expires === true) return null
    if (column.plain !== undefined) {
      const cell = this.#rows[this.#index]?.[column.plain] ?? null
      return cell === null ? null : column.type.fromCell(cell)
    }
    const start = valueStart(this.#map, column.ordinal)
    return start < 0 ? null : column.type.read(this.#bodies.bytes, start, valueEnd(this.#map, column.ordinal))
  }

  /** Copies the mark of a column into its slot, where the cell has one. */
  readMetadata(column: Column, into: TokenMetadata, slot: number): void {
    const { bytes } = this.#bodies
    const check = checkStart(this.#map, column.ordinal)
    if (check >= 0) setTokenCheck(into, slot, bytes, check)
    into.texts[slot] = this.tokenText(column)
    const transientRef = column.token?.expires === true ? valueStart(this.#map, column.ordinal) : -1
    if (transientRef >= 0)
      into.transientRefs[slot] = {
        row: Number(readI64(bytes, transientRef)),
        expiresAt: Number(readI64(bytes, transientRef + TICKET_HALF)),
      }
  }

  /** True when the cell of a column has this stamp, and no token of its own. */
  hasStamp(column: Column, high: number, low: number): boolean {
    const at = checkStart(this.#map, column.ordinal)
    return at >= 0 && readU32(this.#bodies.bytes, at) === high && readU32(this.#bodies.bytes, at + TOKEN_CHECK_BYTES / 2) === low
  }

  /** The text of a column's token, where the cell keeps one. */
  tokenText(column: Column): string | undefined {
    const start = textStart(this.#map, column.ordinal)
    return start < 0 ? undefined : readUtf8(this.#bodies.bytes, start, textEnd(this.#map, column.ordinal))
  }

  /** Copies the cells of this row but those of the replaced ordinals. */
  copyCells(isReplaced: (ordinal: number) => boolean, out: ByteWriter): void {
    copyCells(this.#bodies.bytes, slabStart(this.#bodies, this.#index), this.#bodies.ends[this.#index] ?? 0, isReplaced, out)
  }
}

/** A ticket is two numbers of this many bytes: the row, and the expiry. */
const TICKET_HALF = 8

/** A cursor over rows; one whose body does not open is noticed when the cursor comes to it. */
export function openRows(barrier: Barrier, table: Table, rows: readonly Row[]): OpenRows {
  return new OpenRows(table, rows, openSealed(barrier, table.objectId, rows))
}

/** The same for a reader of these columns alone: bodies stay shut when all of them are plain. */
export function openColumns(barrier: Barrier, table: Table, rows: readonly Row[], columns: readonly Column[]): OpenRows {
  const isBodiless = columns.every((column) => column.plain !== undefined)
  return isBodiless ? new OpenRows(table, rows, unopened(rows.length)) : openRows(barrier, table, rows)
}

/** The bodies of rows that stand in this space, opened as far as they open. */
export function openSealed(barrier: Barrier, objectId: number, rows: readonly Row[]): Opened {
  const ids = rows.map((row) => row.id)
  return openBodies(barrier.ring, { vault: barrier.vault, objectId }, ids, toSlab(rows.map(bodyOf)))
}

/** The fields of each row, each column at the level of its view. Bodies stay shut when only plain columns are asked for. */
export function revealRows(barrier: Barrier, table: Table, rows: readonly Row[], views: readonly ColumnView[]): Fields[] {
  if (rows.length === 0) return []
  const columns = views.map((view) => view.column)
  const cursor = openColumns(barrier, table, rows, columns)
  const records: Fields[] = new Array(rows.length)
  for (let i = 0; i < rows.length; i++) {
    cursor.to(i)
    const fields: Fields = {}
    for (let k = 0; k < views.length; k++) {
      const view = views[k]
      if (view !== undefined) fields[view.column.name] = showValue(view, cursor.value(view.column))
    }
    records[i] = fields
  }
  return records
}

/** A value as this view answers it. */
export function showValue({ column, level }: ColumnView, value: unknown): JsonValue {
  if (value === null) return null
  return level === 'PLAIN_TEXT'
    ? column.type.toJson(value)
    : redact(level, column.mask === undefined ? '' : column.type.toText(value), column.mask)
}

/** A value as text at this level, for detokenize. */
export function showText({ column, level }: ColumnView, value: unknown): string {
  return redact(level, column.type.toText(value), column.mask)
}

/** A row without a body is as good as one with a broken body: it does not open. */
function bodyOf(row: Row): Uint8Array {
  const body = row[BODY]
  return body instanceof Uint8Array ? body : new Uint8Array(0)
}

/** Stands in for bodies nobody asked for: no cell in any of them. */
function unopened(count: number): Opened {
  return { plaintexts: { bytes: new Uint8Array(0), ends: new Uint32Array(count), count }, opened: new Uint8Array(count).fill(1) }
}

function unreadable(table: Table): Fault {
  return fault('data_loss', {
    table: table.name,
  })`A record of table ${table.name} failed authentication: it was changed or moved in the database, or its key is missing. Restore it.`
}

/** The value of one column in each row, null where it has none. Throws `data_loss` where a row fails authentication. */
export function columnValues(barrier: Barrier, table: Table, column: Column, rows: readonly Row[]): unknown[] {
  const cursor = openColumns(barrier, table, rows, [column])
  return rows.map((_, index) => {
    cursor.to(index)
    return cursor.value(column)
  })
}
