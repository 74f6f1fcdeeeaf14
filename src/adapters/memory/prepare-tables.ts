/** Makes tables exist: creates tables, columns and indexes that are missing. Never drops or retypes. */

import { isVaultError } from '../../core/errors.ts'
import type { PhysicalColumn, PhysicalIndex, PhysicalTable } from '../../core/ports/storage.ts'
import { duplicatesError, retypedError } from '../errors/storage-errors.ts'
import { columnsOf, createTable, type MemoryTable, putRow } from './memory-table.ts'
import type { UndoLog } from './undo-log.ts'

/** Prepares all tables or none: new ones are built beside the stored ones and replace them at the end. */
export function prepareTables(tables: Map<string, MemoryTable>, definitions: readonly PhysicalTable[], undoLog: UndoLog): void {
  const made = definitions.map((definition) => {
    const stored = tables.get(definition.name)
    return stored === undefined ? createTable(definition) : grownTable(stored, definition)
  })
  for (const table of made) {
    const stored = tables.get(table.name)
    tables.set(table.name, table)
    undoLog.addOther(() => (stored === undefined ? tables.delete(table.name) : tables.set(table.name, stored)))
  }
}

/** The stored table where nothing is missing, else a copy of it with the missing parts. */
function grownTable(stored: MemoryTable, definition: PhysicalTable): MemoryTable {
  const columns = missingColumns(stored, definition)
  const indexes = definition.indexes.filter((wanted) => !stored.indexes.some((index) => sameIndex(index, wanted)))
  const isOrdered = definition.isOrdered === true || stored.latest !== undefined
  const isInOrder = isOrdered === (stored.latest !== undefined)
  if (columns.length === 0 && indexes.length === 0 && isInOrder) return stored
  const grown = createTable({
    name: stored.name,
    columns: [...columnsOf(stored), ...columns],
    indexes: [...stored.indexes, ...indexes],
    isOrdered,
  })
  for (const row of stored.rows.values()) {
    putOrRefuse(grown, row.id, { ...grown.blank, ...row })
    if (grown.latest !== undefined) grown.latest.inserted = Math.max(grown.latest.inserted, row.id)
  }
  if (grown.latest !== undefined) grown.latest.committed = grown.latest.inserted
  grown.nextId = stored.nextId
  return grown
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
