/** Runs the steps of a batch in an open transaction: in groups where that changes no result, otherwise one by one, with rows locked in one order. */
import { type Outcome, SUCCESS } from '../audit/event.ts'
import { keyOfCell } from '../barrier/digest-values.ts'
import { Fault, fault, isRefusal, say, type VaultError, words } from '../errors.ts'
import type { OperationContext } from '../execution/context.ts'
import type { EventBuilder } from '../execution/event-builder.ts'
import { createPace, type Pace } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import type { Layout } from '../schema/layout.ts'
import { type Batch, savepointUnit } from '../unit-of-work/unit-of-work.ts'
import { at, groupBy, required } from '../util/lists.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import { METHOD_NAMES } from './batch-item.ts'
import { RUNS_ALONE, type Runner, type Step } from './batch-step.ts'

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
  if (storage.transactions === 'concurrent' && !lockTogether(steps)) await lockRows()
  const run = running.isRefused ? runHalves : runPart
  for (const part of partsOf(steps, bind)) await run(paced, storage, part)
}

/** Returns the id of the record of an item that ended; an error if it has none, because it failed or was ignored. */
export function recordOf<Value>({ runner }: Step<Value>, response: ItemResponse<Value>, position: number): string | VaultError {
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
    if (error !== RUNS_ALONE && !isRefusal(error)) throw error
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

/** What grouping needs to know of a step. */
interface GroupedStep extends Pick<Step<never>, 'group' | 'record' | 'reference'> {
  readonly runner: Pick<Runner<never>, 'method'>
}

/**
 * Yields the steps in parts, in order. No two steps of a part name one record, unless both only read it, and none means the record of
 * another. So no step of a part can depend on another, except that both want one unique value. A step that cannot be grouped is a part by
 * itself. `bind` returns a step with its record; the steps before its part have run then.
 */
export function* partsOf<S extends GroupedStep>(
  steps: readonly S[],
  bind: (step: S) => S = (step) => step,
): Generator<readonly S[]> {
  let part: S[] = []
  const written = new Set<string>()
  const read = new Set<string>()
  for (let position = 0; position < steps.length; position++) {
    const given = at(steps, position)
    const { reference } = given
    if (reference !== undefined && reference >= position - part.length) {
      yield part
      begin()
    }
    const step = reference === undefined ? given : bind(given)
    const { runner, group, record } = step
    const isReading = runner.method === 'get'
    const isDependent = record !== undefined && (written.has(record) || (!isReading && read.has(record)))
    if (part.length > 0 && (isDependent || group === undefined || part[0]?.group === undefined)) {
      yield part
      begin()
    }
    part.push(step)
    if (record !== undefined) (isReading ? read : written).add(record)
  }
  if (part.length > 0) yield part

  function begin(): void {
    part = []
    written.clear()
    read.clear()
  }
}

/**
 * Returns the positions of the steps of a part in groups, in the order in which they run: first all inserts, and deletions last. A unique
 * value is then in use at least as long as in the order of the request. So if no group is refused, no step would be refused in that order,
 * and the results are the same. Updates keep their order, because the value that one frees can be the next one's.
 */
export function groupsOf(part: readonly GroupedStep[]): readonly (readonly number[])[] {
  const groups: number[][] = []
  for (const method of METHOD_NAMES) {
    const byText = new Map<string | undefined, number[]>()
    let last: { readonly text: string | undefined; readonly positions: number[] } | undefined
    for (let position = 0; position < part.length; position++) {
      const { runner, group: text } = at(part, position)
      if (runner.method !== method) continue
      if (last?.text !== text || last === undefined) {
        const known = method === 'update' ? undefined : byText.get(text)
        last = { text, positions: known ?? [] }
        byText.set(text, last.positions)
        if (known === undefined) groups.push(last.positions)
      }
      last.positions.push(position)
    }
  }
  return groups
}

/** Returns a function that locks the rows that the steps will change, as `lockRowsOf`. Called again, it does nothing more. */
function lockOnce<Value>(context: OperationContext, storage: Storage, steps: readonly Step<Value>[]): () => Promise<void> {
  let locking: Promise<void> | undefined
  return () => {
    locking ??= lockRowsOf(context, storage, steps)
    return locking
  }
}

/** Locks the rows that the steps will change, table by table in the order of ids. */
export async function lockRowsOf<Value>(
  context: OperationContext,
  storage: Storage,
  steps: readonly Step<Value>[],
): Promise<void> {
  if (storage.transactions === 'serial') return
  const byTable = new Map<string, Set<number>>()
  const within = { ...context, unit: savepointUnit(storage) }
  for (const [runner, own] of groupBy(steps.filter(changesRow), (step) => step.runner)) {
    for (const { table, ids } of await runner.changes(within, own)) {
      const { name } = table.physical
      const locked = byTable.get(name) ?? new Set<number>()
      byTable.set(name, locked)
      for (const id of ids) locked.add(id)
    }
  }
  for (const table of [...byTable.keys()].sort())
    await storage.lock({ kind: 'rows', table, ids: [...(byTable.get(table) ?? [])] })
}

/** True for a step that can change a row that exists: one that names a record, or an upsert. */
function changesRow({ runner, group, record }: Step<unknown>): boolean {
  return runner.method === 'insert' ? group === undefined : runner.method !== 'get' && record !== undefined
}

/** True if the storage locks the rows of all steps at once as they are stored, because they run as one group. */
export function lockTogether(steps: readonly Step<unknown>[]): boolean {
  const changing = steps.filter(changesRow)
  if (changing.length < 2) return true
  if (steps.some(({ reference }) => reference !== undefined)) return false
  const [first] = partsOf(steps)
  return first?.length === steps.length && groupsOf(changing).length === 1
}

/** Returns the rows that several steps insert, table by table, in the order of their unique values. Their ids stay. */
export function inOrderOfValues({ tables }: Layout, batches: readonly Batch[]): Batch[] {
  const uniqueOf = new Map<string, readonly string[]>()
  for (const { physical } of tables.values())
    uniqueOf.set(
      physical.name,
      physical.indexes.flatMap(({ unique, columns }) => (unique ? columns : [])),
    )
  const inOrder = [...batches].sort((left, right) => (left.table < right.table ? -1 : 1))
  return inOrder.map(({ table, rows }) => {
    const unique = uniqueOf.get(table) ?? []
    if (unique.length === 0) return { table, rows }
    const keyed = rows.map((row) => ({ row, key: unique.map((column) => keyOfCell(row[column])).join(' ') }))
    keyed.sort((left, right) => (left.key < right.key ? -1 : 1))
    return { table, rows: keyed.map(({ row }) => row) }
  })
}
