/** The access that two callers have in common in a row: each column at the lower of their levels, and what both can do. */
import { lowerLevel } from '../redaction.ts'
import type { Table } from '../schema/layout.ts'
import { type RowAccess, rowAccessOf } from './table-access.ts'

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
  return rowAccessOf(table, {
    level(column) {
      const [left, right] = [one.level(column), other.level(column)]
      return left === undefined || right === undefined ? undefined : lowerLevel(left, right)
    },
    allows: (action, column) => one.allows(action, column) && other.allows(action, column),
  })
}
