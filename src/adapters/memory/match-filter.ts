/** Evaluates filters in SQL's three-valued logic: each is true, false or unknown for a row, and only true is a match. */

import type { Cell, Filter } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import { columnNamed, type MemoryTable } from './memory-table.ts'
import { cellKey, compareCells, type StoredRow, toStoredCell } from './stored-cell.ts'

/** `undefined` is SQL's unknown. */
type Truth = boolean | undefined

/** A test of a row, made once for a filter and run on many rows. */
type Question = (row: StoredRow) => Truth

/** A function that is true for exactly the rows the filter matches. */
export function createMatch(table: MemoryTable, filter: Filter): (row: StoredRow) => boolean {
  const question = toQuestion(table, filter)
  return (row) => question(row) === true
}

function toQuestion(table: MemoryTable, filter: Filter): Question {
  switch (filter.kind) {
    case 'all':
      return () => true
    case 'and':
      return all(filter.filters.map((each) => toQuestion(table, each)))
    case 'or':
      return not(all(filter.filters.map((each) => not(toQuestion(table, each)))))
    case 'not':
      return not(toQuestion(table, filter.filter))
    case 'isNull':
      columnNamed(table, filter.column)
      return (row) => row[filter.column] === null
    case 'compare':
      return comparison(filter.column, filter.operator, toCell(table, filter.column, filter.value))
    case 'in':
      return membership(table, filter.column, filter.values)
    default:
      return unreachable(filter)
  }
}

/** False if one is false, else unknown if one is unknown, else true. */
function all(questions: readonly Question[]): Question {
  return (row) => {
    let truth: Truth = true
    for (const question of questions) {
      const truthOfPart = question(row)
      if (truthOfPart === false) return false
      if (truthOfPart === undefined) truth = undefined
    }
    return truth
  }
}

function not(question: Question): Question {
  return (row) => {
    const truthOfPart = question(row)
    return truthOfPart === undefined ? undefined : !truthOfPart
  }
}

type Comparison = Extract<Filter, { readonly kind: 'compare' }>

function comparison(column: string, operator: Comparison['operator'], value: Exclude<Cell, null>): Question {
  return (row) => {
    const cell = row[column] ?? null
    if (cell === null) return undefined
    const order = compareCells(cell, value)
    switch (operator) {
      case '=':
        return order === 0
      case '<>':
        return order !== 0
      case '<':
        return order < 0
      case '<=':
        return order <= 0
      case '>':
        return order > 0
      case '>=':
        return order >= 0
      default:
        return unreachable(operator)
    }
  }
}

/** Nothing is in an empty list, not even null: that is false, not unknown. */
function membership(table: MemoryTable, column: string, values: readonly Exclude<Cell, null>[]): Question {
  columnNamed(table, column)
  const keys = new Set(values.map((value) => cellKey(toCell(table, column, value))))
  if (keys.size === 0) return () => false
  return (row) => {
    const key = cellKey(row[column] ?? null)
    return key === undefined ? undefined : keys.has(key)
  }
}

/** A filter's value in the form in which the column's cells are stored. */
export function toCell(table: MemoryTable, column: string, value: Exclude<Cell, null>): Exclude<Cell, null> {
  return toStoredCell(columnNamed(table, column), value, (bytes) => bytes) ?? value
}
