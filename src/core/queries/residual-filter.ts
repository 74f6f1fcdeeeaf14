/**
 * Evaluates on rows what storage could not: the policy's conditions and the residual conditions of the query. Keeps only the columns needed
 * later.
 */
import type { Barrier } from '../barrier/barrier.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { type OpenRows, openColumns, openSealedRows } from '../barrier/reveal.ts'
import { allOf, type Condition, columnsOf, splitConjuncts, type ValueOf } from '../expressions/condition.ts'
import { compileSuspending } from '../expressions/evaluate-condition.ts'
import { type ColumnTest, createColumnTest, MAX_UTF8_BYTES } from '../expressions/utf8-match.ts'
import type { Row } from '../ports/storage.ts'
import { compiledConditions } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import { BODY, type Table } from '../schema/layout.ts'
import type { SourcePlan } from '../sql/plan.ts'
import { guaranteedGrants, isVisibleTo, type RowGrants } from '../sql/source-access.ts'
import type { Writable } from '../util/bytes.ts'
import { unreachable } from '../util/causes.ts'
import { required } from '../util/lists.ts'
import { isSealed, type ScannedRows, sliceOf } from './scanned-rows.ts'

/** Filters slices of rows. */
export interface ResidualFilter {
  /** The physical columns that it reads; storage need not return others. */
  readonly columns: readonly string[]
  /** True if it reads nothing of a row but id and body. */
  readonly readsOnlyBodies: boolean
  /**
   * Calls `take` for the visible rows among these, at most `max`, in order, and returns their number. Throws `data_loss` if a body that must
   * be opened fails authentication, and `LongMatch`: the caller then drops what was taken.
   */
  each(rows: ScannedRows, max: number, take: (current: CurrentRow, grants: RowGrants) => void): number
}

/** The row that a filter is at. One object is all rows of a slice in turn, so `take` must copy what it keeps. */
export interface CurrentRow {
  readonly id: number
  /** The public id, if the plan needs it. */
  readonly publicId: string | undefined
  /** Reads the projected columns, and the columns of conditions. */
  readonly cellOf: ValueOf
}

/** Creates the filter of one source. Its conditions are compiled once. */
export function createResidualFilter(barrier: Barrier, plan: SourcePlan): ResidualFilter {
  const onPlain: Condition[] = []
  const onOpened: Condition[] = []
  for (const condition of splitConjuncts(plan.residual)) (isOnPlain(condition) ? onPlain : onOpened).push(condition)
  const passesPlain = createTest(onPlain)
  const passesOpened = createTest(onOpened)
  const testOnBytes = createBytesTest(onOpened)
  const evaluator = createRowEvaluator(plan)
  const filtersOpened = plan.isConditional || onOpened.length > 0
  const columns = passesOpened.columns.concat(plan.isConditional ? plan.source.access.conditionColumns : [], plan.projected)
  const readsIds = plan.projectsId || passesOpened.readsIds || evaluator.readsIds

  const isVisible = (cellOf: ValueOf): boolean => evaluator.grantsOf(cellOf) !== undefined
  const survivorsOf = (rows: readonly Row[]): readonly Row[] => {
    const visible = evaluator.isOnPlain ? onlyPassing(barrier, plan.source.table, { ...evaluator, rows, test: isVisible }) : rows
    return passesPlain.isAlwaysTrue ? visible : onlyPassing(barrier, plan.source.table, { ...passesPlain, rows: visible })
  }
  // Without conditions on opened rows, only rows of the result are opened.
  const upTo = <T extends ScannedRows>(rows: T, max: number): ScannedRows =>
    filtersOpened || rows.length <= max ? rows : sliceOf(rows, 0, max)
  const open = (rows: ScannedRows, max: number): OpenRows | undefined => {
    const left = upTo(isSealed(rows) ? rows : survivorsOf(rows), max)
    if (left.length === 0) return undefined
    const { table } = plan.source
    return isSealed(left) ? openSealedRows(barrier, table, left) : openColumns(barrier, table, left, columns)
  }
  const each: ResidualFilter['each'] = (rows, max, take) => {
    const opened = open(rows, max)
    if (opened === undefined) return 0
    const publicIds = readsIds ? encodeRecordIds(barrier.ring, plan.source.table, opened.ids) : []
    const { length } = opened.ids
    const onBytes = testOnBytes(length)
    let index = 0
    const cellOf: ValueOf = ({ column }) => (column === undefined ? required(publicIds[index]) : opened.value(column))
    const passes = (): boolean => {
      if (passesOpened.isAlwaysTrue) return true
      const known = onBytes && opened.testBytes(onBytes.column, MAX_UTF8_BYTES, onBytes.test)
      return known ?? passesOpened.test(cellOf)
    }
    const current: Writable<CurrentRow> = { id: 0, publicId: undefined, cellOf }
    let taken = 0
    for (; index < length && taken < max; index++) {
      opened.to(index)
      const grants = evaluator.grantsOf(cellOf)
      if (grants === undefined || !passes()) continue
      current.id = required(opened.ids[index])
      current.publicId = publicIds[index]
      take(current, grants)
      taken++
    }
    opened.free()
    return taken
  }
  const physical = physicalOf(passesPlain.columns.concat(columns))
  const readsOnlyBodies = physical.length === 1 && physical[0] === BODY && !evaluator.isOnPlain && passesPlain.isAlwaysTrue
  return { columns: physical, readsOnlyBodies, each }
}

/** Rows from which making a test of bytes costs less than making the texts of the rows. A look-up by digest mostly finds one. */
const MIN_TESTED_ROWS = 8

/** Returns what returns the test of bytes for so many rows; undefined if they are few, or if there is none. It is made once. */
function createBytesTest(conditions: readonly Condition[]): (rows: number) => ColumnTest | undefined {
  const [only] = conditions
  if (only === undefined || conditions.length > 1) return () => undefined
  let made: { readonly test: ColumnTest | undefined } | undefined
  return (rows) => {
    if (rows < MIN_TESTED_ROWS) return undefined
    made ??= { test: createColumnTest(only) }
    return made.test
  }
}

/** The physical columns that contain these values: the body for all sealed columns. */
function physicalOf(columns: readonly Column[]): string[] {
  // A list and not a set: it is made for each query, and has few columns.
  const physical: string[] = []
  for (const { plain = BODY } of columns) if (!physical.includes(plain)) physical.push(plain)
  return physical
}

/** A compiled condition and the columns it reads. */
interface RowTest {
  /** True if every row passes. */
  readonly isAlwaysTrue: boolean
  readonly columns: readonly Column[]
  readonly readsIds: boolean
  test(cellOf: ValueOf): boolean
}

const EVERY_ROW: RowTest = { isAlwaysTrue: true, columns: [], readsIds: false, test: () => true }

/** Returns the test that all of these conditions are true. */
function createTest(conditions: readonly Condition[]): RowTest {
  if (conditions.length === 0) return EVERY_ROW
  const condition = allOf(conditions)
  const refs = columnsOf(condition)
  const evaluate = compileSuspending(condition)
  const columns: Column[] = []
  for (const { column } of refs) if (column !== undefined) columns.push(column)
  return {
    isAlwaysTrue: false,
    columns,
    readsIds: columns.length < refs.length,
    test: (cellOf) => evaluate(cellOf) === true,
  }
}

/** Returns the rows that pass a test on plain columns. No body is opened. */
function onlyPassing(
  barrier: Barrier,
  table: Table,
  { rows, readsIds, test }: Pick<RowTest, 'readsIds' | 'test'> & { readonly rows: readonly Row[] },
): readonly Row[] {
  const cursor = openColumns(barrier, table, rows, [])
  const ids = readsIds ? encodeRecordIds(barrier.ring, table, idsOf(rows)) : []
  let current = 0
  const cellOf: ValueOf = ({ column }) => (column === undefined ? required(ids[current]) : cursor.value(column))
  return rows.filter((_, index) => {
    current = index
    cursor.to(index)
    return test(cellOf)
  })
}

interface RowEvaluator {
  readonly readsIds: boolean
  /** True if the policy's conditions read only plain columns. Then no hidden row is opened, and damage to one is never reported. */
  readonly isOnPlain: boolean
  /** The grants of the current row, or undefined if the row is not visible to this query. */
  grantsOf(cellOf: ValueOf): RowGrants | undefined
}

function createRowEvaluator({ source: { access }, isConditional, requirements }: SourcePlan): RowEvaluator {
  if (!isConditional) {
    const grants = guaranteedGrants(access)
    return { readsIds: false, isOnPlain: false, grantsOf: () => grants }
  }
  const conditions = compiledConditions(access)
  // Rows with equal truths share one grants object, so visibility is computed once for it.
  const visibility = new Map<RowGrants, boolean>()
  return {
    isOnPlain: access.conditions.every(isOnPlain),
    readsIds: access.conditions.some((condition) => columnsOf(condition).some(({ column }) => column === undefined)),
    grantsOf(cellOf) {
      const grants = access.forRow(conditions.map((evaluate) => evaluate(cellOf)))
      let isVisible = visibility.get(grants)
      if (isVisible === undefined) {
        isVisible = isVisibleTo(grants, requirements)
        visibility.set(grants, isVisible)
      }
      return isVisible ? grants : undefined
    },
  }
}

/**
 * True for a condition on plain columns that can be evaluated before the row is known to be visible. A pattern read from a column cannot:
 * if it is invalid, its error would reveal a hidden row.
 */
function isOnPlain(condition: Condition): boolean {
  return (
    !hasPatternColumn(condition) && columnsOf(condition).every(({ column }) => column === undefined || column.plain !== undefined)
  )
}

function hasPatternColumn(condition: Condition): boolean {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.conditions.some(hasPatternColumn)
    case 'not':
      return hasPatternColumn(condition.condition)
    case 'like':
      return condition.right.kind === 'cell'
    case 'truth':
    case 'compare':
    case 'isNull':
    case 'hasKey':
      return false
    default:
      return unreachable(condition)
  }
}

function idsOf(rows: readonly Row[]): number[] {
  return rows.map(({ id }) => id)
}
