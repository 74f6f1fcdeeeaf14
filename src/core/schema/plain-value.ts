/** Reads the values of plain columns. Their cells are not authenticated, and a writer of the database can change them. */
import { fault } from '../errors.ts'
import type { Cell } from '../ports/storage.ts'
import type { Column } from './layout.ts'

/** Returns the value of a plain cell. Throws `data_loss` for a cell that is no value of its column's type. The error does not quote it. */
export function plainValue(column: Column, cell: Exclude<Cell, null>, table?: string): unknown {
  try {
    return column.type.fromCell(cell)
  } catch {
    const detail = { ...(table === undefined ? {} : { table }), column: column.name }
    throw fault(
      'data_loss',
      detail,
    )`Column ${column.name} has a stored cell that is no value of its type: it was changed outside the vault. Restore it.`
  }
}
