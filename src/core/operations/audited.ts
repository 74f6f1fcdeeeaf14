/** One event for every public operation, however it ends: with the change it tells of, or durable before the answer leaves; else the operation fails. */
import { v4 as uuid } from 'uuid'
import type { EventAction, EventContext, EventDraft, EventRows, ResourceType } from '../audit/event.ts'
import { foldBody } from '../audit/fold-content.ts'
import { type Outcome, outcomeOf, SUCCESS, withoutStrangers } from '../audit/outcome.ts'
import { toRuns } from '../audit/row-runs.ts'
import { traceIdOf } from '../audit/trace-parent.ts'
import { isVaultError, VaultError } from '../errors.ts'
import type { Commit } from '../journal/commit.ts'
import type { Span } from '../ports/tracing.ts'
import type { Table } from '../schema/layout.ts'
import { toHex } from '../util/bytes.ts'
import type { OperationContext, SessionContext } from './context.ts'

/** What an operation does, and the word its errors begin with. */
export interface Deed {
  readonly action: EventAction
  readonly resourceType: ResourceType
  readonly verb: string
  /** The request's body, to be told with every value replaced. */
  body(): unknown
}

/** What an operation tells of itself as it goes: names, counts and rows; never a value. */
export class Trail {
  #table: string | undefined
  readonly #rows = new Map<string, Set<number>>()
  #written: EventRows | undefined

  /** The table it is about. */
  about(table: Table): void {
    this.#table = table.name
  }

  /** Rows it read or found. */
  touches(table: Table, rows: readonly number[]): void {
    const known = this.#rows.get(table.name) ?? new Set()
    for (const row of rows) known.add(row)
    if (known.size > 0) this.#rows.set(table.name, known)
  }

  /** Rows it wrote, in place of any named before: writing may have begun again. */
  writes(table: Table, rows: readonly number[]): void {
    this.#written = rows.length === 0 ? undefined : { table: table.name, runs: toRuns(rows) }
  }

  /** All of it, and how it ended. */
  told(outcome: Outcome): Omit<EventDraft, 'context' | 'action' | 'resourceType' | 'content'> {
    const read = [...this.#rows].map(([table, rows]) => ({ table, runs: toRuns([...rows]) }))
    // A change that failed has written nothing, whatever rows it was given.
    const rows = this.#written === undefined || outcome.code !== SUCCESS.code ? read : [...read, this.#written]
    return {
      ...outcome,
      ...(this.#table === undefined ? {} : { table: this.#table }),
      ...(rows.length === 0 ? {} : { rows }),
    }
  }
}

/** Runs one public operation. `context.commit` of the context that work is handed stores the event with the change. */
export function audited<T>(
  session: SessionContext,
  deed: Deed,
  work: (context: OperationContext, trail: Trail) => Promise<T>,
): Promise<T> {
  const name = `strongroom.${deed.action.toLowerCase()}`
  if (!session.isRecorded && session.tracing === undefined && session.log === undefined) return unrecorded(session, work)
  if (session.tracing === undefined) return run(session, deed, undefined, work)
  return session.tracing.within(name, {}, async (span) => {
    let failure: string | undefined
    try {
      return await run(session, deed, span, work)
    } catch (error) {
      failure = outcomeOf(error).failure
      throw error
    } finally {
      quietly(() => span.end({}, failure))
    }
  })
}

/** Where nothing is recorded, traced or logged, nothing is told. */
function unrecorded<T>(session: SessionContext, work: (context: OperationContext, trail: Trail) => Promise<T>): Promise<T> {
  const { journal } = session
  const commit: Commit = {
    insert: (batches) => journal.insert(batches, NOTHING_TOLD),
    change: (change) => journal.change(change, () => NOTHING_TOLD),
  }
  return work({ ...session, commit }, new Trail())
}

/** Stands in for the event of an operation nobody asks for. */
const NOTHING_TOLD: EventDraft = {
  context: {
    requestID: '',
    traceID: '',
    actor: '',
    actorType: 'USER',
    accessType: 'API',
    ipAddress: '',
    authMode: 'STS',
    jwtID: '',
  },
  action: 'GET',
  resourceType: 'VAULT',
  ...SUCCESS,
}

async function run<T>(
  session: SessionContext,
  deed: Deed,
  span: Span | undefined,
  work: (context: OperationContext, trail: Trail) => Promise<T>,
): Promise<T> {
  const trail = new Trail()
  const { action, resourceType } = deed
  const context = eventContext(session, span)
  const content = contentOf(session, deed)
  const draft = (outcome: Outcome): EventDraft => ({ context, action, resourceType, content, ...trail.told(outcome) })
  const telling = { isTold: false }
  let answer: T
  try {
    answer = await work({ ...session, commit: createCommit(session, trail, { draft, telling }) }, trail)
  } catch (error) {
    const outcome = outcomeOf(error)
    const message = withoutStrangers(outcome.message, (word) => session.layout.names.has(word))
    await note(session, deed, draft({ code: outcome.code, message }))
    logFailure(session, context, deed, error)
    throw error
  }
  if (!telling.isTold) await note(session, deed, draft(SUCCESS))
  return answer
}

/** The body as the event tells it; of a body that cannot even be looked at, nothing. */
function contentOf({ layout }: SessionContext, deed: Deed): string {
  try {
    return foldBody(deed.body(), (text) => layout.names.has(text))
  } catch {
    return ''
  }
}

interface Telling {
  draft(outcome: Outcome): EventDraft
  /** True once the event is stored with its change. */
  readonly telling: { isTold: boolean }
}

function createCommit({ journal }: SessionContext, trail: Trail, { draft, telling }: Telling): Commit {
  return {
    async insert(batches, table, rows) {
      trail.writes(table, rows)
      await journal.insert(batches, draft(SUCCESS))
      telling.isTold = true
    },
    async change(work, table, rowsOf) {
      const answer = await journal.change(work, (found) => {
        trail.writes(table, rowsOf(found))
        return draft(SUCCESS)
      })
      telling.isTold = true
      return answer
    },
  }
}

/** Stores an event by itself. What cannot be recorded is not answered. */
async function note({ journal, log }: SessionContext, { verb, action }: Deed, event: EventDraft): Promise<void> {
  try {
    await journal.note(event)
  } catch (error) {
    const facts = { operation: action, requestID: event.context.requestID, code: outcomeOf(error).failure }
    log?.error(facts, 'audit event not stored')
    const why = isVaultError(error) ? error : undefined
    throw new VaultError(
      'unavailable',
      `${verb} failed. Its audit event could not be stored, so nothing is answered. Try again, or look at the storage. ${why?.message ?? ''}`.trim(),
      {},
      why,
    )
  }
}

/** Characters of an email address that an event repeats; a longer text is none. */
const LONGEST_EMAIL = 320

/** Who asks and in which request. Ids that must be there and were not given are made up. */
function eventContext({ caller, barrier }: SessionContext, span: Span | undefined): EventContext {
  const { traceparent, traceID, requestID, ...given } = caller.request ?? {}
  const email = caller.context?.email
  return {
    ipAddress: '',
    authMode: 'STS',
    jwtID: '',
    accessType: 'API',
    ...given,
    actor: caller.actor,
    actorType: caller.actorType,
    requestID: requestID ?? uuid({ random: barrier.entropy.bytes(16) }),
    traceID: traceID ?? traceIdOf(traceparent) ?? span?.traceId ?? toHex(barrier.entropy.bytes(16)),
    ...(typeof email === 'string' && email.length <= LONGEST_EMAIL ? { userEmail: email } : {}),
  }
}

/** A span that fails takes nothing with it: what was done was done. */
function quietly(tell: () => void): void {
  try {
    tell()
  } catch {
    // There is nobody left to tell.
  }
}

/** One line for what the host must look into, and one for what was refused. */
function logFailure({ log }: SessionContext, { requestID, traceID }: EventContext, { action }: Deed, error: unknown): void {
  const { failure } = outcomeOf(error)
  const facts = { operation: action, requestID, traceID, code: failure }
  if (failure === 'internal' || failure === 'unavailable') log?.error(facts, 'operation failed')
  else if (failure === 'forbidden') log?.warn(facts, 'operation refused')
}
