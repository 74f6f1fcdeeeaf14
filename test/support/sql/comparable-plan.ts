/** A plan that can be compared with another one. */
import type { Candidates, OrderedKeys } from '../../../src/core/sql/candidates.ts'
import type { Plan, PlanStrategy, SourcePlan } from '../../../src/core/sql/plan.ts'

/** Returns the plan without the tests of patterns, which are functions: two of them are never equal. The patterns are in its conditions. */
export function comparablePlan(plan: Plan): Plan {
  return {
    ...plan,
    first: ofSource(plan.first),
    steps: plan.steps.map((step) => ({ ...step, right: ofSource(step.right) })),
    strategy: ofStrategy(plan.strategy),
  }
}

function ofSource(source: SourcePlan): SourcePlan {
  return { ...source, candidates: source.candidates.map(withoutTests) }
}

function ofStrategy(strategy: PlanStrategy): PlanStrategy {
  if (strategy.kind === 'heads') return { ...strategy, candidates: strategy.candidates.map(keysOf) }
  if (strategy.kind !== 'sorted' || strategy.keys === undefined) return strategy
  return { ...strategy, keys: keysOf(strategy.keys) }
}

function keysOf({ column, index, ranges }: OrderedKeys): OrderedKeys {
  return { column, index, ranges }
}

function withoutTests(candidates: Candidates): Candidates {
  return { ...candidates, tests: [] }
}
