/** One item of a running batch: parsed, or refused already, which running it throws. */
import type { ResourceType } from '../audit/event.ts'
import type { Outcome } from '../audit/outcome.ts'
import { areAlike } from '../audit/record-shape.ts'
import type { VaultError } from '../errors.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import { EventBuilder } from '../execution/event-builder.ts'
import type { Operation, Untrusted } from '../execution/operation.ts'
import { type NamedOperation, recordedOutcome, withVerbOf } from '../execution/operation-errors.ts'
import { recordedInput } from '../execution/recorded-content.ts'
import { at, required } from '../util/at.ts'
import { readInput } from '../util/boundary.ts'
import { type ItemMembers, type MethodName, RECORDED_ITEM } from './batch-item.ts'

/** The error of an item, as its operation throws it, and the outcome that the event records. */
export interface ItemFailure {
  readonly error: VaultError
  readonly outcome: Outcome
}

/** One item. */
export interface Step<Value> {
  /** First word of its errors. */
  readonly verb: string
  readonly resourceType: ResourceType
  /** What its operation adds to its part of the event. */
  readonly event: EventBuilder
  /** Returns its recorded input; undefined if it is the same as that of the step before. */
  content(before: Step<unknown> | undefined): string | undefined
  /** Runs its operation, and returns its result. */
  run(context: OperationContext): Promise<Value>
  readonly method: MethodName | undefined
  /** Steps of one method with the same text can run as one; undefined for a step that runs by itself. */
  readonly group: string | undefined
  /** The record that its item names: text that is the same for the same record. */
  readonly record: string | undefined
  /** Runs steps of one group as one, and returns their results in order. */
  runAll(context: OperationContext, steps: readonly Step<unknown>[]): Promise<readonly Value[]>
  /** Returns an error as its operation throws it. */
  failureOf(error: unknown): ItemFailure
}

/** Begins steps of one method. */
export interface Method<Value> {
  /** Returns the step of an item. Throws if the members are not those of the method. */
  begin(context: ParsingContext, members: ItemMembers): Step<Value>
}

/** An operation as a method: how the members of an item are its input, and its result the value of the item. */
export interface MethodDefinition<Given extends object, Request, Result, Value> {
  readonly name: MethodName
  readonly operation: Operation<Given, Request, Result>
  inputOf(members: ItemMembers): Untrusted<Given>
  toValue(result: Result): Value
}

/** Returns the method of an operation. Only this function knows the type of its requests. */
export function createMethod<Given extends object, Request, Result, Value>({
  name,
  operation,
  inputOf,
  toValue,
}: MethodDefinition<Given, Request, Result, Value>): Method<Value> {
  const requests = new WeakMap<Step<unknown>, Request>()
  const begun = new WeakMap<Step<unknown>, ItemMembers>()
  const { together } = operation

  async function runAll(context: OperationContext, steps: readonly Step<unknown>[]): Promise<readonly Value[]> {
    const list = steps.map((step) => required(requests.get(step), 'A parsed request'))
    const events = steps.map(({ event }) => event)
    const results = (await together?.execute(context, list, events)) ?? []
    return steps.map((_, index) => toValue(at(results, index)))
  }

  return {
    begin(context, members) {
      const event = new EventBuilder()
      const given = inputOf(members)
      const request = parsed(() => operation.parse(given, { ...context, event }))
      const step: Step<Value> = {
        ...{ method: name, verb: operation.verb, resourceType: operation.resourceType, event, runAll },
        group: 'value' in request ? together?.groupOf(request.value) : undefined,
        // Ids are compared in one case, so that two spellings of one id are never taken for two records.
        record: typeof members.ID === 'string' ? `${members.tableName} ${members.ID.toLowerCase()}` : undefined,
        content(before) {
          const membersBefore = before === undefined ? undefined : begun.get(before)
          if (membersBefore !== undefined && areAlike(membersBefore, members, RECORDED_ITEM)) return undefined
          return recordedInput(context, operation, given)
        },
        failureOf: (error) => failureOf(context, operation, error),
        async run(inside) {
          if ('refused' in request) throw request.refused
          return toValue(await operation.execute({ ...inside, event }, request.value))
        },
      }
      begun.set(step, members)
      if ('value' in request) requests.set(step, request.value)
      return step
    },
  }
}

/** Returns the step of an item that cannot be read as one of its method. Running it throws. */
export function refusedStep(
  context: ParsingContext,
  operation: NamedOperation & Pick<Operation<never, never, never>, 'recorded'>,
  { item, refused }: { readonly item: unknown; readonly refused: unknown },
): Step<never> {
  const content = typeof item === 'object' && item !== null ? recordedInput(context, operation, item) : ''
  return {
    ...{ verb: operation.verb, resourceType: 'RECORD', event: new EventBuilder() },
    ...{ method: undefined, group: undefined, record: undefined },
    content: () => content,
    failureOf: (error) => failureOf(context, operation, error),
    run: () => Promise.reject(refused),
    runAll: () => Promise.reject(refused),
  }
}

function failureOf(context: ParsingContext, operation: NamedOperation, error: unknown): ItemFailure {
  const thrown = withVerbOf(operation, error)
  return { error: thrown, outcome: recordedOutcome(context, operation, { error, thrown }) }
}

/** Returns what `parse` returns, or what it throws: that is the item's own failure. */
function parsed<T>(parse: () => T): { readonly value: T } | { readonly refused: unknown } {
  try {
    return { value: readInput(parse) }
  } catch (error) {
    return { refused: error }
  }
}
