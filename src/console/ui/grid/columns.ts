/** The columns of the grid: their widths and which of them are shown, by @tanstack/table-core. */
import { columnSizingFeature, columnVisibilityFeature, constructTable, tableFeatures } from '@tanstack/table-core'
import { storeReactivityBindings } from '@tanstack/table-core/store-reactivity-bindings'
import type { ColumnDescription, TableDescription } from '../../app/contract.ts'

/** The columns of one table, in this tab. */
export interface GridColumns {
  /** The columns that are shown, in the order of the table. */
  shown(): readonly ColumnDescription[]
  isShown(name: string): boolean
  /** Shows or hides a column. The last one stays. */
  toggle(name: string): void
  /** Widths of the columns that are shown, in whole pixels. Wide ones share what is left of a width. */
  widths(available: number): readonly number[]
  widthOf(name: string): number
  resize(name: string, width: number): void
}

/** Width of the column of ids, in pixels. */
export const ID_WIDTH = 104
const MIN_WIDTH = 72
const MAX_WIDTH = 640
const DEFAULT_WIDTH = 172
/** A column that is never shown needs room for its name alone. */
const HIDDEN_WIDTH = 76
const WIDTHS: Readonly<Record<string, number>> = {
  INTEGER: 110,
  DECIMAL: 156,
  FLOAT: 120,
  DATE: 124,
  TIME: 124,
  DATETIME: 206,
  BOOL: 90,
  JSON: 260,
  ARRAY: 220,
}

const features = tableFeatures({
  coreReactivityFeature: storeReactivityBindings(),
  columnSizingFeature,
  columnVisibilityFeature,
})

/** By the description of the table: a new sign-in has new ones. */
const known = new WeakMap<TableDescription, GridColumns>()

/** Returns the columns of a table. Those of one description are the same ones each time. */
export function columnsOf(table: TableDescription): GridColumns {
  const found = known.get(table) ?? createColumns(table)
  known.set(table, found)
  return found
}

function createColumns({ columns }: TableDescription): GridColumns {
  const model = constructTable({
    features,
    data: [],
    columns: columns.map((column) => ({
      id: column.name,
      accessorFn: () => undefined,
      size: column.read.decision === 'DENIED' ? HIDDEN_WIDTH : (WIDTHS[column.type] ?? DEFAULT_WIDTH),
      minSize: MIN_WIDTH,
      maxSize: MAX_WIDTH,
    })),
  })
  const byName = new Map(columns.map((column) => [column.name, column]))
  const visible = () => model.getVisibleLeafColumns()
  return {
    shown: () => visible().flatMap(({ id }) => byName.get(id) ?? []),
    isShown: (name) => model.getColumn(name)?.getIsVisible() ?? false,
    toggle(name) {
      const column = model.getColumn(name)
      if (column?.getIsVisible() === true && visible().length === 1) return
      column?.toggleVisibility()
    },
    widths(available) {
      const sizes = visible().map((column) => column.getSize())
      const left = available - sizes.reduce((sum, size) => sum + size, 0)
      const wide = sizes.filter((size) => size > HIDDEN_WIDTH).length
      if (left <= 0 || wide === 0) return sizes
      const more = Math.floor(left / wide)
      const last = sizes.findLastIndex((size) => size > HIDDEN_WIDTH)
      return sizes.map((size, at) => (size > HIDDEN_WIDTH ? size + more + (at === last ? left % wide : 0) : size))
    },
    widthOf: (name) => model.getColumn(name)?.getSize() ?? DEFAULT_WIDTH,
    resize: (name, width) => model.setColumnSizing((sizes) => ({ ...sizes, [name]: Math.round(width) })),
  }
}
