/** Makes tables exist and lets those that do grow: new columns, new indexes, never a retyped or dropped column. */

import { isVaultError, VaultError } from '../../core/errors.ts'
import type { PhysicalColumn, PhysicalIndex, PhysicalTable } from '../../core/ports/storage.ts'
import type { Journal } from './journal.ts'
import { createTable, type MemoryTable, putRow } from './memory-table.ts'

/** All tables or none: they are built beside the standing ones and take their places at the end. */
export function prepareTables(tables: Map<string, MemoryTable>, definitions: readonly PhysicalTable[], journal: Journal): void {
  const made = definitions.map((definition) => {
    const standing = tables.get(definition.name)
    return standing === undefined ? createTable(definition) : grownTable(standing, definition)
  })
  for (const table of made) {
    const standing = tables.get(table.name)
    tables.set(table.name, table)
    journal.noteOther(() => (standing === undefined ? tables.delete(table.name) : tables.set(table.name, standing)))
  }
}

/** The standing table where nothing is missing, else a copy of it with what is. */
function grownTable(standing: MemoryTable, definition: PhysicalTable): MemoryTable {
  const columns = missingColumns(standing, definition)
  const indexes = definition.indexes.filter((wanted) => !standing.indexes.some((index) => sameIndex(index, wanted)))
  if (columns.length === 0 && indexes.length === 0) return standing
  const grown = createTable({
    name: standing.name,
    columns: [...columnsOf(standing), ...columns],
    indexes: [...standing.indexes, ...indexes],
  })
  for (const row of standing.rows.values()) putOrRefuse(grown, row.id, { ...grown.blank, ...row })
  grown.nextId = standing.nextId
  return grown
}

function missingColumns(standing: MemoryTable, { name, columns }: PhysicalTable): PhysicalColumn[] {
  return columns.filter((column) => {
    const type = standing.columns.get(column.name)?.type
    if (type === undefined || type === column.type) return type === undefined
    const message = `column "${column.name}" of table "${name}" holds ${type} and cannot become ${column.type}: add a new column instead`
    throw new VaultError('failed_precondition', message, { table: name, column: column.name })
  })
}

function columnsOf(table: MemoryTable): PhysicalColumn[] {
  return [...table.columns.values()].filter(({ name }) => name !== 'id' && name !== 'version')
}

function sameIndex(left: PhysicalIndex, right: PhysicalIndex): boolean {
  return left.unique === right.unique && left.columns.join() === right.columns.join()
}

function putOrRefuse(...[table, id, row]: Parameters<typeof putRow>): void {
  try {
    putRow(table, id, row)
  } catch (error) {
    if (!isVaultError(error, 'conflict')) throw error
    const columns = error.details[0]?.columns ?? []
    const message = `table "${table.name}" holds rows with equal ${columns.join(', ')}: remove duplicates before the unique index is added`
    throw new VaultError('failed_precondition', message, { table: table.name, columns })
  }
}
