/** The access that two callers have in common in a row: each column at the lower of their levels, and what both can do. */
import { lowerLevel } from '../redaction.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { createViews, type RowAccess } from './table-access.ts'

/** Returns what combines the accesses of two callers to a row of the table. Equal pairs share one object, as rows with equal accesses do. */
export function createCommonAccess(table: Table): (one: RowAccess, other: RowAccess) => RowAccess {
  const known = new Map<RowAccess, Map<RowAccess, RowAccess>>()
  return (one, other) => {
    const ofOne = known.get(one) ?? new Map<RowAccess, RowAccess>()
    known.set(one, ofOne)
    const common = ofOne.get(other) ?? combine(table, one, other)
    ofOne.set(other, common)
    return common
  }
}

function combine(table: Table, one: RowAccess, other: RowAccess): RowAccess {
  const level = (column: Column) => {
    const [left, right] = [one.level(column), other.level(column)]
    return left === undefined || right === undefined ? undefined : lowerLevel(left, right)
  }
  const allows: RowAccess['allows'] = (action, column) => one.allows(action, column) && other.allows(action, column)
  return {
    level,
    ...createViews(table, level),
    allows,
    meets: ({ action, columns }) =>
      columns.length === 0
        ? table.columns.some((column) => allows(action, column))
        : columns.every((column) => allows(action, column)),
  }
}
