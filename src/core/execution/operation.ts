/** The law of operations: each public verb is one value, and says all there is to say of itself. */
import type { EventAction, ResourceType } from '../audit/event.ts'
import type { Shape } from '../audit/record-shape.ts'
import type { OperationContext, ParsingContext } from './context.ts'

/** Input as it was handed in: its members by name, and nothing believed of them. */
export type Untrusted<Given> = { readonly [Member in keyof Given]?: unknown }

/**
 * One public verb. `parse` makes a request of untrusted input and knows no grants; `execute` allows, changes, and answers.
 * Neither knows who listens: the event, the span, the transaction and the prefix of errors are `perform`'s.
 */
export interface Operation<Given, Request, Answer> {
  readonly action: EventAction
  readonly resourceType: ResourceType
  /** The word its errors begin with. */
  readonly verb: string
  /** What events keep of its input; members that are not named here are not kept. `options` are told beside the others. */
  readonly told: Shape
  /** Throws `invalid_request`, `unprocessable`, or `not_found` for a table. */
  parse(given: Untrusted<Given>, context: ParsingContext): Request
  execute(context: OperationContext, request: Request): Promise<Answer>
}

/** What callers of an operation write, by its value. */
export type GivenOf<O> = O extends Operation<infer Given, infer _Request, infer _Answer> ? Given : never
/** What `parse` makes of it. */
export type RequestOf<O> = O extends Operation<infer _Given, infer Request, infer _Answer> ? Request : never
/** What they are answered. */
export type AnswerOf<O> = O extends Operation<infer _Given, infer _Request, infer Answer> ? Answer : never
