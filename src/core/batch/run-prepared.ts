/** Runs a long batch with its groups prepared before the transaction begins, so that only storing is left to it. Source: docs/decisions/0082. */
import { SUCCESS } from '../audit/outcome.ts'
import { isRefusal } from '../errors.ts'
import { changeTogether, PREPARED_TOO_EARLY } from '../unit-of-work/changes-together.ts'
import { savepointUnit, type UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at } from '../util/at.ts'
import { assertNotAborted } from '../util/signal.ts'
import type { Step } from './batch-step.ts'
import { groupsOf, partsOf } from './group-steps.ts'
import type { Running } from './run-steps.ts'

/** Items from which on a batch is prepared. A shorter one holds the writer for a moment in any case. */
const MIN_STEPS = 64

/**
 * Runs the steps as one change of the unit, and adds how each ended. Returns false, with nothing stored, if they depend on each other, or if one
 * is refused: then they are to run in a transaction. Items that read do so in the transaction.
 */
export async function runPrepared<Value>(
  { context, signal, ended }: Running<Value>,
  unit: UnitOfWork,
  steps: readonly Step<Value>[],
): Promise<boolean> {
  if (!isOnePart(steps)) return false
  let progress: 'preparing' | 'storing' | 'stored' = 'preparing'
  const watched: UnitOfWork = {
    ...unit,
    async change(work) {
      progress = 'storing'
      const result = await unit.change(work)
      progress = 'stored'
      return result
    },
  }
  const groups = groupsOf(steps)
  const parts = groups.map((positions) => async (on: UnitOfWork): Promise<readonly Value[]> => {
    assertNotAborted(signal)
    const group = positions.map((position) => at(steps, position))
    const { runner } = at(group, 0)
    if (runner.method !== 'GET') return runner.runAll({ ...context, unit: on }, group)
    return on.change(({ storage }) => runner.runAll({ ...context, unit: savepointUnit(storage) }, group))
  })
  const end = (): void => {
    for (const list of Object.values(ended)) list.length = 0
    for (const { event } of steps) {
      ended.outcomes.push(SUCCESS)
      ended.events.push(event)
    }
  }
  try {
    const values = await changeTogether(watched, parts, end)
    for (const [index, positions] of groups.entries())
      for (const [k, position] of positions.entries())
        ended.responses[position] = { ok: true, value: at(at(values, index), k) }
    return true
  } catch (error) {
    if (progress === 'preparing' || (progress === 'storing' && (error === PREPARED_TOO_EARLY || isRefusal(error)))) return false
    throw error
  }
}

/** True if no step depends on another, and each can be grouped. */
function isOnePart(steps: readonly Step<unknown>[]): boolean {
  if (steps.length < MIN_STEPS || steps.some(({ group, reference }) => group === undefined || reference !== undefined)) return false
  const [first] = partsOf(steps)
  return first?.length === steps.length
}
