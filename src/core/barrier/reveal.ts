/** Plaintext out: sealed rows to shown fields, at the level decided for each column. The only opener of bodies. */
import { VaultError } from '../errors.ts'
import type { Opened } from '../ports/keys.ts'
import type { Row } from '../ports/storage.ts'
import { redact } from '../redaction/redact.ts'
import type { Column, ColumnView, Table } from '../schema/layout.ts'
import { BODY } from '../schema/layout.ts'
import type { CellMap } from '../sealing/cell-layout.ts'
import { createCellMap, mapCells, stampStart, valueEnd, valueStart } from '../sealing/cell-layout.ts'
import { openBodies } from '../sealing/open.ts'
import { readU32 } from '../util/bytes.ts'
import type { Slab } from '../util/slab.ts'
import { slabStart, toSlab } from '../util/slab.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { Barrier } from './barrier.ts'
import { addressOf } from './barrier.ts'
import type { Stamps } from './stamps.ts'
import { createStamps, slotOf } from './stamps.ts'

/** Shown fields by column name. */
export type Fields = { [column: string]: JsonValue }

/** A cursor over opened rows. Move it with `to`, then ask for cells. */
export class OpenRows {
  readonly #table: Table
  readonly #rows: readonly Row[]
  readonly #bodies: Slab
  readonly #opened: Uint8Array
  readonly #map: CellMap
  #row: Row | undefined

  constructor(table: Table, rows: readonly Row[], { plaintexts, opened }: Opened) {
    this.#table = table
    this.#rows = rows
    this.#bodies = plaintexts
    this.#opened = opened
    this.#map = createCellMap(table.ordinals)
  }

  /** Stands on row `index`. Throws `internal` (grpc 15) when its body did not open; its siblings are unharmed. */
  to(index: number): void {
    this.#row = this.#rows[index]
    const end = this.#bodies.ends[index] ?? 0
    const isWhole = this.#opened[index] === 1 && mapCells(this.#bodies.bytes, slabStart(this.#bodies, index), end, this.#map)
    if (!isWhole) throw unreadable(this.#table)
  }

  /** The value of a column, null where the record has none. */
  value(column: Column): unknown {
    if (column.plain !== undefined) {
      const cell = this.#row?.[column.plain] ?? null
      return cell === null ? null : column.type.fromCell(cell)
    }
    const start = valueStart(this.#map, column.ordinal)
    return start < 0 ? null : column.type.read(this.#bodies.bytes, start, valueEnd(this.#map, column.ordinal))
  }

  /** Copies the stamp of a column into its slot, where the cell has one. */
  stamp(column: Column, into: Stamps, slot: number): void {
    const start = stampStart(this.#map, column.ordinal)
    if (start < 0) return
    into.has[slot] = 1
    into.high[slot] = readU32(this.#bodies.bytes, start)
    into.low[slot] = readU32(this.#bodies.bytes, start + 4)
  }
}

/** The plaintext bodies of rows. Throws `internal` (grpc 15) when one does not open. */
export function openBodiesOf(barrier: Barrier, table: Table, rows: readonly Row[]): Slab {
  const { plaintexts, opened } = openSealed(barrier, table, rows)
  if (opened.includes(0)) throw unreadable(table)
  return plaintexts
}

/** A cursor over rows; one whose body does not open is noticed when the cursor comes to it. */
export function openRows(barrier: Barrier, table: Table, rows: readonly Row[]): OpenRows {
  return new OpenRows(table, rows, openSealed(barrier, table, rows))
}

function openSealed(barrier: Barrier, table: Table, rows: readonly Row[]): Opened {
  const sealed = toSlab(rows.map(bodyOf))
  return openBodies(
    barrier.ring,
    addressOf(barrier, table),
    rows.map((row) => row.id),
    sealed,
  )
}

/** The fields of each row, each column at the level of its view. Bodies stay shut when only plain columns are asked for. */
export function revealRows(barrier: Barrier, table: Table, rows: readonly Row[], views: readonly ColumnView[]): Fields[] {
  if (rows.length === 0) return []
  const bodiless = views.every((view) => view.column.plain !== undefined)
  const cursor = bodiless ? new OpenRows(table, rows, unopened(rows.length)) : openRows(barrier, table, rows)
  const records: Fields[] = new Array(rows.length)
  for (let i = 0; i < rows.length; i++) {
    cursor.to(i)
    const fields: Fields = {}
    for (let k = 0; k < views.length; k++) {
      const view = views[k]
      if (view !== undefined) fields[view.column.name] = show(view, cursor.value(view.column))
    }
    records[i] = fields
  }
  return records
}

/** The stamps of the named tokenized columns of each row. */
export function revealStamps(barrier: Barrier, table: Table, rows: readonly Row[], columns: readonly Column[]): Stamps {
  const stamps = createStamps(table, rows.length)
  const cursor = openRows(barrier, table, rows)
  for (let i = 0; i < rows.length; i++) {
    cursor.to(i)
    for (const column of columns) cursor.stamp(column, stamps, slotOf(stamps, i, column))
  }
  return stamps
}

/** A value as this view answers it. */
function show({ column, level }: ColumnView, value: unknown): JsonValue {
  if (value === null) return null
  return level === 'PLAIN_TEXT'
    ? column.type.answer(value)
    : redact(level, column.mask === undefined ? '' : column.type.show(value), column.mask)
}

/** A value as text at this level, for detokenize. */
export function showText({ column, level }: ColumnView, value: unknown): string {
  return redact(level, column.type.show(value), column.mask)
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

function unreadable(table: Table): VaultError {
  return new VaultError(
    'internal',
    `A record of table ${table.name} cannot be authenticated. It was changed, moved, or sealed under a key that is gone.`,
    {
      table: table.name,
      grpcCode: 15,
    },
  )
}
