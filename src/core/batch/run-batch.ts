/** Batch: runs many record operations in one transaction, and records them in one event. It is an operation whose items are operations. */
import { NOT_RUN } from '../audit/outcome.ts'
import { BYOT_MODES, type ByotMode } from '../barrier/supplied-tokens.ts'
import { assertOptions, parseByot, parseFlag, parseList } from '../execution/check-input.ts'
import type { ParsingContext } from '../execution/context.ts'
import type { EventPart } from '../execution/event-parts.ts'
import type { Operation } from '../execution/operation.ts'
import { removeFilesOfDeleted } from '../file-store/remove-files.ts'
import { abortableUnit } from '../unit-of-work/abortable-unit.ts'
import { parseSignal, type Signal } from '../util/signal.ts'
import type { BatchItem, MethodName } from './batch-item.ts'
import { RECORDED_ITEM } from './batch-item.ts'
import { beginSteps, type MethodValue } from './batch-methods.ts'
import type { Step } from './batch-step.ts'
import { RecordedContents } from './recorded-contents.ts'
import { type Ended, type ItemResponse, runSteps } from './run-steps.ts'

/** Options of a batch. */
export interface BatchOptions {
  /** Roll back a failing item alone, and go on. Default false: the first failure rolls back all. */
  readonly continueOnError?: boolean
  /** Whether records can, or must, have tokens supplied by the caller. Default DISABLE. */
  readonly byot?: ByotMode
  /** An `AbortSignal`. Aborted before the commit begins, the batch throws `cancelled`, and nothing is stored; later it has no effect. */
  readonly signal?: Signal
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
  readonly signal: Signal | undefined
  /** How each step ended, in order: of the newest attempt. */
  readonly ended: Ended<Value>[]
}

/** Returns the response to each item in order. Without `continueOnError`, throws the first failure, which names the item, and nothing is stored. */
export const batch: Operation<BatchInput, BatchRequest, { responses: ItemResponse<Value>[] }> = {
  action: 'BATCH',
  resourceType: 'VAULT',
  verb: 'Batch',
  recorded: { items: RECORDED_ITEM, continueOnError: 'flag', byot: BYOT_MODES, signal: 'omitted' },
  parse({ items, options = {} }, context) {
    assertOptions<BatchOptions>(options, ['continueOnError', 'byot', 'signal'])
    const continueOnError = parseFlag(options.continueOnError, 'continueOnError')
    const signal = parseSignal(options.signal)
    const given = options.byot
    const byot = given === undefined ? undefined : parseByot(given)
    const steps = beginSteps(context, parseList(context, items, 'items'), byot)
    const ended: Ended<Value>[] = []
    context.event.setTables([...new Set(steps.flatMap(({ event }) => event.table ?? []))])
    context.event.setParts(() => partsOf(context, steps, ended))
    return { steps, continueOnError, signal, ended }
  },
  async execute(context, { steps, continueOnError, signal, ended }) {
    // Contents of files are not part of the transaction, so none is removed inside it.
    const inside = { ...context, files: { ...context.files, isInTransaction: true } }
    const responses = await abortableUnit(context.unit, signal).change(async ({ storage }) => {
      ended.length = 0
      await runSteps({ context: inside, continueOnError, signal, ended }, storage, steps)
      return ended.map(({ response }) => response)
    })
    if (steps.some(({ runner }) => runner.method === 'DELETE'))
      await removeFilesOfDeleted(context, [...context.layout.tables.values()])
    return { responses }
  },
}

/** Returns the parts of the event. A step that did not end was not run. */
function partsOf(context: ParsingContext, steps: readonly Step<Value>[], ended: readonly Ended<Value>[]): EventPart[] {
  const contents = new RecordedContents(context)
  return steps.map((step, index) => {
    const { response, outcome = NOT_RUN, event = step.event } = ended[index] ?? {}
    return {
      event,
      resourceType: step.runner.resourceType,
      outcome,
      error: response?.ok === false ? response.error : undefined,
      content: contents.add(step),
    }
  })
}
