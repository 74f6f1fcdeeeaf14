/** What sealed indexes can find of a condition: ranges of keys that cover every row in which the condition is true. */
import { type Condition, MIRRORED, splitConjuncts, type Term } from '../expressions/condition.ts'
import { foldedParts, literalPrefix } from '../expressions/like.ts'
import { createColumnTest, type Utf8Test } from '../expressions/utf8-match.ts'
import {
  EVERY_KEY,
  intersection,
  type KeyRanges,
  NO_KEYS,
  NULLS,
  otherValues,
  setOf,
  union,
  VALUES,
} from '../index-runs/key-ranges.ts'
import { keysThat, keysWithPrefix } from '../index-runs/order-key.ts'
import { EVERY_ROW, rangesOfPart } from '../index-runs/trigrams.ts'
import type { Filter } from '../ports/storage.ts'
import type { Column, ColumnIndex } from '../schema/column-layout.ts'
import type { IndexedColumn, Table } from '../schema/layout.ts'
import { unreachable } from '../util/causes.ts'
import type { AggregateOutput, OrderTerm } from './query.ts'
import type { AggregateName } from './select.ts'

/** The rows that an index offers for a condition. */
export interface Candidates {
  readonly column: Column
  readonly index: ColumnIndex
  /** Keys of every row in which the condition is true. */
  readonly ranges: KeyRanges
  /** Of an index of what texts contain: of each of these, and of `ranges`, every such row has a key. */
  readonly others: readonly KeyRanges[]
  /** Ranges in which each row of the table has one key. */
  readonly everyRow: KeyRanges
  /** Tests of patterns, which the texts of these rows pass as well. */
  readonly tests: readonly Utf8Test[]
  /** True if the condition is true in every row with such a key. */
  readonly isExact: boolean
}

/** Returns what the indexes of a table offer for conditions on its rows alone. An index that narrows nothing is left out. */
export function candidatesOf({ indexed }: Pick<Table, 'indexed'>, conditions: readonly Condition[]): readonly Candidates[] {
  return indexed.flatMap(({ column, index }) => {
    if (index === column.contains) return candidatesOfParts(conditions, { column, index })
    if (index !== column.index) return []
    const found = every(conditions.map((condition) => keysWhere(condition, column, true)))
    if (found.ranges === EVERY_KEY) return []
    return [{ column, index, ...found, others: [], everyRow: EVERY_KEY, tests: testsOf(conditions, column) }]
  })
}

/** Returns the rows that have each part of the patterns among conditions that every row must meet. */
function candidatesOfParts(conditions: readonly Condition[], { column, index }: IndexedColumn): readonly Candidates[] {
  const [ranges, ...others] = conditions
    .flatMap(splitConjuncts)
    .flatMap((condition) =>
      condition.kind === 'like' && isCell(condition.left, column) ? partsOf(condition.right).flatMap(rangesOfPart) : [],
    )
  return ranges === undefined ? [] : [{ column, index, ranges, others, everyRow: EVERY_ROW, tests: [], isExact: false }]
}

function partsOf(pattern: Term): readonly (readonly number[])[] {
  return pattern.kind === 'constant' && typeof pattern.value === 'string' ? foldedParts(pattern.value) : []
}

/** Returns the tests of the patterns among conditions that every row must meet. */
function testsOf(conditions: readonly Condition[], column: Column): readonly Utf8Test[] {
  return conditions.flatMap(splitConjuncts).flatMap((condition) => {
    const tested = condition.kind === 'like' ? createColumnTest(condition) : undefined
    return tested?.column === column ? [tested.test] : []
  })
}

/** Returns where sealed indexes have each of these aggregates, in order: their keys decide the conditions. Undefined if a row must be read. */
export function candidatesOfTotals(
  aggregates: readonly AggregateOutput[],
  { candidates, conditions }: { readonly candidates: readonly Candidates[]; readonly conditions: readonly Condition[] },
): readonly OrderedKeys[] | undefined {
  const isUnconditional = conditions.every((condition) => splitConjuncts(condition).length === 0)
  const found = aggregates.flatMap(({ name, ref, isDistinct }): readonly OrderedKeys[] | OrderedKeys => {
    const { column } = ref ?? {}
    if (isDistinct || !isInKeys(name, column)) return []
    if (!isUnconditional) return candidates.find((one) => one.isExact && (ref === undefined || one.column === column)) ?? []
    return keysOf(column) ?? []
  })
  return found.length === aggregates.length ? found : undefined
}

/** Keys of a sealed index that are in the order of rows. */
export type OrderedKeys = Pick<Candidates, 'column' | 'index' | 'ranges'>

/** Returns the keys that a sealed index has in the order of rows; undefined if none has. */
export function keysInOrder([first]: readonly OrderTerm[], candidates: readonly Candidates[]): OrderedKeys | undefined {
  const column = first?.ref.column
  return candidates.find(({ index }) => index === column?.index) ?? keysOf(column)
}

/** Returns all keys of a column; undefined if no sealed index has them in order. */
function keysOf(column: Column | undefined): OrderedKeys | undefined {
  return column?.index && { column, index: column.index, ranges: EVERY_KEY }
}

/** True if an aggregate can be computed from keys. A sum of doubles is not: it is rounded once, at its end. */
function isInKeys(name: AggregateName, column: Column | undefined): boolean {
  return name === 'count' || name === 'min' || name === 'max' || column?.type.scale !== undefined
}

/** Keys that cover the rows in which a condition is true, and whether they are those of no other row. */
interface Covering {
  readonly ranges: KeyRanges
  readonly isExact: boolean
}

/** What covers rows of which the column says nothing. */
const UNDECIDED: Covering = { ranges: EVERY_KEY, isExact: false }

/** Returns what covers the rows in which the condition is `wanted`. */
function keysWhere(condition: Condition, column: Column, wanted: boolean): Covering {
  switch (condition.kind) {
    case 'truth':
      return { ranges: condition.truth === wanted ? EVERY_KEY : NO_KEYS, isExact: true }
    case 'and':
    case 'or': {
      const parts = condition.conditions.map((part) => keysWhere(part, column, wanted))
      return (condition.kind === 'and') === wanted ? every(parts) : some(parts)
    }
    case 'not':
      return keysWhere(condition.condition, column, !wanted)
    case 'compare':
      return keysOfComparison(condition, column, wanted)
    case 'isNull':
      return condition.ref.column === column ? { ranges: wanted ? NULLS : VALUES, isExact: true } : UNDECIDED
    case 'like':
      return wanted ? keysOfPattern(condition, column) : UNDECIDED
    case 'hasKey':
      return UNDECIDED
    default:
      return unreachable(condition)
  }
}

/** What covers all of these. */
function every(parts: readonly Covering[]): Covering {
  const ranges = parts.reduce<KeyRanges>(
    (all, part) => (part.ranges === EVERY_KEY ? all : intersection(all, part.ranges)),
    EVERY_KEY,
  )
  return { ranges, isExact: parts.every(({ isExact }) => isExact) }
}

/** What covers any of these. */
function some(parts: readonly Covering[]): Covering {
  if (parts.some(({ ranges }) => ranges === EVERY_KEY)) return UNDECIDED
  return { ranges: union(parts.map(({ ranges }) => ranges)), isExact: parts.every(({ isExact }) => isExact) }
}

type Comparison = Extract<Condition, { readonly kind: 'compare' }>

function keysOfComparison({ operator, left, right }: Comparison, column: Column, wanted: boolean): Covering {
  const isMirrored = isCell(right, column)
  const [cell, constant] = isMirrored ? [right, left] : [left, right]
  // Numbers of different types compare as doubles, which the keys do not.
  if (!isCell(cell, column) || constant.kind !== 'constant' || constant.type !== column.type) return UNDECIDED
  const compared = isMirrored ? MIRRORED[operator] : operator
  return keysThatAre(wanted ? compared : OPPOSITE[compared], column, constant.value)
}

const OPPOSITE = { '=': '<>', '<>': '=', '<': '>=', '>=': '<', '>': '<=', '<=': '>' } as const

function keysThatAre(operator: keyof typeof OPPOSITE, { type }: Column, value: unknown): Covering {
  const { range, isExact } = keysThat(operator === '<>' ? '=' : operator, type, value)
  // A cut key is that of other values too.
  if (operator === '<>') return { ranges: isExact ? otherValues(setOf(range)) : VALUES, isExact }
  return { ranges: setOf(range), isExact }
}

function keysOfPattern({ ignoresCase, left, right }: Extract<Condition, { readonly kind: 'like' }>, column: Column): Covering {
  if (ignoresCase || !isCell(left, column) || right.kind !== 'constant' || typeof right.value !== 'string') return UNDECIDED
  const { prefix, isWhole, isAll } = literalPrefix(right.value)
  if (isWhole) return keysThatAre('=', column, prefix)
  const { range, isExact } = keysWithPrefix(column.type, prefix)
  return { ranges: setOf(range), isExact: isExact && isAll }
}

function isCell(term: Term, column: Column): boolean {
  return term.kind === 'cell' && term.ref.column === column
}

/** True if storage finds the rows of a filter without reading all of them. */
export function isFoundByIndex(filter: Filter, table: Table): boolean {
  switch (filter.kind) {
    case 'all':
    case 'not':
      return false
    case 'and':
      return filter.filters.some((part) => isFoundByIndex(part, table))
    case 'or':
      return filter.filters.every((part) => isFoundByIndex(part, table))
    case 'compare':
      return filter.operator !== '<>' && isIndexed(filter.column, table)
    case 'in':
    case 'isNull':
      return isIndexed(filter.column, table)
    default:
      return unreachable(filter)
  }
}

function isIndexed(physical: string, table: Table): boolean {
  return physical === 'id' || table.byPhysical.get(physical)?.lookup === physical
}
