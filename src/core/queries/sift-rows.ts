/** From rows as storage found them to those that truly belong to a query: judged, filtered on opened values, and stripped to what goes on. */
import type { Barrier } from '../barrier/barrier.ts'
import { mintIds } from '../barrier/record-ids.ts'
import { openColumns } from '../barrier/reveal.ts'
import { allOf, columnsOf, splitConjuncts } from '../expressions/columns-of.ts'
import type { Condition, ValueOf } from '../expressions/condition.ts'
import { compileCondition } from '../expressions/evaluate-condition.ts'
import type { Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { BODY } from '../schema/layout.ts'
import type { SourcePlan } from '../sql/plan.ts'
import { isAlways } from '../sql/plan.ts'
import type { RowGrants } from '../sql/source-access.ts'
import { leastGrants, takesPart } from '../sql/source-access.ts'
import { judgesOf } from '../stores/judge-rows.ts'
import { at } from '../util/at.ts'
import { unreachable } from '../util/unreachable.ts'
import type { HeldRow } from './held-row.ts'

/** Sifts slices of rows. */
export interface Sift {
  /** The physical columns it looks at: all that storage need bring. */
  readonly columns: readonly string[]
  /** The rows among these that take part, no more than `most`. Throws `internal` where a body that must be opened does not open. */
  sift(rows: readonly Row[], most: number): HeldRow[]
}

/** The sift of one source. Conditions are compiled here, once. */
export function createSift(barrier: Barrier, plan: SourcePlan): Sift {
  const conjuncts = splitConjuncts(plan.residual)
  const onPlain = conjuncts.filter(isOnPlain)
  const passesPlain = createTest(allOf(onPlain))
  const passesOpened = createTest(allOf(conjuncts.filter((condition) => !isOnPlain(condition))))
  const evaluator = createRowEvaluator(plan)
  const filtersOpened = plan.isJudged || onPlain.length < conjuncts.length
  const columns = [...passesOpened.columns, ...(plan.isJudged ? plan.source.access.judgedBy : []), ...plan.carried]
  const readsIds = plan.carriesId || passesOpened.readsIds || evaluator.readsIds

  const isVisible = (cellOf: ValueOf): boolean => evaluator.grantsOf(cellOf) !== undefined
  const sift = (rows: readonly Row[], most: number): HeldRow[] => {
    const visible = evaluator.isOnPlain ? onlyPassing(barrier, plan.source.table, { ...evaluator, rows, test: isVisible }) : rows
    const survivors = passesPlain.isAlwaysTrue
      ? visible
      : onlyPassing(barrier, plan.source.table, { ...passesPlain, rows: visible })
    // Where nothing more is decided, no row is opened that will not be answered.
    const opened = filtersOpened ? survivors : survivors.slice(0, most)
    if (opened.length === 0) return []
    const cursor = openColumns(barrier, plan.source.table, opened, columns)
    const ids = readsIds ? mintIds(barrier.ring, plan.source.table, idsOf(opened)) : []
    const buffered: HeldRow[] = []
    let index = 0
    const cellOf: ValueOf = ({ column }) => (column === undefined ? at(ids, index) : cursor.value(column))
    for (; index < opened.length && buffered.length < most; index++) {
      cursor.to(index)
      const grants = evaluator.grantsOf(cellOf)
      if (grants === undefined || !passesOpened.test(cellOf)) continue
      const values = plan.carried.map((column) => cursor.value(column))
      buffered.push({ id: at(opened, index).id, publicId: ids[index], grants, values })
    }
    return buffered
  }
  return { columns: physicalOf([...passesPlain.columns, ...columns]), sift }
}

/** Where the values of these columns stand: the body for all that are sealed. */
function physicalOf(columns: readonly Column[]): string[] {
  return [...new Set(columns.map(({ plain }) => plain ?? BODY))]
}

/** A condition ready to be asked. */
interface RowTest {
  /** True where it lets every row pass. */
  readonly isAlwaysTrue: boolean
  readonly columns: readonly Column[]
  readonly readsIds: boolean
  test(cellOf: ValueOf): boolean
}

function createTest(condition: Condition): RowTest {
  const refs = columnsOf(condition)
  const evaluate = compileCondition(condition)
  return {
    isAlwaysTrue: isAlways(condition),
    columns: refs.flatMap(({ column }) => column ?? []),
    readsIds: refs.some(({ column }) => column === undefined),
    test: (cellOf) => evaluate(cellOf) === true,
  }
}

/** Rows that pass a test on what storage keeps plain: bodies stay shut. */
function onlyPassing(
  barrier: Barrier,
  table: Table,
  { rows, readsIds, test }: Pick<RowTest, 'readsIds' | 'test'> & { readonly rows: readonly Row[] },
): readonly Row[] {
  const cursor = openColumns(barrier, table, rows, [])
  const ids = readsIds ? mintIds(barrier.ring, table, idsOf(rows)) : []
  let current = 0
  const cellOf: ValueOf = ({ column }) => (column === undefined ? at(ids, current) : cursor.value(column))
  return rows.filter((_, index) => {
    current = index
    cursor.to(index)
    return test(cellOf)
  })
}

interface RowEvaluator {
  readonly readsIds: boolean
  /** True where rows are judged by what storage keeps plain: then none that is not there is opened, nor heard of if it is damaged. */
  readonly isOnPlain: boolean
  /** The grants of the row at hand, undefined where it does not exist for this query. */
  grantsOf(cellOf: ValueOf): RowGrants | undefined
}

function createRowEvaluator({ source: { access }, isJudged, demand }: SourcePlan): RowEvaluator {
  if (!isJudged) {
    const grants = leastGrants(access)
    return { readsIds: false, isOnPlain: false, grantsOf: () => grants }
  }
  const conditions = judgesOf(access)
  // Rows in which the same conditions hold share their grants, and so whether they take part.
  const visibility = new Map<RowGrants, boolean>()
  return {
    isOnPlain: access.conditions.every(isOnPlain),
    readsIds: access.conditions.some((condition) => columnsOf(condition).some(({ column }) => column === undefined)),
    grantsOf(cellOf) {
      const grants = access.forRow(conditions.map((evaluate) => evaluate(cellOf)))
      let isVisible = visibility.get(grants)
      if (isVisible === undefined) {
        isVisible = takesPart(grants, demand)
        visibility.set(grants, isVisible)
      }
      return isVisible ? grants : undefined
    },
  }
}

/**
 * True for a condition that can be asked before a row is known to take part. One whose pattern is a column cannot: the
 * pattern may be at fault, and a row that is not there for the caller must not be heard of.
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
