/** Pushes each condition of WHERE and ON down to the earliest stage that outer joins allow. */
import { sourcesOf, splitConjuncts } from '../expressions/columns-of.ts'
import type { Condition } from '../expressions/condition.ts'
import { at as itemAt } from '../util/lists.ts'
import type { Query } from './query.ts'
import type { JoinKind } from './select.ts'

/** The conditions of one join: `on` decides which rows match, `postJoin` is evaluated on the result of the join. */
export interface JoinConditions {
  readonly on: Condition[]
  readonly postJoin: Condition[]
}

/** The conditions of a query. Each is in exactly one list. */
export interface PushedConditions {
  /** By source: evaluated on its rows alone, before any join. */
  readonly own: readonly (readonly Condition[])[]
  readonly steps: readonly JoinConditions[]
}

/** Pushes all conditions down. A condition on a source's own rows is true for them wherever they appear in the result. */
export function pushDownConditions({ sources, joins, where }: Pick<Query, 'sources' | 'joins' | 'where'>): PushedConditions {
  if (joins.length === 0) return { own: [splitConjuncts(where)], steps: [] }
  const own: Condition[][] = sources.map(() => [])
  const steps: JoinConditions[] = joins.map(() => ({ on: [], postJoin: [] }))
  const kinds = joins.map(({ kind }) => kind)
  const lastOuter = kinds.findLastIndex(addsRight) + 1

  for (const condition of splitConjuncts(where)) {
    const referenced = [...sourcesOf(condition)]
    const [source = 0, another] = referenced
    if (another === undefined && !canBeMissing(kinds, source)) itemAt(own, source).push(condition)
    else
      decideAt(
        referenced.reduce((last, one) => Math.max(last, one), lastOuter),
        condition,
      )
  }
  joins.forEach(({ on }, index) => {
    for (const condition of splitConjuncts(on)) {
      const target = ownSource(kinds, index, [...sourcesOf(condition)])
      const conditions = target === undefined ? itemAt(steps, index).on : itemAt(own, target)
      conditions.push(condition)
    }
  })
  return { own, steps }

  /** Adds the condition to the step that joins `source`: part of the join condition of an inner join, or evaluated after an outer join. */
  function decideAt(source: number, condition: Condition): void {
    const step = steps[source - 1]
    if (step === undefined) itemAt(own, 0).push(condition)
    else if (kinds[source - 1] === 'inner') step.on.push(condition)
    else step.postJoin.push(condition)
  }
}

/** The source on whose rows alone a conjunct of ON can be evaluated, or undefined if it must be evaluated on the pair of rows. */
function ownSource(kinds: readonly JoinKind[], index: number, referenced: readonly number[]): number | undefined {
  const [source, another] = referenced
  if (source === undefined || another !== undefined) return undefined
  const kind = kinds[index]
  if (source === index + 1) return kind === 'inner' || kind === 'left' ? source : undefined
  return kind === 'inner' && !canBeMissing(kinds, source) ? source : undefined
}

/** True if an outer join can return rows without this source. Its columns are null there, so a condition cannot be evaluated earlier. */
export function canBeMissing(kinds: readonly JoinKind[], source: number): boolean {
  const own = kinds[source - 1]
  return own === 'left' || own === 'full' || kinds.some((kind, index) => index + 1 > source && addsRight(kind))
}

/** True for joins that return unmatched rows of the right table. */
function addsRight(kind: JoinKind): boolean {
  return kind === 'right' || kind === 'full'
}
