/** The methods of a batch: which operation each is, and how the members of an item are its input. */
import type { ByotMode } from '../barrier/supplied-tokens.ts'
import { type Fault, fault } from '../errors.ts'
import type { ParsingContext } from '../execution/context.ts'
import { FULL_JSON_VALUES } from '../limits.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { toInputError } from '../util/boundary.ts'
import { at } from '../util/lists.ts'
import type { JsonBudget } from '../values/column-type.ts'
import { createJsonBudget, takeJson } from '../values/json-types.ts'
import { type ItemMembers, type MethodName, type OfMethod, parseMethod, readMembers, referenceIn } from './batch-item.ts'
import { type Method, openMethod, refusedStep, type Step } from './batch-step.ts'

/** Opens each method for one batch. An operation becomes batchable by an entry here. */
const METHODS = {
  insert: () =>
    openMethod({
      name: 'insert',
      operation: OPERATIONS.insert,
      members: ['fields', 'tokens', 'tokenization', 'allowShownText', 'upsert', 'onConflict'],
      inputOf: ({ table, fields, tokens, tokenization, allowShownText, upsert, onConflict, byot }) => ({
        table,
        records: [{ fields, tokens }],
        options: { tokenization, allowShownText, upsert, onConflict, byot },
      }),
      requestLike: (request, records) => ({ ...request, records }),
      toValue: ({ records }) => at(records, 0),
      recordOf: ({ id }) => id,
    }),
  update: () =>
    openMethod({
      name: 'update',
      operation: OPERATIONS.updateOne,
      members: ['id', 'fields', 'tokens', 'tokenization', 'allowShownText', 'ifVersion'],
      inputOf: ({ table, id, fields, tokens, tokenization, allowShownText, byot, ifVersion }) => ({
        table,
        id,
        fields,
        options: { tokens, tokenization, allowShownText, byot, ifVersion },
      }),
      toValue: (result) => result,
      recordOf: ({ id }) => id,
    }),
  get: () =>
    openMethod({
      name: 'get',
      operation: OPERATIONS.getOne,
      members: ['id', 'redaction', 'tokenization', 'downloadTickets', 'returnFileMetadata', 'version'],
      inputOf({ table, id, redaction, tokenization, downloadTickets, returnFileMetadata, version }) {
        return { table, id, options: { redaction, tokenization, downloadTickets, returnFileMetadata, version } }
      },
      toValue: (result) => result,
      recordOf: ({ id }) => id,
    }),
  delete: () =>
    openMethod({
      name: 'delete',
      operation: OPERATIONS.deleteOne,
      members: ['id', 'ifVersion', 'transients'],
      inputOf: ({ table, id, ifVersion, transients }) => ({ table, id, options: { ifVersion, transients } }),
      toValue: (result) => result,
      recordOf: undefined,
    }),
} as const satisfies Readonly<Record<MethodName, () => Method<unknown>>>

/** The value of an item of this method: what its operation returns. */
export type MethodValue<M extends MethodName> = ReturnType<(typeof METHODS)[M]> extends Method<infer Value> ? Value : never

/** A method, and what its items have in common. */
interface OpenedMethod {
  readonly method: Method<MethodValue<MethodName>>
  readonly ofMethod: OfMethod
}

function openedMethod(name: MethodName, byot: ByotMode | undefined): OpenedMethod {
  const method = METHODS[name]()
  return { method, ofMethod: { method: name, foreign: method.foreign, byot } }
}

/** The steps of a batch. */
export interface BatchSteps {
  readonly steps: Step<MethodValue<MethodName>>[]
  /** True if their values have so many members that counting them has taken a part of this turn of the event loop. */
  readonly haveManyMembers: boolean
}

/**
 * Returns the step of each item. A malformed item is a step too: it fails when its turn comes. Throws `limit_exceeded` if all values together have more
 * members than a request can have.
 */
export function beginSteps(context: ParsingContext, items: readonly unknown[], byot: ByotMode | undefined): BatchSteps {
  const opened: Partial<Record<MethodName, OpenedMethod>> = {}
  const steps: Step<MethodValue<MethodName>>[] = []
  const json = createJsonBudget(context.limits)
  let isWithin = true
  for (let position = 0; position < items.length; position++) steps.push(beginStep(items[position], position))
  if (!isWithin) throw tooManyMembers(json)
  return { steps, haveManyMembers: json.left < (FULL_JSON_VALUES - 1) * json.maxMembers }

  function beginStep(item: unknown, position: number): Step<MethodValue<MethodName>> {
    let verb: string | undefined
    try {
      const name = parseMethod(item)
      opened[name] ??= openedMethod(name, byot)
      const { method, ofMethod } = opened[name]
      verb = method.verb
      const members = readMembers(item, position, ofMethod)
      // Values are parsed when their item runs, and again if it runs again, so what all have together is counted here.
      isWithin &&= takeMembers(members.fields, json)
      assertNamesRecord(members, steps)
      return method.begin(context, members)
    } catch (error) {
      return refusedStep(context, { item, verb, refused: toInputError(error) })
    }
  }
}

/** Takes the members of the values of an item from the budget of the batch. Returns false if there are not as many left. */
function takeMembers(fields: unknown, json: JsonBudget): boolean {
  if (typeof fields !== 'object' || fields === null) return true
  for (const value of Object.values(fields))
    if (typeof value === 'object' && value !== null && !takeJson(value, json)) return false
  return true
}

function tooManyMembers({ maxMembers }: JsonBudget): Fault {
  const all = maxMembers * FULL_JSON_VALUES
  return fault(
    'limit_exceeded',
  )`The JSON values of the items have more than ${all} members. Split the batch, or raise limits.maxJsonMembers.`
}

/** Throws `invalid_request` for the record of an item that deletes it. */
function assertNamesRecord(members: ItemMembers, earlier: readonly Step<unknown>[]): void {
  const reference = referenceIn(members)
  if (reference === undefined || at(earlier, reference).runner.method !== 'delete') return
  throw fault('invalid_request')`id refers to an item that deletes its record.`
}
