/** The methods of a batch: which operation each is, and how the members of an item are its input. */
import type { ByotMode } from '../barrier/supplied-tokens.ts'
import { parseFlag } from '../execution/check-input.ts'
import type { ParsingContext } from '../execution/context.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { required } from '../util/at.ts'
import { readInput } from '../util/boundary.ts'
import type { MethodMember, MethodName } from './batch-item.ts'
import { parseMethod, RECORDED_ITEM, readMembers } from './batch-item.ts'
import type { Method, Step } from './batch-step.ts'
import { createMethod, refusedStep } from './batch-step.ts'

/** A method, its members, and the verb of its errors. */
interface BatchMethod<Value> extends Method<Value> {
  readonly verb: string
  readonly members: readonly MethodMember[]
}

const { insert, update, getOne, delete: deleteRecords } = OPERATIONS

/** An operation becomes batchable by an entry here. */
const METHODS = {
  POST: {
    verb: insert.verb,
    members: ['fields', 'tokens', 'tokenization', 'upsert'],
    ...createMethod({
      name: 'POST',
      operation: insert,
      inputOf: ({ tableName, fields, tokens, tokenization, upsert, byot }) => ({
        table: tableName,
        records: [{ fields, tokens }],
        options: { tokenization, upsert, byot },
      }),
      toValue: (result) => result,
    }),
  },
  PUT: {
    verb: update.verb,
    members: ['ID', 'fields', 'tokens', 'tokenization'],
    ...createMethod({
      name: 'PUT',
      operation: update,
      inputOf: ({ tableName, ID, fields, tokens, tokenization, byot }) => ({
        table: tableName,
        id: ID,
        fields,
        tokens,
        options: { tokenization, byot },
      }),
      toValue: (result) => result,
    }),
  },
  GET: {
    verb: getOne.verb,
    members: ['ID', 'redaction', 'tokenization', 'downloadURL', 'returnFileMetadata'],
    ...createMethod({
      name: 'GET',
      operation: getOne,
      inputOf({ tableName, ID, redaction, tokenization, downloadURL, returnFileMetadata }) {
        parseFlag(downloadURL, 'downloadURL')
        parseFlag(returnFileMetadata, 'returnFileMetadata')
        return { table: tableName, id: ID, options: { redaction, tokenization } }
      },
      toValue: (result) => result,
    }),
  },
  DELETE: {
    verb: deleteRecords.verb,
    members: ['ID'],
    ...createMethod({
      name: 'DELETE',
      operation: deleteRecords,
      inputOf: ({ tableName, ID }) => ({ table: tableName, ids: [ID] }),
      toValue: ({ ids: [id] }) => ({ id: required(id, 'The id of a deleted record'), deleted: true as const }),
    }),
  },
} as const satisfies Readonly<Record<MethodName, BatchMethod<unknown>>>

/** The value of an item of this method: what its operation returns. */
export type MethodValue<M extends MethodName> = (typeof METHODS)[M] extends Method<infer Value> ? Value : never

/** Returns the step of an item. An item that is malformed is a step too: it fails when its turn comes. */
export function beginStep(context: ParsingContext, item: unknown, byot: ByotMode): Step<MethodValue<MethodName>> {
  let verb = 'Batch'
  try {
    return readInput(() => {
      const name = parseMethod(item)
      const method: BatchMethod<MethodValue<MethodName>> = METHODS[name]
      verb = method.verb
      return method.begin(context, readMembers(item, { method: name, members: method.members, byot }))
    })
  } catch (refused) {
    return refusedStep(context, { verb, recorded: RECORDED_ITEM }, { item, refused })
  }
}
