/** The items of a running batch as steps: parsed, or refused already, which running them throws. */
import type { Outcome, ResourceType } from '../audit/event.ts'
import type { VaultError } from '../errors.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import { EventBuilder, recordedInput } from '../execution/event-builder.ts'
import type { ChangedRows, Operation, Untrusted } from '../execution/operation.ts'
import { type NamedOperation, recordedOutcome, withVerbOf } from '../execution/perform.ts'
import { ALONE } from '../unit-of-work/gather.ts'
import { readInput } from '../util/boundary.ts'
import { at, required } from '../util/lists.ts'
import {
  type Compared,
  foreignMembers,
  type ItemMembers,
  isAlike,
  type MethodMember,
  type MethodName,
  RECORDED_ITEM,
  referenceIn,
  toCompared,
} from './batch-item.ts'

/** One item. */
export interface Step<Value> {
  readonly runner: Runner<Value>
  /** The position of its request in the list of the runner. */
  readonly slot: number
  /** What its operation adds to its part of the event. */
  readonly event: EventBuilder
  /** Steps of one runner with the same text can run as one; undefined for a step that runs by itself. */
  readonly group: string | undefined
  /** The same for steps without a group, where all of a batch is looked up before any of it is stored. */
  readonly preparedGroup: string | undefined
  /** The record that its item names: text that is the same for the same record. */
  readonly record: string | undefined
  /** The position of the item whose record is meant. Such a step is bound to the record before it runs. */
  readonly reference: number | undefined
  /** The members of its item; undefined for an item that cannot be read as one of its method, or that is like another and names no record. */
  readonly members: ItemMembers | undefined
  /** True if its item is like that of the newest step of its runner for which this is false. Both are recorded alike. */
  readonly isAlike: boolean
}

/** Thrown by a group of which a step runs by itself only: nothing is stored, and smaller groups run. */
export const RUNS_ALONE = new Error('a step of a group runs by itself')

/** Runs the steps of one method in one batch. */
export interface Runner<Value> {
  readonly method: MethodName | undefined
  readonly resourceType: ResourceType
  /** First word of the errors; undefined for an item without a method, whose errors begin with that of the batch. */
  readonly verb: string | undefined
  /** Returns the step of an item with the id of its record, or with the error of an item that has none. Its event is a new one. */
  bind(context: ParsingContext, step: Step<Value>, record: string | VaultError): Step<Value>
  /** Returns the id of the record that an item inserted, updated or read. */
  recordOf(value: Value): string | undefined
  /** Runs a step, and returns its result. */
  run(context: OperationContext, step: Step<Value>): Promise<Value>
  /** Runs steps of one group as one, and returns their results in order. Throws RUNS_ALONE if one of them must run by itself. */
  runAll(context: OperationContext, steps: readonly Step<Value>[]): Promise<readonly Value[]>
  /** Returns the rows that steps will change, for the batch to lock them. */
  changes(context: OperationContext, steps: readonly Step<Value>[]): Promise<readonly ChangedRows[]>
  /** Returns an error as the operation throws it, and the outcome that the event records. */
  failureOf(context: ParsingContext, error: unknown): { readonly error: VaultError; readonly outcome: Outcome }
  /** Returns the recorded input of a step. */
  content(context: ParsingContext, step: Step<Value>): string
}

/** An operation as a method: how the members of an item are its input, and its result the value of the item. */
export interface MethodDefinition<Given extends object, Request, Result, Value> {
  readonly name: MethodName
  readonly operation: Operation<Given, Request, Result>
  /** The members that belong to the method, beside those of every item. */
  readonly members: readonly MethodMember[]
  inputOf(members: ItemMembers): Untrusted<Given>
  /**
   * Returns the request of items that differ from the one of `request` in their columns and values alone, as `parse` would. Together, requests have
   * a result for each record. Absent where each item is parsed, as of a method whose items name a record.
   */
  readonly requestLike?: (request: Request, records: readonly ItemRecord[]) => Request
  toValue(result: Result): Value
  /** Returns the id of the record of a value; undefined for a method that leaves no record. */
  readonly recordOf: ((value: Value) => string | undefined) | undefined
}

/** The record of an item. */
export type ItemRecord = Pick<ItemMembers, 'fields' | 'tokens'>

/** The method of one batch. */
export interface Method<Value> {
  readonly name: MethodName
  readonly verb: string
  /** The members that do not belong to the method. */
  readonly foreign: readonly MethodMember[]
  /** Returns the step of an item. */
  begin(context: ParsingContext, members: ItemMembers): Step<Value>
}

/**
 * What is kept of an item that is like another: its record, from which its request is made when it runs. All items are kept until the batch
 * ends, and the collector copies what lives. A class, because V8 makes its objects young.
 */
class AlikeItem<Request> implements ItemRecord {
  readonly like: Request
  readonly fields: unknown
  readonly tokens: unknown

  constructor(like: Request, { fields, tokens }: ItemMembers) {
    this.like = like
    this.fields = fields
    this.tokens = tokens
  }
}

/** What a step has beside its runner and what its item says. */
type OwnOfStep = Pick<Step<never>, 'event' | 'slot' | 'group' | 'preparedGroup' | 'members' | 'isAlike'>

/** The step of an item that can be read. A class, for the same reason. */
class ItemStep<Value> implements Step<Value> {
  readonly runner: Runner<Value>
  readonly slot: number
  readonly event: EventBuilder
  readonly group: string | undefined
  readonly preparedGroup: string | undefined
  readonly record: string | undefined
  readonly reference: number | undefined
  readonly members: ItemMembers | undefined
  readonly isAlike: boolean

  constructor(runner: Runner<Value>, item: ItemMembers, { event, slot, group, preparedGroup, members, isAlike }: OwnOfStep) {
    const { table, id } = item
    this.runner = runner
    this.slot = slot
    this.event = event
    this.group = group
    this.preparedGroup = preparedGroup
    // Ids are compared in one case, so that two spellings of one id are never taken for two records.
    this.record = typeof id === 'string' ? `${table} ${id.toLowerCase()}` : undefined
    this.reference = referenceIn(item)
    this.members = members
    this.isAlike = isAlike
  }
}

/** A request, or the error of its item. */
type Parsed<Request> = { readonly request: Request } | { readonly refused: unknown }

/** A step that following ones are compared with, and its request; undefined if that was refused. */
interface Newest<Value, Request> extends Compared {
  readonly step: Step<Value>
  readonly request: Request | undefined
}

/** Returns the method of an operation, for the items of one batch. Only this function knows the type of its requests. */
export function openMethod<Given extends object, Request, Result, Value>({
  name,
  operation,
  members: ownMembers,
  inputOf,
  requestLike,
  toValue,
  recordOf,
}: MethodDefinition<Given, Request, Result, Value>): Method<Value> {
  const { verb, resourceType, asOne } = operation
  const requests: (Request | AlikeItem<Request> | undefined)[] = []
  const refusals = new Map<number, unknown>()
  let newest: Newest<Value, Request> | undefined

  function requestOf({ slot }: Step<Value>): Request {
    if (refusals.has(slot)) throw refusals.get(slot)
    const kept = required(requests[slot], 'The request of an item')
    return kept instanceof AlikeItem ? requestOfAlike(kept.like, [kept]) : kept
  }

  function requestOfAlike(like: Request, records: readonly ItemRecord[]): Request {
    return required(requestLike, 'How a request is made from another')(like, records)
  }

  /** Returns the requests of steps: one for all neighbors that are like the same item. */
  function requestsOf(steps: readonly Step<Value>[]): Request[] {
    const made: Request[] = []
    for (let index = 0; index < steps.length; ) {
      const kept = requests[at(steps, index).slot]
      if (!(kept instanceof AlikeItem)) {
        made.push(requestOf(at(steps, index++)))
        continue
      }
      const records: ItemRecord[] = []
      for (let next: typeof kept | undefined = kept; next !== undefined; next = alikeAt(steps[index], kept)) {
        records.push(next)
        index++
      }
      made.push(requestOfAlike(kept.like, records))
    }
    return made
  }

  /** Returns the item of a step if it is like the same item as another. */
  function alikeAt(step: Step<Value> | undefined, { like }: AlikeItem<Request>): AlikeItem<Request> | undefined {
    const kept = step === undefined ? undefined : requests[step.slot]
    return kept instanceof AlikeItem && kept.like === like ? kept : undefined
  }

  /** Keeps a request, or the error of its item, and returns its slot. */
  function keep(request: Request | AlikeItem<Request> | undefined, refused?: unknown): number {
    const slot = requests.push(request) - 1
    if (request === undefined) refusals.set(slot, refused)
    return slot
  }

  const runner: Runner<Value> = {
    method: name,
    resourceType,
    verb,
    recordOf: (value) => recordOf?.(value),
    bind(context, step, record) {
      const members = required(step.members, 'The members of an item')
      if (typeof record === 'string') return begin(context, { ...members, id: record })
      // Nothing runs, so nothing is added to its event.
      return { ...step, slot: keep(undefined, record), group: undefined, preparedGroup: undefined, reference: undefined }
    },
    run: async (context, step) => toValue(await operation.execute({ ...context, event: step.event }, requestOf(step))),
    async runAll(context, steps) {
      const events = steps.map(({ event }) => event)
      const results = await required(asOne, 'How requests run as one').execute(context, requestsOf(steps), events)
      return results.map((result) => {
        if (result === ALONE) throw RUNS_ALONE
        return toValue(result)
      })
    },
    changes: async (context, steps) => {
      const sound = steps.filter(({ slot }) => !refusals.has(slot))
      return (await asOne?.changes?.(context, requestsOf(sound))) ?? []
    },
    failureOf: (context, error) => failureOf(context, operation, error),
    content: (context, { members }) => recordedInput(context, operation, inputOf(required(members, 'The members of an item'))),
  }

  function begin(context: ParsingContext, members: ItemMembers): Step<Value> {
    if (newest === undefined || !isAlike(newest, members)) return parsed(context, members, false)
    const { request, step } = newest
    if (request === undefined || requestLike === undefined) return parsed(context, members, true)
    const slot = keep(new AlikeItem(request, members))
    const event = new EventBuilder(step.event.table)
    const { group, preparedGroup } = step
    return new ItemStep(runner, members, { event, slot, group, preparedGroup, members: undefined, isAlike: true })
  }

  /** The id of a record that is still to come is unknown to `parse`, which takes it as the id of no record. */
  function parsed(context: ParsingContext, members: ItemMembers, isAlike: boolean): Step<Value> {
    const event = new EventBuilder()
    const given = inputOf(members)
    const found = parsedBy(() => operation.parse(given, { layout: context.layout, limits: context.limits, event }))
    const request = 'request' in found ? found.request : undefined
    const slot = 'request' in found ? keep(found.request) : keep(undefined, found.refused)
    const group = request === undefined ? undefined : sameText(asOne?.keys.batch?.(request), newest?.step.group)
    const isPrepared = request !== undefined && group === undefined
    const preparedGroup = isPrepared ? sameText(asOne?.keys.prepared?.(request), newest?.step.preparedGroup) : undefined
    const step = new ItemStep(runner, members, { event, slot, group, preparedGroup, members, isAlike })
    if (!isAlike) newest = { ...toCompared(members), step, request }
    return step
  }

  return { name, verb, foreign: foreignMembers(ownMembers), begin }
}

/** Returns the group of an item. Most items are of the group of the one before, and have its text: one of their own would be kept for each. */
function sameText(group: string | undefined, before: string | undefined): string | undefined {
  return group === before ? before : group
}

/** Returns what `parse` returns, or what it throws: that is the item's own failure. */
function parsedBy<Request>(parse: () => Request): Parsed<Request> {
  try {
    return { request: readInput(parse) }
  } catch (refused) {
    return { refused }
  }
}

/** An item that cannot be read as one of its method, and its error. */
export interface RefusedItem {
  readonly item: unknown
  /** Of its method; undefined for an item without one. */
  readonly verb: string | undefined
  readonly refused: unknown
}

/** Returns the step of such an item. Running it throws its error. */
export function refusedStep(context: ParsingContext, { item, verb, refused }: RefusedItem): Step<never> {
  const recorded = typeof item === 'object' && item !== null ? recordedInput(context, { recorded: RECORDED_ITEM }, item) : ''
  const runner: Runner<never> = {
    method: undefined,
    resourceType: 'RECORD',
    verb,
    recordOf: () => undefined,
    bind: (_, step) => step,
    run: () => Promise.reject(refused),
    runAll: () => Promise.reject(refused),
    changes: async () => [],
    failureOf: (within, error) => failureOf(within, { verb: verb ?? 'Batch' }, error),
    content: () => recorded,
  }
  return {
    runner,
    slot: 0,
    event: new EventBuilder(),
    group: undefined,
    preparedGroup: undefined,
    record: undefined,
    reference: undefined,
    members: undefined,
    isAlike: false,
  }
}

function failureOf(context: ParsingContext, operation: NamedOperation, error: unknown): ReturnType<Runner<never>['failureOf']> {
  const thrown = withVerbOf(operation, error)
  return { error: thrown, outcome: recordedOutcome(context, operation, { error, thrown }) }
}
