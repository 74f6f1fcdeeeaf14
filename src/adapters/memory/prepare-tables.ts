/** Makes tables exist: creates tables, columns and indexes that are missing, and never drops or retypes; and drops those that are named. */

import { isVaultError } from '../../core/errors.ts'
import type { DropTarget, PhysicalColumn, PhysicalIndex, PhysicalTable } from '../../core/ports/storage.ts'
import { duplicatesError, retypedError } from '../errors/storage-errors.ts'
import { columnsOf, createTable, type MemoryTable, putRow } from './memory-table.ts'
import type { UndoLog } from './undo-log.ts'

/** Prepares all tables or none: new ones are built beside the stored ones and replace them at the end. */
export function prepareTables(tables: Map<string, MemoryTable>, definitions: readonly PhysicalTable[], undoLog: UndoLog): void {
  const made = definitions.map((definition) => {
    const stored = tables.get(definition.name)
    return stored === undefined ? createTable(definition) : grownTable(stored, definition)
  })
  for (const table of made) replaceTable(tables, table.name, table, undoLog)
}

/** Drops what exists of these. */
export function dropTargets(tables: Map<string, MemoryTable>, targets: readonly DropTarget[], undoLog: UndoLog): void {
  for (const target of targets) {
    if (target.kind === 'tables') for (const name of target.tables) replaceTable(tables, name, undefined, undoLog)
    else {
      const stored = tables.get(target.table)
      if (stored !== undefined) replaceTable(tables, stored.name, shrunkTable(stored, target), undoLog)
    }
  }
}

function replaceTable(tables: Map<string, MemoryTable>, name: string, table: MemoryTable | undefined, undoLog: UndoLog): void {
  const stored = tables.get(name)
  const put = (now: MemoryTable | undefined) => (now === undefined ? tables.delete(name) : tables.set(name, now))
  put(table)
  undoLog.addOther(() => put(stored))
}

/** A copy of the stored table without these columns and the indexes on them, or without this index. */
function shrunkTable(stored: MemoryTable, target: Exclude<DropTarget, { kind: 'tables' }>): MemoryTable {
  const columns = target.kind === 'columns' ? target.columns : []
  const isDropped = (index: PhysicalIndex) =>
    target.kind === 'index' ? sameIndex(index, target.index) : index.columns.some((column) => columns.includes(column))
  return copiedTable(stored, {
    name: stored.name,
    columns: columnsOf(stored).filter(({ name }) => !columns.includes(name)),
    indexes: stored.indexes.filter((index) => !isDropped(index)),
    isOrdered: stored.latest !== undefined,
  })
}

/** The stored table where nothing is missing, else a copy of it with the missing parts. */
function grownTable(stored: MemoryTable, definition: PhysicalTable): MemoryTable {
  const columns = missingColumns(stored, definition)
  const indexes = definition.indexes.filter((wanted) => !stored.indexes.some((index) => sameIndex(index, wanted)))
  const isOrdered = definition.isOrdered === true || stored.latest !== undefined
  const isInOrder = isOrdered === (stored.latest !== undefined)
  if (columns.length === 0 && indexes.length === 0 && isInOrder) return stored
  return copiedTable(stored, {
    name: stored.name,
    columns: [...columnsOf(stored), ...columns],
    indexes: [...stored.indexes, ...indexes],
    isOrdered,
  })
}

/** A table of another definition with the stored rows, each with the cells of the columns that it has. */
function copiedTable(stored: MemoryTable, definition: PhysicalTable): MemoryTable {
  const copy = createTable(definition)
  for (const row of stored.rows.values()) {
    const cells = { ...copy.blank }
    for (const name of copy.columns.keys()) cells[name] = row[name] ?? null
    putOrRefuse(copy, row.id, { ...cells, id: row.id, version: row.version })
    if (copy.latest !== undefined) copy.latest.inserted = Math.max(copy.latest.inserted, row.id)
  }
  if (copy.latest !== undefined) copy.latest.committed = copy.latest.inserted
  copy.nextId = stored.nextId
  return copy
}

function missingColumns(stored: MemoryTable, { name, columns }: PhysicalTable): PhysicalColumn[] {
  return columns.filter((column) => {
    const type = stored.columns.get(column.name)?.type
    if (type === undefined || type === column.type) return type === undefined
    throw retypedError(name, column.name, type, column.type)
  })
}

function sameIndex(left: PhysicalIndex, right: PhysicalIndex): boolean {
  return left.unique === right.unique && left.columns.join() === right.columns.join()
}

function putOrRefuse(...[table, id, row]: Parameters<typeof putRow>): void {
  try {
    putRow(table, id, row)
  } catch (error) {
    if (!isVaultError(error, 'conflict')) throw error
    throw duplicatesError(table.name, error.details[0]?.columns ?? [])
  }
}
