/** Batch: runs many record operations in one transaction, and records them in one event. It is an operation whose items are operations. */
import { NOT_RUN, type Outcome, SUCCESS } from '../audit/outcome.ts'
import { BYOT_MODES, type ByotMode } from '../barrier/supplied-tokens.ts'
import { Fault, say, VaultError, words } from '../errors.ts'
import { assertOptions, parseByot, parseFlag, parseList } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import type { Operation } from '../execution/operation.ts'
import type { Storage } from '../ports/storage.ts'
import { savepointUnit } from '../unit-of-work/unit-of-work.ts'
import { at } from '../util/at.ts'
import type { BatchItem, MethodName } from './batch-item.ts'
import { RECORDED_ITEM } from './batch-item.ts'
import { beginStep, type MethodValue } from './batch-methods.ts'
import type { Step } from './batch-step.ts'

/** Options of a batch. */
export interface BatchOptions {
  /** Roll back a failing item alone, and go on. Default false: the first failure rolls back all. */
  readonly continueOnError?: boolean
  /** Whether records can, or must, have tokens supplied by the caller. Default DISABLE. */
  readonly byot?: ByotMode
}

/** Input of a batch. */
export interface BatchInput {
  readonly items: readonly BatchItem[]
  readonly options?: BatchOptions
}

/** The response to one item: the result of its operation, or the error that its operation throws. */
export type ItemResponse<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: VaultError }

type Value = MethodValue<MethodName>

/** A parsed batch. */
export interface BatchRequest {
  readonly steps: readonly Step<Value>[]
  readonly continueOnError: boolean
}

/** An item that ran. */
interface Ended {
  readonly response: ItemResponse<Value>
  readonly outcome: Outcome
}

/** Returns the response to each item in order. Without `continueOnError`, throws the first failure, which names the item, and nothing is stored. */
export const batch: Operation<BatchInput, BatchRequest, { responses: ItemResponse<Value>[] }> = {
  action: 'BATCH',
  resourceType: 'VAULT',
  verb: 'Batch',
  recorded: { items: RECORDED_ITEM, continueOnError: 'flag', byot: BYOT_MODES },
  parse({ items, options = {} }, context) {
    assertOptions<BatchOptions>(options, ['continueOnError', 'byot'])
    const continueOnError = parseFlag(options.continueOnError, 'continueOnError')
    const byot = parseByot(options.byot)
    const steps = parseList(context, items, 'items').map((item) => beginStep(context, item, byot))
    context.event.setTables([...new Set(steps.flatMap(({ event }) => event.table ?? []))])
    context.event.setParts(partsOf(steps, []))
    return { steps, continueOnError }
  },
  execute: async (context, request) => ({
    responses: await context.unit.change(({ storage }) => runSteps(context, storage, request)),
  }),
}

/** Runs the steps in order, in an open transaction. */
async function runSteps(
  context: OperationContext,
  storage: Storage,
  { steps, continueOnError }: BatchRequest,
): Promise<ItemResponse<Value>[]> {
  const ended: Ended[] = []
  try {
    for (const run of runsOf(steps)) {
      const together = run.length > 1 ? await runTogether(context, storage, run) : undefined
      if (together !== undefined) ended.push(...together)
      else for (const step of run) await runAlone(context, storage, { step, continueOnError, ended })
    }
    return ended.map(({ response }) => response)
  } finally {
    context.event.setParts(partsOf(steps, ended))
  }
}

/** Yields the steps in runs of neighbors that can run together. */
function* runsOf(steps: readonly Step<Value>[]): Generator<readonly Step<Value>[]> {
  for (let start = 0; start < steps.length; ) {
    let end = start + 1
    while (end < steps.length && at(steps, end).joins(at(steps, end - 1))) end++
    yield steps.slice(start, end)
    start = end
  }
}

/** Runs steps together, and returns how each ended; undefined if one is refused, so that each must run by itself. */
async function runTogether(
  context: OperationContext,
  storage: Storage,
  steps: readonly Step<Value>[],
): Promise<Ended[] | undefined> {
  const unit = savepointUnit(storage)
  try {
    const values = await at(steps, 0).runAll({ ...context, unit }, steps)
    return values.map((value) => ({ response: { ok: true, value }, outcome: SUCCESS }))
  } catch (error) {
    if (!isRefusal(error) || unit.hasChanged) throw error
    return undefined
  }
}

/** One step to run, and the list to add its end to. */
interface NextStep {
  readonly step: Step<Value>
  readonly continueOnError: boolean
  readonly ended: Ended[]
}

/** Runs one step, and adds how it ended. Throws the error of a step that ends the batch. */
async function runAlone(context: OperationContext, storage: Storage, { step, continueOnError, ended }: NextStep): Promise<void> {
  const unit = savepointUnit(storage)
  try {
    const value = await step.run({ ...context, unit })
    ended.push({ response: { ok: true, value }, outcome: SUCCESS })
  } catch (thrown) {
    const index = ended.length
    const { error, outcome } = step.failureOf(thrown)
    ended.push({ response: { ok: false, error }, outcome })
    if (!isRefusal(thrown)) throw thrown
    if (continueOnError && !unit.hasChanged) return
    throw Fault.within(say`Item ${index}: ${words(step.verb)} failed.`, thrown, atItem(thrown, index))
  }
}

/** Returns the details of an error with the position of the item. */
function atItem({ details }: VaultError, index: number): VaultError['details'] {
  return details.length === 0 ? [{ index }] : details.map((detail) => ({ ...detail, index }))
}

/** Returns the parts of the event. A step that did not end was not run. */
function partsOf(steps: readonly Step<Value>[], ended: readonly Ended[]) {
  return steps.map(({ event, resourceType, content }, index) => {
    const { response, outcome = NOT_RUN } = ended[index] ?? {}
    return { event, resourceType, content, outcome, error: response?.ok === false ? response.error : undefined }
  })
}

/**
 * True for an error that is the item's own. After any other the transaction cannot go on: storage is lost, another writer won, or the
 * catalog must be read again. One damaged record is the item's own too.
 */
function isRefusal(error: unknown): error is VaultError {
  return VaultError.isGenuine(error) && (error.httpStatus < 500 || error.code === 'data_loss')
}
