/** The contract of operations. Each public operation is one value with all its properties. */
import type { ActionType, ResourceType } from '../audit/event.ts'
import type { Members } from '../audit/record-shape.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import type { Action } from '../policy/statement.ts'
import type { Table } from '../schema/layout.ts'
import type { ALONE } from '../unit-of-work/gather.ts'
import { at, groupBy, required } from '../util/lists.ts'
import type { OperationContext, ParsingContext, SessionContext } from './context.ts'
import type { EventBuilder } from './event-builder.ts'

/** Unchecked input: the members by name, each of unknown type. */
export type Untrusted<Given> = { readonly [Member in keyof Given]?: unknown }

/**
 * One public operation: its action type, its resource type, and its verb in error messages. `parse` checks untrusted input without
 * grants; `execute` checks grants, reads or changes storage, and returns the result. `perform` adds event, span and error prefix.
 */
export interface Operation<Given, Request, Result> {
  readonly action: ActionType
  readonly resourceType: ResourceType
  /** First word of its errors: "Insert" in "Insert failed." */
  readonly verb: string
  /** The members of the input. Another one is refused. */
  readonly members: readonly (keyof Given & string)[]
  /** The members of the input that events record. Members of `options` are recorded like the other members. */
  readonly recorded: Members
  /** The HTTP status of `not_found`, if the routes of the operation have no 404. */
  readonly notFoundStatus?: 400
  /** Returns the typed request of untrusted input. Throws `invalid_request`, `out_of_range`, `limit_exceeded`, or `not_found` for a table. */
  parse(given: Untrusted<Given>, context: ParsingContext): Request
  /** Returns a parsed request as it is with another layout, for one with a source that is read once. Default: the input is parsed again. */
  again?(request: Request, context: ParsingContext): Request
  /** Runs a request in a unit of work for one caller, and returns its result. */
  execute(context: OperationContext, request: Request): Promise<Result>
  /** How a request with an idempotency key is performed once. Absent: it changes nothing, so it can be performed again. */
  readonly once?: OnceRules<Request, Result>
  /** How requests run as one. Absent: each runs by itself. */
  readonly asOne?: RequestsAsOne<Request, Result>
}

/** How a write with an idempotency key is performed once. Source: `once.ts`. */
export interface OnceRules<Request, Result> {
  /** True for a request that passes what is kept to `context.note` before it hands over its one change. Any other runs inside a transaction. */
  isNoted?(request: Request): boolean
  /** True if a repeat must be found before it begins, because it would read content. Default: it is found when it cannot be stored. */
  readonly isFoundFirst?: true
  /** True if the operation can leave contents of files to remove. */
  readonly removesFiles?: true
  /** Returns what is kept of a result, as JSON: nothing that a deletion must end. Default: all of it. */
  keep?(result: Result, request: Request): unknown
  /** Returns the result of a repeat from what was kept. Default: that is the result. */
  restore?(context: OperationContext, request: Request, kept: unknown): Promise<Result>
}

/** Returns the same text for requests that can run as one, for example with the table; undefined for a request that runs by itself. */
export type KeyOf<Request> = (request: Request) => string | undefined

/** Runs several requests of one operation as one. Source: docs/inside/commits.md, docs/inside/batches.md. */
export interface RequestsAsOne<Request, Result> {
  /** Where requests meet: which of them run as one there. Absent: none. */
  readonly keys: {
    /**
     * Calls that begin in one turn of the event loop, by callers with the same access. Only for operations that change nothing. Their context has neither
     * caller nor event, and few turns: if more is needed, each runs by itself.
     */
    readonly turn?: KeyOf<Request>
    /** Items of a batch, inside its transaction. They name different records, unless they only read. */
    readonly batch?: KeyOf<Request>
    /** Items of a batch without a key of `batch`, where all of it is looked up before any of it is stored. */
    readonly prepared?: KeyOf<Request>
  }
  /**
   * Returns the rows that requests of a batch will change, as far as the storage of the unit shows, for the batch to lock them before it changes the
   * first. Throws nothing for a request that will be refused. Absent for operations that change no row that exists.
   */
  readonly changes?: (context: OperationContext, requests: readonly Request[]) => Promise<readonly ChangedRows[]>
  /**
   * Returns the result of each request, as `execute` would return it, or ALONE for one that would fail or that needs its own caller. Throws where
   * it is unknown which one that is; of a batch, also if one could have another result by itself, or finds what another stores. `events` has the event of each.
   */
  execute(
    context: OperationContext,
    requests: readonly Request[],
    events: readonly EventBuilder[],
  ): Promise<readonly (Result | typeof ALONE)[]>
}

/** The input of an operation. */
export type GivenOf<O> = O extends Operation<infer Given extends object, infer _Request, infer _Result> ? Given : never
/** The request that `parse` returns. */
export type RequestOf<O> = O extends Operation<infer _Given, infer Request, infer _Result> ? Request : never
/** The result of an operation. */
export type ResultOf<O> = O extends Operation<infer _Given, infer _Request, infer Result> ? Result : never

/** Rows of one table. */
export interface ChangedRows {
  readonly table: Table
  readonly ids: readonly number[]
}

/** Returns the rows of the records that requests name, without those of tables in which the caller has no grant for the action. */
export function namedRows(
  { barrier, access }: Pick<SessionContext, 'barrier' | 'access'>,
  action: Action,
  requests: readonly { readonly table: Table; readonly id: string }[],
): ChangedRows[] {
  return [...groupBy(requests, ({ table }) => table)].flatMap(([table, own]) => {
    if (!access.table(table).possiblyMeets({ action, columns: [] })) return []
    const ids = own.map(({ id }) => id)
    return [{ table, ids: decodeRecordIds(barrier.ring, table, ids).filter((id) => id !== undefined) }]
  })
}

/** Returns what writes take in place of an event: the row at each position is that of the request at the same position. */
export function dividedRows(events: readonly EventBuilder[]): Pick<EventBuilder, 'setWrittenRows'> {
  return {
    setWrittenRows(table: Table, rows: readonly number[]): void {
      for (let index = 0; index < rows.length; index++) at(events, index).setWrittenRow(table, required(rows[index]))
    },
  }
}
