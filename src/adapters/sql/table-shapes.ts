/** The prepared tables of a handle: name, columns and column types. */
import type {
  Cell,
  DropTarget,
  PhysicalColumn,
  PhysicalIndex,
  PhysicalTable,
  PhysicalType,
  Row,
  StoredTable,
} from '../../core/ports/storage.ts'
import { notBytesError, unknownColumnError, unpreparedError } from '../errors/storage-errors.ts'

/** A prepared table with the two columns every table has put in front: `id`, `version`, then its own. */
export interface TableShape {
  readonly name: string
  readonly table: PhysicalTable
  readonly columns: readonly PhysicalColumn[]
  readonly types: ReadonlyMap<string, PhysicalType>
  /**
   * A row without cells. Rows of lists begin as copies of it: of an object literal of which most live the engine makes the next ones among
   * its old objects, where they keep the bytes of their list. Of a copy it counts nothing.
   */
  readonly blank: Row
  /** Short text that identifies this name and these columns in this process: the key of cached statements. */
  readonly key: string
}

export interface TableShapes {
  /** Adds prepared tables; a table prepared again replaces its earlier shape, unless that one has all of it. */
  add(tables: readonly PhysicalTable[]): void
  /** Removes what was dropped. */
  drop(targets: readonly DropTarget[]): void
  /** The shape of a prepared table. Throws `internal` for any other name. */
  of(name: string): TableShape
}

export function createTableShapes(): TableShapes {
  const shapes = new Map<string, TableShape>()
  return {
    add(tables) {
      for (const table of tables) {
        const known = shapes.get(table.name)
        if (known === undefined || !covers(known.table, table)) shapes.set(table.name, toTableShape(table))
      }
    },
    drop(targets) {
      for (const target of targets) {
        if (target.kind === 'tables') for (const name of target.tables) shapes.delete(name)
        else {
          const known = shapes.get(target.table)
          if (known !== undefined) shapes.set(target.table, toTableShape(withoutTarget(known.table, target)))
        }
      }
    },
    of(name) {
      const shape = shapes.get(name)
      if (shape === undefined) throw unpreparedError(name)
      return shape
    },
  }
}

/** Returns the definition of a table without what was dropped of it. */
function withoutTarget(table: PhysicalTable, target: Exclude<DropTarget, { kind: 'tables' }>): PhysicalTable {
  const columns = target.kind === 'columns' ? target.columns : []
  const isDropped = (index: PhysicalIndex) =>
    target.kind === 'index' ? isSameIndex(index, target.index) : index.columns.some((column) => columns.includes(column))
  return {
    ...table,
    columns: table.columns.filter(({ name }) => !columns.includes(name)),
    indexes: table.indexes.filter((index) => !isDropped(index)),
  }
}

function isSameIndex(left: PhysicalIndex, right: PhysicalIndex): boolean {
  return left.unique === right.unique && left.columns.join() === right.columns.join()
}

/** Returns the shapes of tables as they are stored. */
export function shapesOf(tables: readonly StoredTable[]): TableShapes {
  const shapes = createTableShapes()
  shapes.add(tables.map((table) => ({ ...table, indexes: [] })))
  return shapes
}

/** True if a definition has the columns of another, and no less of its indexes and order: who prepares a table to copy it knows neither. */
function covers(known: PhysicalTable, { columns, indexes, isOrdered }: PhysicalTable): boolean {
  const hasColumn = ({ name, type }: PhysicalColumn) => known.columns.some((each) => each.name === name && each.type === type)
  const hasIndex = (index: PhysicalIndex) => known.indexes.some((each) => isSameIndex(each, index))
  const isSame = columns.length === known.columns.length && columns.every(hasColumn)
  return isSame && indexes.every(hasIndex) && (isOrdered !== true || known.isOrdered === true)
}

export function toTableShape(table: PhysicalTable): TableShape {
  const columns: PhysicalColumn[] = [{ name: 'id', type: 'integer' }, { name: 'version', type: 'integer' }, ...table.columns]
  const types = new Map(columns.map((column) => [column.name, column.type]))
  const blank: { id: number; version: number; [column: string]: Cell } = { id: 0, version: 0 }
  for (const { name } of table.columns) blank[name] = null
  return { name: table.name, table, columns, types, blank, key: keyOf(table.name, columns) }
}

/** The same table with `id`, `version` and these columns only. Throws `internal` for an unknown column. */
export function projectedShape(shape: TableShape, columns: readonly string[] | undefined): TableShape {
  if (columns === undefined) return shape
  // Mostly one column: a list is joined much more slowly than its one item is read.
  const [only] = columns
  const key = only !== undefined && columns.length === 1 ? only : columns.join(' ')
  const kept = projections.get(shape) ?? new Map<string, TableShape>()
  projections.set(shape, kept)
  const found = kept.get(key)
  if (found !== undefined) return found
  const asked = [...new Set(columns)].map((name) => ({ name, type: columnType(shape, name) }))
  const own = asked.filter(({ name }) => name !== 'id' && name !== 'version')
  const made = toTableShape({ ...shape.table, columns: own })
  kept.set(key, made)
  return made
}

const projections = new WeakMap<TableShape, Map<string, TableShape>>()

/** One number for each list of columns: statements are cached for all storages of a process, and vaults may give different tables one name. */
const numbers = new Map<string, number>()

function keyOf(name: string, columns: readonly PhysicalColumn[]): string {
  const written = JSON.stringify(columns.map((column) => [column.name, column.type]))
  const number = numbers.get(written) ?? numbers.size
  numbers.set(written, number)
  return `"${name}"${number}`
}

/** Throws `internal` unless a column is of bytes. */
export function assertBytes(shape: TableShape, column: string): void {
  if (columnType(shape, column) !== 'bytes') throw notBytesError(shape.name, column)
}

/** The type of a column. Throws `internal` for an unknown column. */
export function columnType(shape: TableShape, column: string): PhysicalType {
  const type = shape.types.get(column)
  if (type === undefined) throw unknownColumnError(shape.name, column)
  return type
}
