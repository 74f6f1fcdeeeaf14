/** Performs an operation by its name. Routes and command lines find every operation here. */
import { fault, printableName, words } from '../errors.ts'
import type { SessionContext } from '../execution/context.ts'
import { type Description, describe } from '../execution/describe.ts'
import type { PerformOptions } from '../execution/once.ts'
import type { GivenOf, Operation, RequestOf, ResultOf } from '../execution/operation.ts'
import { perform } from '../execution/perform.ts'
import { DESCRIPTIONS } from '../operations/descriptions.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { batch } from './run-batch.ts'

/** Every operation by its name, and every description of what a caller knows. */
const ALL_OPERATIONS = { ...OPERATIONS, ...DESCRIPTIONS, batch } as const

type Registry = typeof ALL_OPERATIONS

/** The name of an operation. */
export type OperationName = keyof Registry

/** The input of an operation, by its name. */
export type OperationInput<Name extends OperationName> =
  Registry[Name] extends Description<infer Given extends object, infer _Result> ? Given : GivenOf<Registry[Name]>

/** The result of an operation, by its name. */
export type OperationResult<Name extends OperationName> =
  Registry[Name] extends Description<infer _Given, infer Result> ? Result : ResultOf<Registry[Name]>

/** The registry, typed so that a name determines its input and result. */
const BY_NAME: {
  readonly [Name in OperationName]:
    | Operation<OperationInput<Name>, RequestOf<Registry[Name]>, OperationResult<Name>>
    | Description<OperationInput<Name>, OperationResult<Name>>
} = ALL_OPERATIONS

/** Performs an operation by its name, and returns its result. Throws `invalid_request` for an unknown name or an input that is not an object. */
export function performNamed<Name extends OperationName>(
  session: SessionContext,
  name: Name,
  input: OperationInput<Name>,
  options?: PerformOptions,
): Promise<OperationResult<Name>> {
  if (typeof name === 'string' && Object.hasOwn(ALL_OPERATIONS, name)) {
    const operation = BY_NAME[name]
    return 'describe' in operation
      ? describe<OperationInput<Name>, OperationResult<Name>>(session, operation, input)
      : perform<OperationInput<Name>, RequestOf<Registry[Name]>, OperationResult<Name>>(session, operation, input, options)
  }
  const supported = words(Object.keys(ALL_OPERATIONS).join(', '))
  return Promise.reject(fault('invalid_request')`Operation ${printableName(name)} does not exist. Supported: ${supported}.`)
}
