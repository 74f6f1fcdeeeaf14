/** How a value passes between a column of the host and one of the vault. Whatever does not come back equal is found by comparing in the database. */
import type { MappedColumn } from './adopted-table.ts'
import type { Cell } from './sql-text.ts'

/** Returns a cell as the vault takes it. One of another form passes unchanged: the vault refuses it. Throws for a text that is not JSON. */
export function toVault({ vaultType }: MappedColumn, cell: Cell): unknown {
  if (cell === null) return null
  switch (vaultType) {
    case 'INTEGER':
      return typeof cell === 'string' && /^-?\d+$/.test(cell) ? BigInt(cell) : cell
    case 'FLOAT':
      return typeof cell === 'string' || typeof cell === 'bigint' ? Number(cell) : cell
    case 'BOOL':
      if (cell === 'true' || cell === 1n) return true
      return cell === 'false' || cell === 0n ? false : cell
    case 'JSON':
    case 'ARRAY':
      return typeof cell === 'string' ? JSON.parse(cell) : cell
    default:
      return cell
  }
}

/** Returns a value of the vault as a cell of a list, which the database casts to the type of its column. */
export function toHost({ vaultType, type }: MappedColumn, value: unknown): Cell {
  if (value === null || value === undefined) return null
  switch (vaultType) {
    case 'INTEGER':
      return BigInt(String(value))
    case 'BOOL':
      return value === true ? 1n : 0n
    case 'JSON':
    case 'ARRAY':
      return JSON.stringify(value)
    case 'FLOAT':
      return Number(value)
    case 'DECIMAL':
      // A whole number with zeros behind its point is no text of an integer.
      return /int/i.test(type) ? String(value).replace(/\.0+$/, '') : String(value)
    default:
      return String(value)
  }
}
