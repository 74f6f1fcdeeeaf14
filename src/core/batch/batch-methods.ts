/** The methods of a batch: which operation each is, and how the members of an item are its input. */
import type { ByotMode } from '../barrier/supplied-tokens.ts'
import type { ParsingContext } from '../execution/context.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { at } from '../util/at.ts'
import { readInput } from '../util/boundary.ts'
import type { MethodName } from './batch-item.ts'
import { parseMethod, readMembers } from './batch-item.ts'
import type { Method, Step } from './batch-step.ts'
import { openMethod, refusedStep } from './batch-step.ts'

/** Opens each method for one batch. An operation becomes batchable by an entry here. */
const METHODS = {
  POST: () =>
    openMethod({
      name: 'POST',
      operation: OPERATIONS.insert,
      members: ['fields', 'tokens', 'tokenization', 'upsert'],
      inputOf: ({ tableName, fields, tokens, tokenization, upsert, byot }) => ({
        table: tableName,
        records: [{ fields, tokens }],
        options: { tokenization, upsert, byot },
      }),
      toValue: (result) => result,
    }),
  PUT: () =>
    openMethod({
      name: 'PUT',
      operation: OPERATIONS.update,
      members: ['ID', 'fields', 'tokens', 'tokenization'],
      inputOf: ({ tableName, ID, fields, tokens, tokenization, byot }) => ({
        ...{ table: tableName, id: ID, fields, tokens },
        options: { tokenization, byot },
      }),
      toValue: (result) => result,
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
    }),
  DELETE: () =>
    openMethod({
      name: 'DELETE',
      operation: OPERATIONS.delete,
      members: ['ID'],
      inputOf: ({ tableName, ID }) => ({ table: tableName, ids: [ID] }),
      toValue: ({ ids }) => ({ id: at(ids, 0), deleted: true as const }),
    }),
} as const satisfies Readonly<Record<MethodName, () => Method<unknown>>>

/** The value of an item of this method: what its operation returns. */
export type MethodValue<M extends MethodName> = ReturnType<(typeof METHODS)[M]> extends Method<infer Value> ? Value : never

/** Returns the step of each item. A malformed item is a step too: it fails when its turn comes. */
export function beginSteps(
  context: ParsingContext,
  items: readonly unknown[],
  byot: ByotMode | undefined,
): Step<MethodValue<MethodName>>[] {
  const opened: Partial<Record<MethodName, Method<MethodValue<MethodName>>>> = {}
  return items.map((item) => {
    let verb = 'Batch'
    try {
      return readInput(() => {
        const name = parseMethod(item)
        opened[name] ??= METHODS[name]()
        const method = opened[name]
        verb = method.verb
        return method.begin(context, readMembers(item, { method: name, members: method.members, byot }))
      })
    } catch (refused) {
      return refusedStep(context, { item, verb, refused })
    }
  })
}
