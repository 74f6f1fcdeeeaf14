/** The methods of a batch: which operation each is, and how the members of an item are its input. */
import type { ByotMode } from '../barrier/supplied-tokens.ts'
import { fault } from '../errors.ts'
import type { ParsingContext } from '../execution/context.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { at } from '../util/at.ts'
import { toInputError } from '../util/boundary.ts'
import type { ItemMembers, MethodName, OfMethod } from './batch-item.ts'
import { parseMethod, readMembers, referenceIn } from './batch-item.ts'
import type { Method, Step } from './batch-step.ts'
import { openMethod, refusedStep } from './batch-step.ts'

/** Opens each method for one batch. An operation becomes batchable by an entry here. */
const METHODS = {
  POST: () =>
    openMethod({
      name: 'POST',
      operation: OPERATIONS.insert,
      members: ['fields', 'tokens', 'tokenization', 'allowShownText', 'upsert', 'onConflict'],
      inputOf: ({ tableName, fields, tokens, tokenization, allowShownText, upsert, onConflict, byot }) => ({
        table: tableName,
        records: [{ fields, tokens }],
        options: { tokenization, allowShownText, upsert, onConflict, byot },
      }),
      requestLike: (request, records) => ({ ...request, records }),
      toValue: (result) => result,
      recordOf: ({ records }) => records[0]?.id,
    }),
  PUT: () =>
    openMethod({
      name: 'PUT',
      operation: OPERATIONS.update,
      members: ['ID', 'fields', 'tokens', 'tokenization', 'allowShownText'],
      inputOf: ({ tableName, ID, fields, tokens, tokenization, allowShownText, byot }) => ({
        ...{ table: tableName, id: ID, fields, tokens },
        options: { tokenization, allowShownText, byot },
      }),
      toValue: (result) => result,
      recordOf: ({ id }) => id,
    }),
  GET: () =>
    openMethod({
      name: 'GET',
      operation: OPERATIONS.getOne,
      members: ['ID', 'redaction', 'tokenization', 'downloadURL', 'returnFileMetadata'],
      inputOf({ tableName, ID, redaction, tokenization, downloadURL, returnFileMetadata }) {
        return { table: tableName, id: ID, options: { redaction, tokenization, downloadURL, returnFileMetadata } }
      },
      toValue: (result) => result,
      recordOf: ({ id }) => id,
    }),
  DELETE: () =>
    openMethod({
      name: 'DELETE',
      operation: OPERATIONS.deleteOne,
      members: ['ID'],
      inputOf: ({ tableName, ID }) => ({ table: tableName, id: ID }),
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

/** Returns the step of each item. A malformed item is a step too: it fails when its turn comes. */
export function beginSteps(
  context: ParsingContext,
  items: readonly unknown[],
  byot: ByotMode | undefined,
): Step<MethodValue<MethodName>>[] {
  const opened: Partial<Record<MethodName, OpenedMethod>> = {}
  const steps: Step<MethodValue<MethodName>>[] = []
  for (let position = 0; position < items.length; position++) steps.push(beginStep(items[position], position))
  return steps

  function beginStep(item: unknown, position: number): Step<MethodValue<MethodName>> {
    let verb: string | undefined
    try {
      const name = parseMethod(item)
      opened[name] ??= openedMethod(name, byot)
      const { method, ofMethod } = opened[name]
      verb = method.verb
      const members = readMembers(item, position, ofMethod)
      assertNamesRecord(members, steps)
      return method.begin(context, members)
    } catch (error) {
      return refusedStep(context, { item, verb, refused: toInputError(error) })
    }
  }
}

/** Throws `invalid_request` for the record of an item that deletes it. */
function assertNamesRecord(members: ItemMembers, earlier: readonly Step<unknown>[]): void {
  const reference = referenceIn(members)
  if (reference === undefined || at(earlier, reference).runner.method !== 'DELETE') return
  throw fault('invalid_request')`ID refers to a DELETE item, which leaves no record.`
}
