/** What every operation is handed, and the few checks all of them begin with. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Byot } from '../barrier/brought-tokens.ts'
import { isByot } from '../barrier/brought-tokens.ts'
import { fault, printableName, VaultError, words } from '../errors.ts'
import type { EventStore } from '../audit-log/event-store.ts'
import type { Ground, UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { LONGEST_TOKEN, MOST_NAMED_IN_ERROR } from '../limits.ts'
import type { Caller } from '../policy/caller.ts'
import type { Access } from '../policy/create-access.ts'
import type { Clock } from '../ports/clock.ts'
import type { Hash } from '../ports/hash.ts'
import type { Log } from '../ports/log.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { Storage } from '../ports/storage.ts'
import type { Tracing } from '../ports/tracing.ts'
import type { Layout, Table } from '../schema/layout.ts'
import type { StoreContext } from '../records/writing-context.ts'
import type { Story } from './event-builder.ts'

/** Bounds a host may set. */
export interface Limits {
  /** Records, ids or tokens in one request. Default 1,000. */
  readonly records: number
  /** Records on one page of a read. Default 1,000. */
  readonly page: number
}

/** One caller's hold on the vault. */
export interface SessionContext extends Omit<StoreContext, 'unit'> {
  readonly limits: Limits
  readonly caller: Caller
  /** What the policy grants him. */
  readonly access: Access
  /** Where his operations are done. */
  readonly ground: Ground
  readonly scheduler: Scheduler
  readonly tracing: Tracing | undefined
  readonly log: Log | undefined
  readonly trail: AuditTrail
}

/** The audit trail as it is read: outside any transaction. */
export interface AuditTrail {
  readonly storage: Storage
  readonly events: EventStore
  readonly barrier: Barrier
  readonly clock: Clock
  readonly hash: Hash
  readonly layout: Layout
  readonly scheduler: Scheduler
  readonly vaultID: string
  readonly accountID: string
}

/** Everything an operation under way may touch. */
export interface OperationContext extends SessionContext {
  /** Its way to storage. */
  readonly unit: UnitOfWork
  /** What its event will tell. */
  readonly story: Story
}

/** What an input is checked against. */
export type ParsingContext = Pick<OperationContext, 'layout' | 'limits' | 'story'>

/** The table of this name. Throws `not_found`, or `invalid_request` where the specification documents no 404. */
export function tableOf(
  context: Pick<SessionContext, 'layout'>,
  name: unknown,
  code: 'not_found' | 'invalid_request' = 'not_found',
): Table {
  const table = typeof name === 'string' ? context.layout.tables.get(name) : undefined
  if (table === undefined) {
    const given = printableName(name)
    throw fault(code, { table: given })`Table ${given} does not exist. Specify a table of the schema.`
  }
  return table
}

/** A list of at least one and at most as many as a request may hold, copied without holes. Refuses anything else. */
export function listOf(context: Pick<SessionContext, 'limits'>, list: unknown, verb: string, what: string): unknown[] {
  if (!Array.isArray(list) || list.length === 0) {
    throw new VaultError('invalid_request', `${verb} failed. Give a list of at least one of: ${what}.`)
  }
  if (list.length > context.limits.records) {
    throw new VaultError(
      'limit_exceeded',
      `${verb} failed. ${list.length} ${what} were given, ${context.limits.records} are the most one request may hold.`,
    )
  }
  return Array.from<unknown>(list)
}

/** Ids or tokens as they were sent; what is no text names nothing, like any unknown one. */
export function textsOf(list: readonly unknown[]): string[] {
  return list.map((item) => (typeof item === 'string' ? item : ''))
}

/** One token as it was sent, as text and no longer than any token is. */
export function tokenTextOf(token: unknown, verb: string, index: number): string {
  if (typeof token !== 'string')
    throw new VaultError('invalid_request', `${verb} failed. Item ${index} needs a token, as text.`, { index })
  if (token.length > 2 * LONGEST_TOKEN) {
    throw new VaultError('limit_exceeded', `${verb} failed. The token of item ${index} is longer than any token is.`, {
      index,
    })
  }
  return token
}

/** Refuses options of another shape than declared: unknown members are misspelt ones. */
export function assertOptions<T extends object>(
  options: unknown,
  verb: string,
  known: readonly (keyof T & string)[],
): asserts options is T {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new VaultError('invalid_request', `${verb} failed. Its options must be an object.`)
  }
  for (const name of Object.keys(options)) {
    if (!(known as readonly string[]).includes(name)) {
      throw fault('invalid_request')`Unknown option ${printableName(name)}. Supported: ${words(known.join(', '))}.`
    }
  }
}

/** Refuses a flag that is neither true nor false. */
export function flagOf(value: unknown, verb: string, name: string): boolean {
  if (value === undefined) return false
  if (typeof value !== 'boolean') throw new VaultError('invalid_request', `${verb} failed. Option ${name} must be true or false.`)
  return value
}

/** How a request deals with brought tokens; refuses any other word. */
export function byotOf(value: unknown, verb: string): Byot {
  const mode = value ?? 'DISABLE'
  if (!isByot(mode)) throw new VaultError('invalid_request', `${verb} failed. byot must be DISABLE, ENABLE or ENABLE_STRICT.`)
  return mode
}

/** The answer to ids that name no record: the same whether they never did, no longer do, or belong elsewhere. */
export function recordsNotFound(table: Table, verb: string, ids: readonly string[], missing: readonly number[]): VaultError {
  const indexes = missing.slice(0, MOST_NAMED_IN_ERROR)
  const details = indexes.map((index) => ({ table: table.name, index, ...(isUuid(ids[index]) ? { id: ids[index] } : {}) }))
  const sentence = `${verb} failed. ${missing.length === 1 ? 'A record' : `${missing.length} records`} of table ${table.name} could not be found`
  return new VaultError('not_found', `${sentence}, at position ${indexes.join(', ')}. Check the ids.`, details)
}

/** Only what has the shape of an id is repeated in an error: anything else may be a value sent in the wrong place. */
function isUuid(text: string | undefined): text is string {
  return text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
}
