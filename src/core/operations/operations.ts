/** The registry of operations. Sessions, batches, routes and command lines find an operation here by its name. */
import { type Fault, fault, printableName, words } from '../errors.ts'
import type { SessionContext } from '../execution/context.ts'
import type { GivenOf, Operation, RequestOf, ResultOf } from '../execution/operation.ts'
import { perform } from '../execution/perform.ts'
import { deleteFile } from './delete-file.ts'
import { deleteAll, deleteRecords } from './delete-records.ts'
import { detokenize } from './detokenize-tokens.ts'
import { fileStatus, uploadStatus } from './file-status.ts'
import { downloadURL, uploadURL } from './file-urls.ts'
import { getByTokens } from './get-by-tokens.ts'
import { get, getOne } from './get-records.ts'
import { insert } from './insert-records.ts'
import { listEvents } from './list-events.ts'
import { openFile } from './open-file.ts'
import { query } from './query-records.ts'
import { tokenize } from './tokenize-values.ts'
import { update } from './update-record.ts'
import { uploadFile } from './upload-file.ts'

/** Every operation by its name. */
export const OPERATIONS = {
  insert,
  get,
  getOne,
  update,
  delete: deleteRecords,
  deleteAll,
  detokenize,
  tokenize,
  getByTokens,
  query,
  listEvents,
  uploadFile,
  openFile,
  deleteFile,
  fileStatus,
  uploadStatus,
  uploadURL,
  downloadURL,
} as const

type Registry = typeof OPERATIONS

/** The name of an operation. */
export type OperationName = keyof Registry

/** The input of an operation, by its name. */
export type OperationInput<Name extends OperationName> = GivenOf<Registry[Name]>

/** The result of an operation, by its name. */
export type OperationResult<Name extends OperationName> = ResultOf<Registry[Name]>

/** The registry, typed so that a name determines its input and result. */
const BY_NAME: {
  readonly [Name in OperationName]: Operation<OperationInput<Name>, RequestOf<Registry[Name]>, OperationResult<Name>>
} = OPERATIONS

/** Performs an operation by its name, and returns its result. Throws `invalid_request` for an unknown name or an input that is not an object. */
export function performNamed<Name extends OperationName>(
  session: SessionContext,
  name: Name,
  input: OperationInput<Name>,
): Promise<OperationResult<Name>> {
  const problem = inputProblem(name, input)
  return problem === undefined ? perform(session, BY_NAME[name], input) : Promise.reject(problem)
}

/** Returns the error of a name or an input that no operation can parse; undefined if there is none. */
function inputProblem(name: unknown, input: unknown): Fault | undefined {
  if (typeof name !== 'string' || !Object.hasOwn(OPERATIONS, name)) {
    const supported = words(Object.keys(OPERATIONS).join(', '))
    return fault('invalid_request')`Operation ${printableName(name)} does not exist. Supported: ${supported}.`
  }
  if (typeof input === 'object' && input !== null) return undefined
  return fault('invalid_request')`The input of an operation must be an object.`
}
