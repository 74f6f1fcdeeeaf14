/** Batch: runs many record operations in one transaction, and records them in one event. It is an operation whose items are operations. */
import { NOT_RUN } from '../audit/outcome.ts'
import { BYOT_MODES, type ByotMode } from '../barrier/supplied-tokens.ts'
import { assertOptions, parseByot, parseFlag, parseList } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import type { Operation } from '../execution/operation.ts'
import type { Storage } from '../ports/storage.ts'
import type { BatchItem, MethodName } from './batch-item.ts'
import { RECORDED_ITEM } from './batch-item.ts'
import { beginStep, type MethodValue } from './batch-methods.ts'
import type { Step } from './batch-step.ts'
import { type Ended, type ItemResponse, runSteps } from './run-steps.ts'

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

type Value = MethodValue<MethodName>

/** A parsed batch. */
export interface BatchRequest {
  readonly steps: readonly Step<Value>[]
  readonly continueOnError: boolean
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
    responses: await context.unit.change(({ storage }) => runInTransaction(context, storage, request)),
  }),
}

async function runInTransaction(context: OperationContext, storage: Storage, { steps, continueOnError }: BatchRequest) {
  const ended: Ended<Value>[] = []
  try {
    await runSteps({ context, continueOnError, ended }, storage, steps)
    return ended.map(({ response }) => response)
  } finally {
    context.event.setParts(partsOf(steps, ended))
  }
}

/** Returns the parts of the event. A step that did not end was not run. */
function partsOf(steps: readonly Step<Value>[], ended: readonly Ended<Value>[]) {
  return steps.map((step, index) => {
    const { event, resourceType } = step
    const { response, outcome = NOT_RUN } = ended[index] ?? {}
    const error = response?.ok === false ? response.error : undefined
    return { event, resourceType, outcome, error, content: () => step.content(steps[index - 1]) }
  })
}
