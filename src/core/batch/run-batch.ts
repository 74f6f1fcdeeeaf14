/** Batch: runs many record operations in one transaction, and records them in one event. It is an operation whose items are operations. */
import { NOT_RUN } from '../audit/event.ts'
import { BYOT_MODES, type ByotMode } from '../barrier/supplied-tokens.ts'
import { parseByot, parseFlag, parseList } from '../execution/check-input.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import type { EventPart } from '../execution/event-parts.ts'
import type { Operation } from '../execution/operation.ts'
import { removeFilesOfDeleted } from '../file-store/remove-files.ts'
import type { Storage } from '../ports/storage.ts'
import { abortableUnit, type UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at, required } from '../util/lists.ts'
import { assertOptions } from '../util/options.ts'
import { parseSignal, type Signal } from '../util/signal.ts'
import { type BatchItem, type MethodName, RECORDED_ITEM } from './batch-item.ts'
import { type BatchSteps, beginSteps, type MethodValue } from './batch-methods.ts'
import type { Runner, Step } from './batch-step.ts'
import { keepResponses, readAgain, restoreResponses } from './kept-responses.ts'
import { areInsertsOfOneKind, runPrepared } from './run-prepared.ts'
import { clearEnded, type Ended, type ItemResponse, type Running, runSteps, TOO_MANY_REFUSED } from './run-steps.ts'

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
export interface BatchRequest extends BatchSteps {
  readonly continueOnError: boolean
  readonly signal: Signal | undefined
  /** How each step ended: of the newest attempt. */
  readonly ended: Ended<Value>
}

/** Returns the response to each item in order. Without `continueOnError`, throws the first failure, which names the item, and nothing is stored. */
export const batch: Operation<BatchInput, BatchRequest, { responses: ItemResponse<Value>[] }> = {
  action: 'BATCH',
  resourceType: 'VAULT',
  verb: 'Batch',
  members: ['items', 'options'],
  recorded: { items: RECORDED_ITEM, continueOnError: 'flag', byot: BYOT_MODES, signal: 'omitted' },
  parse({ items, options = {} }, context) {
    assertOptions<BatchOptions>(options, ['continueOnError', 'byot', 'signal'])
    const continueOnError = parseFlag(options.continueOnError, 'continueOnError')
    const signal = parseSignal(options.signal)
    const given = options.byot
    const byot = given === undefined ? undefined : parseByot(given)
    const { steps, haveManyMembers } = beginSteps(context, parseList(context, items, 'items'), byot)
    const ended: Ended<Value> = { responses: [], outcomes: [], events: [] }
    context.event.setTables(tablesOf(steps))
    context.event.setParts(() => partsOf(context, steps, ended))
    return { steps, haveManyMembers, continueOnError, signal, ended }
  },
  async execute(context, { steps, haveManyMembers, continueOnError, signal, ended }) {
    if (haveManyMembers) await context.scheduler.yield()
    // Contents of files are not part of the transaction, so none is removed inside it.
    const inside = { ...context, files: { ...context.files, isInTransaction: true } }
    const unit = abortableUnit(context.unit, signal)
    // In a transaction of others it would save nothing, and what is read would be outside the savepoint of the batch.
    const isOutside = !context.files.isInTransaction
    const running = {
      context: inside,
      isRefused: isOutside && areInsertsOfOneKind(steps),
      continueOnError,
      maxRefused: Number.POSITIVE_INFINITY,
      signal,
      ended,
    }
    const isStored = isOutside && (await runPrepared(running, unit, steps))
    if (!isStored) {
      // In a transaction of others this is a savepoint, and turns are theirs to take.
      const isOver = await runWithin(unit, running, { steps, takesTurns: !isOutside })
      if (!isOver) await runWithin(unit, running, { steps, takesTurns: true })
    }
    const responses = [...ended.responses]
    if (steps.some(({ runner }) => runner.method === 'delete'))
      await removeFilesOfDeleted(context, [...context.layout.tables.values()])
    return { responses }
  },
  once: { removesFiles: true, keep: ({ responses }, { steps }) => keepResponses(responses, steps), restore: respondAgain },
}

/** Returns the responses of a batch whose items were stored before. Those that read are read again. */
async function respondAgain(
  context: OperationContext,
  { steps, continueOnError, ended }: BatchRequest,
  kept: unknown,
): Promise<{ responses: ItemResponse<Value>[] }> {
  clearEnded(ended)
  const responses = restoreResponses<Value>(kept)
  await readAgain({ context, continueOnError, ended }, steps, responses)
  return { responses: responses.map((response) => required(response, 'The response to an item')) }
}

/**
 * Refused items up to which a batch takes no turn of the event loop while the vault holds SQLite's writer. To find one among a thousand others takes
 * some milliseconds, and hundreds take half a second.
 */
const MAX_REFUSED = 2

/** Runs the steps in a transaction. Returns false, with nothing stored, if it takes no turns and many are refused. Source: docs/inside/batches.md. */
async function runWithin(
  unit: UnitOfWork,
  running: Running<Value>,
  { steps, takesTurns }: { readonly steps: readonly Step<Value>[]; readonly takesTurns: boolean },
): Promise<boolean> {
  const work = async ({ storage }: UnitOfWork<Storage>): Promise<void> => {
    clearEnded(running.ended)
    const isHeld = !takesTurns && running.context.scheduler.mayTurn?.() === false
    await runSteps(isHeld ? { ...running, maxRefused: MAX_REFUSED } : running, storage, steps)
  }
  try {
    await unit.change(work, { takesTurns })
    return true
  } catch (error) {
    if (error === TOO_MANY_REFUSED) return false
    throw error
  }
}

/** Returns the tables that the items name, once each, in order. */
function tablesOf(steps: readonly Step<Value>[]): string[] {
  const tables = new Set<string>()
  for (const { event } of steps) if (event.table !== undefined) tables.add(event.table)
  return [...tables]
}

/** Yields the parts of the event. A step that did not end was not run. */
function* partsOf(context: ParsingContext, steps: readonly Step<Value>[], ended: Ended<Value>): Generator<EventPart> {
  const contents = new RecordedContents(context)
  for (let index = 0; index < steps.length; index++) {
    const step = at(steps, index)
    const response = ended.responses[index]
    yield {
      event: ended.events[index] ?? step.event,
      resourceType: step.runner.resourceType,
      outcome: ended.outcomes[index] ?? NOT_RUN,
      error: response?.ok === false ? response.error : undefined,
      content: contents.add(step),
    }
  }
}

/** Collects the recorded inputs of steps in order. */
class RecordedContents {
  readonly #context: ParsingContext
  /** The position of the newest step of each runner that is recorded for itself, or of an earlier step with the same input. */
  readonly #newest = new Map<Runner<unknown>, number>()
  readonly #byText = new Map<string, number>()
  #count = 0

  constructor(context: ParsingContext) {
    this.#context = context
  }

  /** Returns the recorded input of the next step, or the position of an earlier step with the same. */
  add(step: Step<unknown>): string | number {
    const position = this.#count++
    if (step.isAlike) return required(this.#newest.get(step.runner), 'The step that another one is like')
    const text = step.runner.content(this.#context, step)
    const source = this.#byText.get(text)
    this.#newest.set(step.runner, source ?? position)
    if (source !== undefined) return source
    this.#byText.set(text, position)
    return text
  }
}
