/** What a caller can do with each of some rows: the policy's conditions, evaluated on what the rows hold. */
import type { Barrier } from '../barrier/barrier.ts'
import { openColumns } from '../barrier/reveal.ts'
import type { Condition, Truth, ValueOf } from '../expressions/condition.ts'
import { compileCondition } from '../expressions/evaluate-condition.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'

type CompiledCondition = (valueIn: ValueOf) => Truth

const compiled = new WeakMap<readonly Condition[], readonly CompiledCondition[]>()

/** The conditions of a caller's access to a table, compiled once for as long as that access lives. */
export function compiledConditions({ conditions }: Pick<TableAccess, 'conditions'>): readonly CompiledCondition[] {
  const known = compiled.get(conditions)
  if (known !== undefined) return known
  const made = conditions.map(compileCondition)
  compiled.set(conditions, made)
  return made
}

/** A row, and what the caller can do with it. */
export interface RowWithAccess {
  readonly row: Row
  readonly access: RowAccess
}

/** Each row with the caller's access to it, in order. Throws `data_loss` where a row that a condition reads fails authentication. */
export function evaluateAccess(barrier: Barrier, access: TableAccess, rows: readonly Row[]): RowWithAccess[] {
  if (access.conditions.length === 0) {
    const unconditional = access.forRow([])
    return rows.map((row) => ({ row, access: unconditional }))
  }
  const cursor = openColumns(barrier, access.table, rows, access.conditionColumns)
  return rows.map((row, index) => {
    cursor.to(index)
    return { row, access: evaluateValues(access, (column) => cursor.value(column)) }
  })
}

/** The access to one record by its values; null and undefined both mean no value. */
export function evaluateValues(access: TableAccess, valueIn: (column: Column) => unknown): RowAccess {
  const ofRef: ValueOf = ({ column }) => (column === undefined ? null : (valueIn(column) ?? null))
  return access.forRow(compiledConditions(access).map((isTrue) => isTrue(ofRef)))
}
