/** The contract of operations: each public verb is one value that holds all there is to know of it. */
import type { ActionType, ResourceType } from '../audit/event.ts'
import type { RecordedShape } from '../audit/record-shape.ts'
import type { OperationContext, ParsingContext } from './context.ts'

/** Input as it was passed: its members by name, each of unknown type. */
export type Untrusted<Given> = { readonly [Member in keyof Given]?: unknown }

/**
 * One public verb. `parse` makes a request of untrusted input and knows no grants; `execute` checks grants, changes storage and
 * returns the result. The event, the span, the transaction and the prefix of errors belong to `perform`.
 */
export interface Operation<Given, Request, Answer> {
  readonly action: ActionType
  readonly resourceType: ResourceType
  /** The word its errors begin with: "Insert" in "Insert failed." */
  readonly verb: string
  /** What events keep of its input. A member that is not named here is not kept. `options` are kept beside the other members. */
  readonly recorded: RecordedShape
  /** The HTTP status of `not_found` where the specification documents no 404 for the operation. */
  readonly notFoundStatus?: 400
  /** Makes a typed request of untrusted input. Throws `invalid_request`, `out_of_range`, `limit_exceeded`, or `not_found` for a table. */
  parse(given: Untrusted<Given>, context: ParsingContext): Request
  /** Runs the request in a unit of work for one caller. */
  execute(context: OperationContext, request: Request): Promise<Answer>
}

/** What callers of an operation pass. */
export type GivenOf<O> = O extends Operation<infer Given, infer _Request, infer _Answer> ? Given : never
/** What `parse` makes of it. */
export type RequestOf<O> = O extends Operation<infer _Given, infer Request, infer _Answer> ? Request : never
/** What they get back. */
export type AnswerOf<O> = O extends Operation<infer _Given, infer _Request, infer Answer> ? Answer : never
