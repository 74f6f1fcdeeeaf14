/** Where each condition of WHERE and ON is decided: as early as outer joins allow. */
import { sourcesOf, splitConjuncts } from '../expressions/columns-of.ts'
import type { Condition } from '../expressions/condition.ts'
import { at as itemAt } from '../util/at.ts'
import type { Query } from './query.ts'
import type { JoinKind } from './select.ts'

/** The conditions of one join: `on` makes partners, `after` is decided on what the join answers. */
export interface PlacedStep {
  readonly on: Condition[]
  readonly after: Condition[]
}

/** The conditions of a query, each at its one place. */
export interface Placed {
  /** By source: decided on its rows alone, before any join. */
  readonly own: readonly Condition[][]
  readonly steps: readonly PlacedStep[]
}

/** Places every condition. What is placed on a source's own rows is true of them wherever they appear. */
export function placeConditions({ sources, joins, where }: Pick<Query, 'sources' | 'joins' | 'where'>): Placed {
  const own: Condition[][] = sources.map(() => [])
  const steps: PlacedStep[] = joins.map(() => ({ on: [], after: [] }))
  const kinds = joins.map(({ kind }) => kind)
  const lastOuter = kinds.findLastIndex(addsRight) + 1

  for (const condition of splitConjuncts(where)) {
    const referenced = [...sourcesOf(condition)]
    const [source = 0, another] = referenced
    if (another === undefined && !canBeMissing(kinds, source)) itemAt(own, source).push(condition)
    else decideAt(Math.max(...referenced, lastOuter), condition)
  }
  joins.forEach(({ on }, index) => {
    for (const condition of splitConjuncts(on)) {
      const target = ownSource(kinds, index, [...sourcesOf(condition)])
      const conditions = target === undefined ? itemAt(steps, index).on : itemAt(own, target)
      conditions.push(condition)
    }
  })
  return { own, steps }

  /** At the step of source `place`: as part of an inner join, or right after an outer one. */
  function decideAt(source: number, condition: Condition): void {
    const step = steps[source - 1]
    if (step === undefined) itemAt(own, 0).push(condition)
    else if (kinds[source - 1] === 'inner') step.on.push(condition)
    else step.after.push(condition)
  }
}

/** The source on whose rows alone this part of an ON can be decided, undefined where it takes the pair. */
function ownSource(kinds: readonly JoinKind[], index: number, referenced: readonly number[]): number | undefined {
  const [source, another] = referenced
  if (source === undefined || another !== undefined) return undefined
  const kind = kinds[index]
  if (source === index + 1) return kind === 'inner' || kind === 'left' ? source : undefined
  return kind === 'inner' && !canBeMissing(kinds, source) ? source : undefined
}

/** True where some join answers rows in which this source is missing: what is said of it then is said of nulls. */
export function canBeMissing(kinds: readonly JoinKind[], source: number): boolean {
  const own = kinds[source - 1]
  return own === 'left' || own === 'full' || kinds.some((kind, index) => index + 1 > source && addsRight(kind))
}

/** True for joins that answer rows of their right side without partners. */
function addsRight(kind: JoinKind): boolean {
  return kind === 'right' || kind === 'full'
}
