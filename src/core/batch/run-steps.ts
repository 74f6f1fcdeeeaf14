/** Runs the steps of a batch in an open transaction: in groups where that changes no result, and otherwise one by one. */
import { type Outcome, SUCCESS } from '../audit/outcome.ts'
import { Fault, fault, isRefusal, say, type VaultError, words } from '../errors.ts'
import type { OperationContext } from '../execution/context.ts'
import type { EventBuilder } from '../execution/event-builder.ts'
import { createPace, type Pace } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import { savepointUnit } from '../unit-of-work/unit-of-work.ts'
import { at, required } from '../util/lists.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import type { Step } from './batch-step.ts'
import { groupsOf, partsOf } from './group-steps.ts'
import { lockOnce, lockTogether } from './lock-order.ts'

/** The response to one item: the result of its operation, or the error that its operation throws. */
export type ItemResponse<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: VaultError }

/** The steps that ran, in order. Lists side by side: an object for each step would live as long as the batch. */
export interface Ended<Value> {
  readonly responses: ItemResponse<Value>[]
  readonly outcomes: Outcome[]
  /** What the operation of each added to its part of the event. */
  readonly events: EventBuilder[]
}

/** Forgets the steps that ended. */
export function clearEnded(ended: Ended<unknown>): void {
  for (const list of Object.values(ended)) list.length = 0
}

/** Notes that all steps have succeeded, in place of how they ended before. Their responses are still to come. */
export function noteSuccess(ended: Ended<unknown>, steps: readonly Step<unknown>[]): void {
  clearEnded(ended)
  for (const { event } of steps) {
    ended.outcomes.push(SUCCESS)
    ended.events.push(event)
  }
}

/** A running batch. */
export interface Running<Value> {
  readonly context: OperationContext
  /** True if the steps have run as one, and one was refused. */
  readonly isRefused: boolean
  readonly continueOnError: boolean
  /** Items that can be refused, where the batch goes on. With more it ends with TOO_MANY_REFUSED. */
  readonly maxRefused: number
  readonly signal: Signal | undefined
  /** How each step ended. Steps that run are added. */
  readonly ended: Ended<Value>
}

/** Ends a batch that has more refused items than it may have. */
export const TOO_MANY_REFUSED = new Error('a batch has more refused items than it may have')

/** A running batch that gives the event loop its turns between its parts, and that locks its rows at most once. */
interface Paced<Value> extends Running<Value> {
  readonly pace: Pace
  /** The items that were refused so far. */
  readonly refused: { count: number }
  lockRows(): Promise<void>
}

/** Runs the steps, and adds how each ended. Throws the error of a step that ends the batch. */
export async function runSteps<Value>(running: Running<Value>, storage: Storage, steps: readonly Step<Value>[]): Promise<void> {
  const bind = (step: Step<Value>) => {
    const earlier = required(step.reference, 'The item that a step refers to')
    return step.runner.bind(running.context, step, recordOf(at(steps, earlier), at(running.ended.responses, earlier), earlier))
  }
  const lockRows = lockOnce(running.context, storage, steps)
  const paced = { ...running, pace: createPace(running.context), refused: { count: 0 }, lockRows }
  if (storage.lockRows !== undefined && !lockTogether(steps)) await lockRows()
  const run = running.isRefused ? runHalves : runPart
  for (const part of partsOf(steps, bind)) await run(paced, storage, part)
}

/** Returns the id of the record of an item that ended; an error if it has none, because it failed or was ignored. */
function recordOf<Value>({ runner }: Step<Value>, response: ItemResponse<Value>, position: number): string | VaultError {
  const id = response.ok ? runner.recordOf(response.value) : undefined
  return (
    id ?? fault('not_found')`id refers to the record of item ${position}, which ${words(response.ok ? 'was ignored' : 'failed')}.`
  )
}

/** Runs a part as a whole. If a step is refused, runs one half after the other. */
async function runPart<Value>(running: Paced<Value>, storage: Storage, part: readonly Step<Value>[]): Promise<void> {
  await running.pace.worked()
  assertNotAborted(running.signal)
  if (part.length === 1) return runAlone(running, storage, at(part, 0))
  const values = await tryGroups(running, storage, part)
  if (values === undefined) return runHalves(running, storage, part)
  for (let index = 0; index < part.length; index++) addSuccess(running.ended, at(part, index), required(values[index]))
}

/** Runs one half of a part after the other: in the end, a step that is refused is alone. */
async function runHalves<Value>(running: Paced<Value>, storage: Storage, part: readonly Step<Value>[]): Promise<void> {
  // What the part had locked by itself is free again.
  await running.lockRows()
  const half = Math.ceil(part.length / 2)
  await runPart(running, storage, part.slice(0, half))
  if (half < part.length) await runPart(running, storage, part.slice(half))
}

function addSuccess<Value>(ended: Ended<Value>, { event }: Step<Value>, value: Value): void {
  ended.responses.push({ ok: true, value })
  ended.outcomes.push(SUCCESS)
  ended.events.push(event)
}

/** Runs the groups of a part in a savepoint, and returns the value of each step; undefined if one is refused, and nothing is stored. */
async function tryGroups<Value>(
  { context, pace }: Paced<Value>,
  storage: Storage,
  part: readonly Step<Value>[],
): Promise<Value[] | undefined> {
  try {
    return await storage.transaction(async (inner) => {
      const values: Value[] = []
      for (const positions of groupsOf(part)) {
        const group = positions.map((position) => at(part, position))
        const results = await at(group, 0).runner.runAll({ ...context, unit: savepointUnit(inner) }, group)
        for (let index = 0; index < positions.length; index++) values[at(positions, index)] = at(results, index)
        await pace.worked()
      }
      return values
    })
  } catch (error) {
    if (!isRefusal(error)) throw error
    return undefined
  }
}

/** Runs one step, and adds how it ended. */
async function runAlone<Value>(running: Paced<Value>, storage: Storage, step: Step<Value>): Promise<void> {
  const { context, continueOnError, maxRefused, refused, ended } = running
  const unit = savepointUnit(storage)
  try {
    addSuccess(ended, step, await step.runner.run({ ...context, unit }, step))
  } catch (thrown) {
    const index = ended.responses.length
    const { error, outcome } = step.runner.failureOf(context, thrown)
    ended.responses.push({ ok: false, error })
    ended.outcomes.push(outcome)
    ended.events.push(step.event)
    if (!isRefusal(thrown)) throw thrown
    if (continueOnError && !unit.hasChanged) {
      if (++refused.count > maxRefused) throw TOO_MANY_REFUSED
      return
    }
    const { verb } = step.runner
    const place = verb === undefined ? say`Item ${index}:` : say`Item ${index}: ${words(verb)} failed.`
    throw Fault.within(place, thrown, atItem(thrown, index))
  }
}

/** Returns the details of an error with the position of the item. */
function atItem({ details }: VaultError, index: number): VaultError['details'] {
  return details.length === 0 ? [{ index }] : details.map((detail) => ({ ...detail, index }))
}
