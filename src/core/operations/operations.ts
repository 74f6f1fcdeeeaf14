/** The registry of operations: whatever names one (sessions, batches, routes, a console) names it here. */
import type { SessionContext } from '../execution/context.ts'
import { deleteAll, deleteRecords } from './delete-records.ts'
import { detokenize } from './detokenize-tokens.ts'
import { get, getOne } from './get-records.ts'
import { insert } from './insert-records.ts'
import type { AnswerOf, GivenOf, Operation, RequestOf } from '../execution/operation.ts'
import { perform } from '../execution/perform.ts'

/** Every operation by its name. */
export const OPERATIONS = { insert, get, getOne, delete: deleteRecords, deleteAll, detokenize } as const

type Registry = typeof OPERATIONS

/** The name of an operation. */
export type OperationName = keyof Registry

/** The same registry, said so that a name, an input and an answer stay together. */
const BY_NAME: {
  readonly [Name in OperationName]: Operation<GivenOf<Registry[Name]>, RequestOf<Registry[Name]>, AnswerOf<Registry[Name]>>
} = OPERATIONS

/** Performs an operation by its name. */
export function performNamed<Name extends OperationName>(
  session: SessionContext,
  name: Name,
  given: GivenOf<Registry[Name]>,
): Promise<AnswerOf<Registry[Name]>> {
  return perform(session, BY_NAME[name], given)
}
