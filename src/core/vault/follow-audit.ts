/** Following the audit trail, as an application asks for it: batches of events, and a pause when there is none. */
import type { AuditEvent } from '../audit/event.ts'
import { decodeEvent } from '../audit/read-event.ts'
import { type AuditCursor, parseCursor, type TrailBatch, TrailFollower } from '../audit-log/follow-trail.ts'
import { fault } from '../errors.ts'
import { type ShowingContext, showEvents } from '../operations/list-events.ts'
import type { Timer } from '../ports/time.ts'
import { readInput } from '../util/boundary.ts'
import { at } from '../util/lists.ts'
import { assertOptions } from '../util/options.ts'
import { parseSignal, type Signal, unlessAborted } from '../util/signal.ts'

/** Options of `followAudit`. */
export interface FollowOptions {
  /** The `cursor` of the last batch that was dealt with. Default: from the first event on. */
  readonly after?: AuditCursor
  /** An `AbortSignal`. When it is aborted, no further batch comes and following ends. */
  readonly signal?: Signal
  /** Milliseconds between two looks for new events, from 10 to 60,000. Default 500. A look reads the small rows of the chains. */
  readonly pollMs?: number
  /** True to get each event also as `listEvents` returns it, with record ids. Default false. */
  readonly listed?: boolean
}

/** An event that is followed. */
export interface FollowedEvent {
  /** Its chain, and its place in it from 1. */
  readonly chain: number
  readonly sequence: number
  /** RFC 3339 in UTC with nine decimals. */
  readonly timestamp: string
  /** Its line, as `exportAudit` yields it. */
  readonly line: string
  /** With `listed` only. */
  readonly event?: AuditEvent
}

/** Events that follow the ones before. */
export interface FollowedBatch extends Omit<TrailBatch, 'events'> {
  readonly events: readonly FollowedEvent[]
}

/** The options, read and checked. */
interface Following {
  readonly cursor: AuditCursor
  readonly signal: Signal | undefined
  readonly pollMs: number
  readonly listed: boolean
}

const DEFAULT_POLL_MS = 500
const POLL_MS = { least: 10, most: 60_000 } as const

/** Returns checked options. Throws `invalid_request`. */
export function parseFollowing(given: unknown, vaultID: string): Following {
  return readInput(() => {
    const options = given === undefined ? {} : given
    assertOptions<FollowOptions>(options, ['after', 'signal', 'pollMs', 'listed'])
    const { after, signal, pollMs = DEFAULT_POLL_MS, listed = false } = options
    if (!(pollMs >= POLL_MS.least && pollMs <= POLL_MS.most))
      throw fault('invalid_request')`pollMs must be a number from ${POLL_MS.least} to ${POLL_MS.most}.`
    if (typeof listed !== 'boolean') throw fault('invalid_request')`listed must be true or false.`
    return { cursor: parseCursor(after, vaultID), signal: parseSignal(signal), pollMs, listed }
  })
}

/** Yields batches until the signal is aborted. */
export async function* followAudit(
  context: ShowingContext & { readonly timer: Timer },
  { cursor, signal, pollMs, listed }: Following,
): AsyncGenerator<FollowedBatch> {
  const follower = new TrailFollower(context.audit, cursor)
  while (!isOver(signal)) {
    for await (const batch of follower.look()) {
      const shown = listed
        ? await showEvents(
            context,
            batch.events.map(({ bytes }) => ({ event: decodeEvent(bytes) })),
          )
        : []
      const events = batch.events.map(({ chain, sequence, timestamp, line }, index): FollowedEvent => {
        const followed = { chain, sequence, timestamp, line }
        return listed ? { ...followed, event: at(shown, index) } : followed
      })
      yield { ...batch, events }
      if (isOver(signal)) return
    }
    await pause(context.timer, pollMs, signal)
  }
}

function isOver(signal: Signal | undefined): boolean {
  return signal?.aborted === true
}

/** Resolves after a time, or at an abort. */
async function pause(timer: Timer, milliseconds: number, signal: Signal | undefined): Promise<void> {
  let stop = (): void => {}
  const waiting = () =>
    new Promise<void>((wake) => {
      stop = timer.after(milliseconds, wake, true)
    })
  await unlessAborted(signal, waiting).catch(() => {})
  stop()
}
