/** Runs a batch prepared before its transaction begins, so that only storing is left to it. Source: docs/inside/batches.md. */
import { isRefusal } from '../errors.ts'
import { createPace } from '../pace/pace.ts'
import { changeTogether, PREPARED_TOO_EARLY } from '../unit-of-work/changes-together.ts'
import { insertBatches, savepointUnit, type UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at } from '../util/lists.ts'
import { assertNotAborted } from '../util/signal.ts'
import { RUNS_ALONE, type Step } from './batch-step.ts'
import {
  clearEnded,
  groupsOf,
  inOrderOfValues,
  lockRowsOf,
  lockTogether,
  noteSuccess,
  partsOf,
  type Running,
} from './run-steps.ts'

/** Items from which on a batch is prepared. A shorter one holds the writer for a moment in any case. */
const MIN_STEPS = 64

/** Where a batch is that was prepared. */
type Progress = 'preparing' | 'storing' | 'stored'

/**
 * Runs the steps as one change of the unit, and adds how each ended. Returns false, with nothing stored, if they depend on each other, or if one
 * is refused: then they are to run in a transaction. Items that read do so in the transaction. Inserts of one kind are one insert, without a
 * transaction around it: its rows and its event are handed to the storage together.
 */
export async function runPrepared<Value>(
  running: Running<Value>,
  unit: UnitOfWork,
  steps: readonly Step<Value>[],
): Promise<boolean> {
  const { ended } = running
  const areInserts = areInsertsOfOneKind(steps)
  const groups = areInserts ? [[...steps.keys()]] : groupsOfWhole(steps)
  if (groups === undefined) return false
  const batch: { progress: Progress } = { progress: 'preparing' }
  const watched = watchedUnit(unit, (next) => {
    batch.progress = next
    // The event of one insert is made when its rows are handed over. If it is stored, all have succeeded.
    if (areInserts && next === 'storing') noteSuccess(ended, steps)
  })
  try {
    const values = await (areInserts
      ? Promise.all([runGroup(running, watched, steps)])
      : changeGroups(running, watched, { steps, groups }))
    for (const [index, positions] of groups.entries())
      for (const [k, position] of positions.entries()) ended.responses[position] = { ok: true, value: at(at(values, index), k) }
    return true
  } catch (error) {
    // What fails after it was stored must not be stored again. Of a failed transaction, the event says that the items were rolled back, or may be stored.
    const canRunAgain = error === PREPARED_TOO_EARLY || error === RUNS_ALONE || isRefusal(error)
    const isPreparing = batch.progress === 'preparing' && !areInserts
    if (batch.progress === 'stored' || !(canRunAgain || isPreparing)) throw error
    clearEnded(ended)
    return false
  }
}

/** True for inserts that run as one. They name no record, so none depends on another. */
export function areInsertsOfOneKind(steps: readonly Step<unknown>[]): boolean {
  const { runner, group } = at(steps, 0)
  if (runner.method !== 'insert' || group === undefined) return false
  for (const step of steps) if (step.runner !== runner || step.group !== group) return false
  return true
}

/** Returns the unit, which says how far it is. */
function watchedUnit(unit: UnitOfWork, note: (progress: Progress) => void): UnitOfWork {
  async function store<T>(stored: () => Promise<T>): Promise<T> {
    note('storing')
    const result = await stored()
    note('stored')
    return result
  }
  return {
    storage: unit.storage,
    insert: (batches) => store(() => unit.insert(batches)),
    change: (work, options) => store(() => unit.change(work, options)),
    changeInTurn: (key, turn) => store(() => unit.changeInTurn(key, turn)),
  }
}

/** Prepares the groups one after the other, and stores them in one change. */
async function changeGroups<Value>(
  running: Running<Value>,
  unit: UnitOfWork,
  { steps, groups }: { readonly steps: readonly Step<Value>[]; readonly groups: readonly (readonly number[])[] },
): Promise<(readonly Value[])[]> {
  const { context, signal, ended } = running
  // The items were parsed in this turn.
  await context.scheduler.yield()
  const pace = createPace(context)
  const parts = groups.map((positions) => async (on: UnitOfWork): Promise<readonly Value[]> => {
    await pace.worked()
    assertNotAborted(signal)
    const group = positions.map((position) => at(steps, position))
    if (at(group, 0).runner.method !== 'get') return runGroup(running, on, group)
    return on.change(({ storage }) => runGroup(running, savepointUnit(storage), group))
  })
  return changeTogether(unit, parts, {
    pace,
    async insert({ storage }, batches) {
      if (storage.transactions === 'serial') return insertBatches(storage, batches)
      if (!lockTogether(steps)) await lockRowsOf(context, storage, steps)
      await insertBatches(storage, inOrderOfValues(context.layout, batches))
    },
    end: () => noteSuccess(ended, steps),
  })
}

/** Runs the steps of a group as one. One without a group runs by itself. */
async function runGroup<Value>(
  { context }: Running<Value>,
  unit: UnitOfWork,
  group: readonly Step<Value>[],
): Promise<readonly Value[]> {
  const first = at(group, 0)
  const { runner } = first
  if (first.group === undefined && group.length === 1) return [await runner.run({ ...context, unit }, first)]
  return runner.runAll({ ...context, unit }, group)
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
