/** Runs a batch of nothing but inserts of one kind as one insert: its rows and its event are handed to the storage together. */
import { isRefusal } from '../errors.ts'
import type { OperationContext } from '../execution/context.ts'
import type { Storage, StorageReads, TransactionOptions } from '../ports/storage.ts'
import type { Batch, TurnChange, UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at } from '../util/lists.ts'
import type { Step } from './batch-step.ts'
import { clearEnded, type Ended, noteSuccess } from './run-steps.ts'

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
