/** What a caller may do with each of some rows: the policy's conditions, evaluated on what the rows hold. */
import { openColumns } from '../barrier/reveal.ts'
import type { Condition, Truth, ValueOf } from '../expressions/condition.ts'
import { compileCondition } from '../expressions/evaluate-condition.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import type { StoreContext } from '../records/writing-context.ts'

type Judge = (valueIn: ValueOf) => Truth

/** The questions of conditions, by their list. */
const judges = new WeakMap<readonly Condition[], readonly Judge[]>()

/** The conditions of a caller's hold on a table, compiled once for as long as he has it. */
export function judgesOf({ conditions }: Pick<TableAccess, 'conditions'>): readonly Judge[] {
  const known = judges.get(conditions)
  if (known !== undefined) return known
  const made = conditions.map(compileCondition)
  judges.set(conditions, made)
  return made
}

/** The grants of each row, in order. Throws `internal` where a row that must be looked into does not open. */
export function judgeRows({ barrier }: Pick<StoreContext, 'barrier'>, access: TableAccess, rows: readonly Row[]): RowAccess[] {
  if (access.conditions.length === 0) return new Array<RowAccess>(rows.length).fill(access.forRow([]))
  const cursor = openColumns(barrier, access.table, rows, access.judgedBy)
  return rows.map((_, index) => {
    cursor.to(index)
    return judgeValues(access, (column) => cursor.value(column))
  })
}

/** The grants of one record from its values; null and undefined are both no value. */
export function judgeValues(access: TableAccess, valueIn: (column: Column) => unknown): RowAccess {
  const ofRef: ValueOf = ({ column }) => (column === undefined ? null : (valueIn(column) ?? null))
  return access.forRow(judgesOf(access).map((judge) => judge(ofRef)))
}
