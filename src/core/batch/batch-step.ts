/** The items of a running batch as steps: parsed, or refused already, which running them throws. */
import type { ResourceType } from '../audit/event.ts'
import type { Outcome } from '../audit/outcome.ts'
import type { VaultError } from '../errors.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import { EventBuilder } from '../execution/event-builder.ts'
import type { Operation, Untrusted } from '../execution/operation.ts'
import { type NamedOperation, recordedOutcome, withVerbOf } from '../execution/operation-errors.ts'
import { recordedInput } from '../execution/recorded-content.ts'
import { at, required } from '../util/at.ts'
import { readInput } from '../util/boundary.ts'
import { type ItemMembers, type MethodMember, type MethodName, RECORDED_ITEM, referenceIn } from './batch-item.ts'

/** One item. */
export interface Step<Value> {
  readonly runner: Runner<Value>
  /** The position of its request in the list of the runner. */
  readonly slot: number
  /** What its operation adds to its part of the event. */
  readonly event: EventBuilder
  /** Steps of one runner with the same text can run as one; undefined for a step that runs by itself. */
  readonly group: string | undefined
  /** The record that its item names: text that is the same for the same record. */
  readonly record: string | undefined
  /** The position of the item whose record is meant. Such a step is bound to the record before it runs. */
  readonly reference: number | undefined
  /** The members of its item; undefined for an item that cannot be read as one of its method. */
  readonly members: ItemMembers | undefined
}

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
  /** Runs steps of one group as one, and returns their results in order. */
  runAll(context: OperationContext, steps: readonly Step<Value>[]): Promise<readonly Value[]>
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
  toValue(result: Result): Value
  /** Returns the id of the record of a value; undefined for a method that leaves no record. */
  readonly recordOf: ((value: Value) => string | undefined) | undefined
}

/** The method of one batch. */
export interface Method<Value> {
  readonly name: MethodName
  readonly verb: string
  readonly members: readonly MethodMember[]
  /** Returns the step of an item. */
  begin(context: ParsingContext, members: ItemMembers): Step<Value>
}

/** A request, or the error of its item. */
type Parsed<Request> = { readonly request: Request } | { readonly refused: unknown }

/** Returns the method of an operation, for the items of one batch. Only this function knows the type of its requests. */
export function openMethod<Given extends object, Request, Result, Value>({
  name,
  operation,
  members: ownMembers,
  inputOf,
  toValue,
  recordOf,
}: MethodDefinition<Given, Request, Result, Value>): Method<Value> {
  const { verb, resourceType, together } = operation
  const parsed: Parsed<Request>[] = []
  let newestGroup: string | undefined

  function requestOf({ slot }: Step<Value>): Request {
    const found = at(parsed, slot)
    if ('refused' in found) throw found.refused
    return found.request
  }

  const runner: Runner<Value> = {
    ...{ method: name, resourceType, verb },
    recordOf: (value) => recordOf?.(value),
    bind(context, step, record) {
      const members = required(step.members, 'The members of an item')
      if (typeof record === 'string') return begin(context, { ...members, ID: record })
      // Nothing runs, so nothing is added to its event.
      return { ...step, slot: parsed.push({ refused: record }) - 1, group: undefined, reference: undefined }
    },
    run: async (context, step) => toValue(await operation.execute({ ...context, event: step.event }, requestOf(step))),
    async runAll(context, steps) {
      const events = steps.map(({ event }) => event)
      const results = await required(together, 'How requests run as one').execute(context, steps.map(requestOf), events)
      return steps.map((_, index) => toValue(at(results, index)))
    },
    failureOf: (context, error) => failureOf(context, operation, error),
    content: (context, { members }) => recordedInput(context, operation, inputOf(required(members, 'The members of an item'))),
  }

  /** Returns the group of a request. Most items are of the group of the one before, and have its text: one of their own would be kept for each. */
  function groupOf(found: Parsed<Request>): string | undefined {
    const group = 'request' in found ? together?.groupOf(found.request) : undefined
    if (group !== newestGroup) newestGroup = group
    return newestGroup
  }

  /** The id of a record that is still to come is unknown to `parse`, which takes it as the id of no record. */
  function begin(context: ParsingContext, members: ItemMembers): Step<Value> {
    const event = new EventBuilder()
    const given = inputOf(members)
    const found = parsedBy(() => operation.parse(given, { layout: context.layout, limits: context.limits, event }))
    const { tableName, ID } = members
    return {
      runner,
      event,
      members,
      slot: parsed.push(found) - 1,
      group: groupOf(found),
      // Ids are compared in one case, so that two spellings of one id are never taken for two records.
      record: typeof ID === 'string' ? `${tableName} ${ID.toLowerCase()}` : undefined,
      reference: referenceIn(members),
    }
  }

  return { ...{ name, verb, members: ownMembers }, begin }
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
    ...{ method: undefined, resourceType: 'RECORD', verb },
    recordOf: () => undefined,
    bind: (_, step) => step,
    run: () => Promise.reject(refused),
    runAll: () => Promise.reject(refused),
    failureOf: (within, error) => failureOf(within, { verb: verb ?? 'Batch' }, error),
    content: () => recorded,
  }
  return {
    runner,
    slot: 0,
    event: new EventBuilder(),
    group: undefined,
    record: undefined,
    reference: undefined,
    members: undefined,
  }
}

function failureOf(context: ParsingContext, operation: NamedOperation, error: unknown): ReturnType<Runner<never>['failureOf']> {
  const thrown = withVerbOf(operation, error)
  return { error: thrown, outcome: recordedOutcome(context, operation, { error, thrown }) }
}
