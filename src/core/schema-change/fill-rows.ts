/** The passes of a change of the schema over the rows of a table: cells that writers store from now on are stored in the rows before, and cells that no one reads are erased. */
import type { Barrier } from '../barrier/barrier.ts'
import { CATALOG_MOVED, OUTDATED } from '../barrier/barrier.ts'
import { digestPresent, hasKey } from '../barrier/digest-values.ts'
import { assertVersions } from '../barrier/record-errors.ts'
import { resealRows } from '../barrier/seal-rows.ts'
import type { Catalog } from '../catalog/open-catalog.ts'
import type { Job, MaintenancePass } from '../maintenance/job.ts'
import type { Cell, Patch, Row, Storage } from '../ports/storage.ts'
import { lostOf, type PassPlace, rowPass, untilPatched } from '../rotation/row-pass.ts'
import { type Column, IS_INDEXED } from '../schema/column-layout.ts'
import type { IndexedColumn, Table } from '../schema/layout.ts'
import { type IndexNotes, UNNOTED } from '../unit-of-work/delta-batch.ts'
import { attempt } from '../util/attempt.ts'
import { sameBytes } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { readValues } from './inspect-rows.ts'
import { missingKeys, type NewKeys, storeKeys } from './sealed-indexes.ts'

/** A physical column whose cells are computed from what a row has. A part with a derived cell of its own gives one of these. */
export interface FilledCell {
  readonly cell: string
  /** The columns whose values it is computed from. */
  readonly columns: readonly Column[]
  /** Returns the cell of each row. `valuesOf` gives the values of one of the columns, in order. */
  cellsOf(valuesOf: (column: Column) => readonly unknown[], rows: readonly Row[]): readonly Cell[]
}

/** Returns the digests of columns as cells to fill. The ring is read again for each page. */
export function digestCells(barrier: Barrier, columns: readonly Column[]): FilledCell[] {
  return columns.flatMap((column) =>
    column.digest === undefined
      ? []
      : {
          cell: column.digest,
          columns: [column],
          cellsOf: (valuesOf) => digestPresent(barrier.ring, column, valuesOf(column)).map((digest) => digest ?? null),
        },
  )
}

/** A table to fill, and what is counted meanwhile. */
export interface Filling extends PassPlace {
  readonly table: Table
  readonly cells: readonly FilledCell[]
  /** Sealed indexes that get the rows that they do not have. */
  readonly indexes: readonly IndexedColumn[]
  /** Columns that must have a value. */
  readonly required: readonly Column[]
  /** Columns with digests, whose normalizers must leave something of their texts. */
  readonly keyed: readonly Column[]
  readonly counts: FillCounts
}

/** The rows, by column, that keep the change from being made. */
export interface FillCounts {
  readonly missing: Record<string, number>
  readonly keyless: Record<string, number>
}

/** What passes over rows need. */
export interface FillPorts {
  /** Absent while a vault is opened. */
  readonly indexNotes?: IndexNotes
  readonly storage: Storage
  readonly catalog: Catalog
  readonly barrier: Barrier
}

/** Rows of one slice at most: writers of an engine with one writer wait for it. */
const MAX_ROWS = 256

/** A patch, and the keys that its row gets in sealed indexes. */
interface FillPatch extends Patch {
  readonly keys?: readonly NewKeys[]
}

/**
 * Returns the pass that fills. Only rows whose cell is another one are written, each if it is still as it was read, else it is read again. A slice is of one
 * generation of the catalog: a digest is never of a key that gave way.
 */
export function fillPass(ports: FillPorts, job: Job, filling: Filling): MaintenancePass {
  const { barrier } = ports
  const { table, cells, indexes, required, keyed, counts, placeAt } = filling
  const columns = [
    ...new Set([...cells.flatMap((one) => one.columns), ...indexes.map(({ column }) => column), ...required, ...keyed]),
  ]
  return slices(ports, job, {
    table,
    after: filling.after,
    placeAt,
    onPage(rows) {
      const valuesOf = readValues(barrier, table, rows, columns)
      for (const column of required) add(counts.missing, column.name, valuesOf(column).filter((value) => value === null).length)
      for (const column of keyed)
        add(counts.keyless, column.name, valuesOf(column).filter((value) => !hasKey(column, value)).length)
    },
    patchesOf(rows) {
      assertVersions(barrier, table, rows)
      if (cells.length + indexes.length === 0) return []
      const valuesOf = readValues(barrier, table, rows, columns)
      const filled = cells.map((one) => ({ cell: one.cell, cells: one.cellsOf(valuesOf, rows) }))
      return rows.flatMap((row, index) => {
        const set = filled.filter(({ cell, cells: of }) => !isCell(row[cell], at(of, index)))
        const keys = missingKeys(indexes, row, (column) => valuesOf(column)[index])
        if (set.length + keys.length === 0) return []
        const marks = keys.map(({ index: { cell } }) => [cell, IS_INDEXED] as const)
        const stored = [...set.map(({ cell, cells: of }) => [cell, at(of, index)] as const), ...marks]
        return [{ ...patchOf(row, Object.fromEntries(stored)), keys }]
      })
    },
  })
}

/** Returns the pass that erases cells: these physical ones, and those in bodies of columns that are gone. */
export function erasePass(
  ports: FillPorts,
  job: Job,
  { table, cells, after, placeAt }: PassPlace & { readonly table: Table; readonly cells: readonly string[] },
): MaintenancePass {
  return slices(ports, job, {
    table,
    after,
    placeAt,
    onPage() {},
    patchesOf(rows) {
      const bodies = table.cells.gone.length === 0 ? undefined : withoutGone(ports.barrier, table, rows)
      return rows.flatMap((row, index) => {
        const set = cells.filter((cell) => row[cell] !== null).map((cell) => [cell, null] as const)
        const body = bodies?.[index]
        return set.length === 0 && body === undefined ? [] : [patchOf(row, { ...body, ...Object.fromEntries(set) })]
      })
    },
  })
}

/** Returns the bodies of rows as they are sealed without the cells of columns that are gone. */
function withoutGone(barrier: Barrier, table: Table, rows: readonly Row[]): readonly Patch['set'][] {
  const sources = { textOf: () => undefined, supplied: [], transientIds: [], nowMs: 0 }
  const resealer = resealRows(barrier, table, { rows, records: rows.map(() => []), sources, sealsAll: true })
  while (resealer.resealSome());
  return resealer.end().rows.map(({ set }) => set)
}

/** A pass over the rows of a table. */
interface Slices extends PassPlace {
  readonly table: Table
  /** Called once for the rows of each page, as they were read first. */
  onPage(rows: readonly Row[]): void
  patchesOf(rows: readonly Row[]): readonly FillPatch[]
}

function slices(
  { storage, catalog, barrier, indexNotes = UNNOTED }: FillPorts,
  job: Job,
  { table: of, after, placeAt, onPage, patchesOf }: Slices,
): MaintenancePass {
  const { name } = of
  const table = of.physical.name
  const reloading = { ...OUTDATED, between: () => catalog.reload(storage) }
  return rowPass(storage, { table, name, after, max: MAX_ROWS }, async (rows, last) => {
    await attempt([reloading], async () => onPage(rows))
    await untilPatched(storage, { table, rows }, (pending) =>
      attempt([reloading], async () => {
        const { generation } = catalog.state
        const patches = patchesOf(pending)
        if (patches.length === 0) return []
        return storage.transaction(async (inner) => {
          const arePatched = await inner.update(table, patches)
          const patched = patches.filter((_, index) => arePatched[index])
          await storeKeys(inner, { barrier, indexNotes }, of, patched)
          await job.savePlace(inner, placeAt(last))
          if (catalog.state.generation !== generation || !(await catalog.isCurrent(inner))) throw CATALOG_MOVED
          return lostOf(patches, arePatched)
        })
      }),
    )
  })
}

function patchOf({ id, version }: Row, set: Readonly<Record<string, Cell>>): Patch {
  return { id, version, set }
}

function isCell(stored: Cell | undefined, cell: Cell): boolean {
  if (stored instanceof Uint8Array && cell instanceof Uint8Array) return sameBytes(stored, cell)
  return (stored ?? null) === cell
}

function add(counts: Record<string, number>, name: string, rows: number): void {
  if (rows > 0) counts[name] = (counts[name] ?? 0) + rows
}
