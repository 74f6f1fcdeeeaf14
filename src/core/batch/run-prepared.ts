/** Runs a batch prepared before its transaction begins, so that only storing is left to it. Source: docs/inside/batches.md. */
import { isRefusal } from '../errors.ts'
import type { OperationContext } from '../execution/context.ts'
import { createYielder } from '../maintenance/yielder.ts'
import type { Storage, StorageReads, TransactionOptions } from '../ports/storage.ts'
import { type ChangingUnit, changeTogether, PREPARED_TOO_EARLY } from '../unit-of-work/changes-together.ts'
import { type Batch, insertBatches, savepointUnit, type TurnChange, type UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at } from '../util/lists.ts'
import { assertNotAborted } from '../util/signal.ts'
import type { Step } from './batch-step.ts'
import {
  clearEnded,
  type Ended,
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
  const yielder = createYielder(context)
  const parts = groups.map((positions) => async (on: UnitOfWork): Promise<readonly Value[]> => {
    await yielder.worked()
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
      yielder,
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

/** True for inserts that run as one. They name no record, so none depends on another. */
export function areInsertsOfOneKind(steps: readonly Step<unknown>[]): boolean {
  const { runner, group } = at(steps, 0)
  if (runner.method !== 'insert' || group === undefined) return false
  for (const step of steps) if (step.runner !== runner || step.group !== group) return false
  return true
}

/**
 * Runs such steps in the unit of the batch, without a transaction around what they read and make. Returns false if one is refused: then
 * nothing is stored, and which one it is must be found out.
 */
export async function runInserts<Value>(
  context: OperationContext,
  ended: Ended<Value>,
  steps: readonly Step<Value>[],
): Promise<boolean> {
  const unit = new NotingUnit(context.unit, ended, steps)
  try {
    const values = await at(steps, 0).runner.runAll({ ...context, unit }, steps)
    for (let index = 0; index < steps.length; index++) ended.responses.push({ ok: true, value: at(values, index) })
    return true
  } catch (error) {
    // What fails after the rows are stored must not store them again.
    if (unit.hasStored || !isRefusal(error)) throw error
    return false
  }
}

/** A unit that notes how the steps ended: the event is made when their rows are handed over, and if it is stored, all have succeeded. */
class NotingUnit implements UnitOfWork {
  readonly storage: StorageReads
  hasStored = false
  readonly #unit: UnitOfWork
  readonly #ended: Ended<unknown>
  readonly #steps: readonly Step<unknown>[]

  constructor(unit: UnitOfWork, ended: Ended<unknown>, steps: readonly Step<unknown>[]) {
    this.storage = unit.storage
    this.#unit = unit
    this.#ended = ended
    this.#steps = steps
  }

  insert(batches: readonly Batch[]): Promise<void> {
    return this.#handOver(() => this.#unit.insert(batches))
  }

  change<T>(work: (unit: UnitOfWork<Storage>) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return this.#handOver(() => this.#unit.change(work, options))
  }

  changeInTurn<T>(key: string, { alone, shared }: TurnChange<T>): Promise<T> {
    return this.#handOver(() => this.#unit.changeInTurn(key, { alone, shared }))
  }

  async #handOver<T>(store: () => Promise<T>): Promise<T> {
    noteSuccess(this.#ended, this.#steps)
    try {
      const result = await store()
      this.hasStored = true
      return result
    } catch (error) {
      // A refused batch runs again. Of any other failure, the event says that the items were rolled back, or may be stored.
      if (isRefusal(error)) clearEnded(this.#ended)
      throw error
    }
  }
}
