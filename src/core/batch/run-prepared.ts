/** Runs a long batch with its groups prepared before the transaction begins, so that only storing is left to it. Source: docs/inside/batches.md. */
import { isRefusal } from '../errors.ts'
import { createPace } from '../pace/pace.ts'
import { type ChangingUnit, changeTogether, PREPARED_TOO_EARLY } from '../unit-of-work/changes-together.ts'
import { insertBatches, savepointUnit, type UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at } from '../util/lists.ts'
import { assertNotAborted } from '../util/signal.ts'
import type { Step } from './batch-step.ts'
import { groupsOf, partsOf } from './group-steps.ts'
import { inOrderOfValues, lockRowsOf, lockTogether } from './lock-order.ts'
import { noteSuccess, type Running } from './run-steps.ts'

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
  const groups = groupsOfWhole(steps)
  if (groups === undefined) return false
  // The items were parsed in this turn.
  await context.scheduler.yield()
  let progress: 'preparing' | 'storing' | 'stored' = 'preparing'
  const watched: ChangingUnit = {
    storage: unit.storage,
    async change(work) {
      progress = 'storing'
      const result = await unit.change(work)
      progress = 'stored'
      return result
    },
  }
  const pace = createPace(context)
  const parts = groups.map((positions) => async (on: UnitOfWork): Promise<readonly Value[]> => {
    await pace.worked()
    assertNotAborted(signal)
    const group = positions.map((position) => at(steps, position))
    const first = at(group, 0)
    const { runner } = first
    if (first.group === undefined && group.length === 1) return [await runner.run({ ...context, unit: on }, first)]
    if (runner.method !== 'get') return runner.runAll({ ...context, unit: on }, group)
    return on.change(({ storage }) => runner.runAll({ ...context, unit: savepointUnit(storage) }, group))
  })
  try {
    const values = await changeTogether(watched, parts, {
      pace,
      async insert({ storage }, batches) {
        if (storage.lockRows === undefined) return insertBatches(storage, batches)
        if (!lockTogether(steps)) await lockRowsOf(context, storage, steps)
        await insertBatches(storage, inOrderOfValues(context.layout, batches))
      },
      end: () => noteSuccess(ended, steps),
    })
    for (const [index, positions] of groups.entries())
      for (const [k, position] of positions.entries()) ended.responses[position] = { ok: true, value: at(at(values, index), k) }
    return true
  } catch (error) {
    if (progress === 'preparing' || (progress === 'storing' && (error === PREPARED_TOO_EARLY || isRefusal(error)))) return false
    throw error
  }
}

/** Returns the positions of the steps in groups, in the order in which they run; undefined if they are few, or if one can depend on another. */
function groupsOfWhole(steps: readonly Step<unknown>[]): readonly (readonly number[])[] | undefined {
  if (steps.length < MIN_STEPS || steps.some(({ reference }) => reference !== undefined)) return undefined
  if (steps.every(({ runner }) => runner.method === 'insert')) return groupsOfInserts(steps)
  const [first] = partsOf(steps)
  return first?.length === steps.length ? groupsOf(steps) : undefined
}

/**
 * Those that insert go first, as in any part. Upserts, and inserts that can be left out, keep their order: one that meets a record that was written
 * after it was looked up is not stored, also if that is a record of the same batch. Neighbors of one prepared group run as one.
 */
function groupsOfInserts(steps: readonly Step<unknown>[]): readonly (readonly number[])[] {
  const inserting: number[] = []
  const others: number[][] = []
  let before: string | undefined
  for (const [position, { group, preparedGroup }] of steps.entries()) {
    if (group !== undefined) {
      inserting.push(position)
      continue
    }
    if (preparedGroup !== undefined && preparedGroup === before) others.at(-1)?.push(position)
    else others.push([position])
    before = preparedGroup
  }
  const groups = groupsOf(inserting.map((position) => at(steps, position)))
  return [...groups.map((group) => group.map((index) => at(inserting, index))), ...others]
}
