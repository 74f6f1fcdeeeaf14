/** Joins calls that come together: requests of one turn of the event loop, by callers with the same access, run as one. */
import { type Barrier, retryingBarrier } from '../barrier/barrier.ts'
import type { Scheduler } from '../ports/time.ts'
import { ALONE, type End, runAsOne } from '../unit-of-work/gather.ts'
import { at, required } from '../util/lists.ts'
import type { EventBuilder } from './event-builder.ts'

/** What joining needs of the context of a call. */
interface CallParts {
  readonly barrier: Barrier
  readonly scheduler: Scheduler
  readonly access: object
  readonly caller: unknown
  readonly event: EventBuilder
}

/** What joining needs of an operation. Source: `Operation.asOne`. */
export interface Joinable<Context, Request, Result> {
  readonly keys: { readonly turn?: (request: Request) => string | undefined }
  execute(
    context: Context,
    requests: readonly Request[],
    events: readonly EventBuilder[],
  ): Promise<readonly (Result | typeof ALONE)[]>
}

/** The calls of a vault outside transactions. */
export interface JoinedCalls<Context> {
  /** Counts a call that can be joined, until `end`. */
  begin(): void
  end(): void
  /**
   * Returns how a call ends that runs as one with others of this turn. Undefined for a call that is not joined: another can run by itself only, or
   * few others are in progress and few ran together last.
   */
  join<Request, Result>(
    asOne: Joinable<Context, Request, Result> | undefined,
    context: Context,
    request: Request,
  ): Promise<End<Result>> | undefined
}

/**
 * Number of calls, in progress or in the last groups, from which on waiting for others pays: a turn of the event loop costs about what a
 * call of its own does.
 */
const MIN_CALLS_TO_JOIN = 4
/** Maximum number of calls that run as one. */
const MAX_CALLS_TOGETHER = 256

/**
 * Turns that the work of a group takes in between at most. Calls for long values take more, one for each 256 KiB, and the short ones of their
 * group would wait for all of them.
 */
const MAX_TURNS_TOGETHER = 4

/** Thrown if a group needs what only one call has: its caller, its event, many turns, or a place for what is wrong in the database. */
const NEEDS_ONE_CALL = new Error('the calls run one by one')

/** A call of a group, and what ends the wait of its caller. */
interface Waiting<Context, Request, Result> {
  readonly context: Context
  readonly request: Request
  ended(end: End<Result>): void
}

/** Calls that run as one at the end of the turn, or as soon as there are 256. */
interface Group<Context, Request, Result> {
  add(context: Context, request: Request): Promise<End<Result>>
  run(): Promise<void>
}

/** The group of one operation, access and kind. */
interface Latest<Context> {
  readonly asOne: object
  readonly access: object
  readonly kind: string
  readonly group: Group<Context, never, unknown>
}

/** Returns the joined calls of a vault. */
export function createJoinedCalls<Context extends CallParts>(scheduler: Scheduler): JoinedCalls<Context> {
  const numberOf = numbering()
  let gathering = new Map<string, Group<Context, never, unknown>>()
  // The group that a call joined last in this turn: neighbors mostly have the same.
  let latest: Latest<Context> | undefined
  let inProgress = 0
  // Requests of one turn begin one after the other, so the first of them seem to be few. They are many if the last ones were.
  let joinedNow = 0
  let joinedLast = 0

  function runAll(): void {
    joinedLast = joinedNow
    joinedNow = 0
    const groups = gathering
    // A new map: one that is cleared refers from its former table to the next, so that garbage of all turns outlives short collections.
    gathering = new Map()
    latest = undefined
    for (const group of groups.values()) void group.run()
  }

  function begin<Request, Result>(key: string, asOne: Joinable<Context, Request, Result>): Group<Context, Request, Result> {
    // The groups run even if the scheduler fails, because their callers wait for them.
    if (gathering.size === 0) void scheduler.yield().then(runAll, runAll)
    const group = createGroup(asOne, () => {
      latest = undefined
      gathering.delete(key)
    })
    gathering.set(key, group)
    return group
  }

  /** Returns the group of calls of one operation, access and kind in this turn. */
  function groupOf<Request, Result>(
    asOne: Joinable<Context, Request, Result>,
    access: object,
    kind: string,
  ): Group<Context, never, unknown> {
    const key = `${numberOf(asOne)} ${numberOf(access)} ${kind}`
    return gathering.get(key) ?? begin(key, asOne)
  }

  return {
    begin() {
      inProgress++
    },
    end() {
      inProgress--
    },
    join<Request, Result>(asOne: Joinable<Context, Request, Result> | undefined, context: Context, request: Request) {
      const isWorthIt = Math.max(inProgress, joinedLast) >= MIN_CALLS_TO_JOIN
      const kind = isWorthIt ? asOne?.keys.turn?.(request) : undefined
      if (asOne === undefined || kind === undefined) return undefined
      joinedNow++
      const { access } = context
      const isLikeLatest = latest?.asOne === asOne && latest.access === access && latest.kind === kind
      if (!isLikeLatest) latest = { asOne, access, kind, group: groupOf(asOne, access, kind) }
      // The operation is the same, so all calls of a group have its types.
      const group = latest?.group as Group<Context, Request, Result>
      return group.add(context, request)
    },
  }
}

/** Returns an empty group. `onFull` is called when it takes no more calls and runs before the end of the turn. */
function createGroup<Context extends CallParts, Request, Result>(
  asOne: Joinable<Context, Request, Result>,
  onFull: () => void,
): Group<Context, Request, Result> {
  const calls: Waiting<Context, Request, Result>[] = []

  async function run(): Promise<void> {
    const ends: readonly End<Result>[] = calls.length === 1 ? [ALONE] : await runAsOne({ run: runTogether }, calls)
    for (let index = 0; index < calls.length; index++) calls[index]?.ended(required(ends[index]))
  }

  /** Runs calls as one. The group has no caller and no event of its own, so that nothing of one call gets into another. */
  async function runTogether(together: typeof calls): Promise<readonly End<Result>[]> {
    const { context } = at(together, 0)
    const barrier = retryingBarrier(context.barrier, needsOneCall)
    const scheduler = limitedTurns(context.scheduler)
    const shared: Context = { ...context, barrier, scheduler, caller: OF_ONE_CALL, event: OF_ONE_CALL }
    const results = await asOne.execute(
      shared,
      together.map(({ request }) => request),
      together.map((call) => call.context.event),
    )
    return results.map((value) => (value === ALONE ? ALONE : { value }))
  }

  return {
    run,
    add: (context, request) =>
      new Promise((ended) => {
        calls.push({ context, request, ended })
        if (calls.length < MAX_CALLS_TOGETHER) return
        onFull()
        void run()
      }),
  }
}

/** Returns the scheduler, with few turns. */
function limitedTurns(scheduler: Scheduler): Scheduler {
  let turns = 0
  return { ...scheduler, yield: () => (++turns > MAX_TURNS_TOGETHER ? needsOneCall() : scheduler.yield()) }
}

function needsOneCall(): never {
  throw NEEDS_ONE_CALL
}

/** In the place of what only one call has: any use of it throws. It has every type, because it has no use. */
const OF_ONE_CALL = new Proxy(
  {},
  { get: needsOneCall, set: needsOneCall, has: needsOneCall, ownKeys: needsOneCall, getPrototypeOf: needsOneCall },
) as never

/** Returns a function that gives each object a number of its own, for keys. */
function numbering(): (of: object) => number {
  const numbers = new WeakMap<object, number>()
  let last = 0
  return (of) => {
    let number = numbers.get(of)
    if (number === undefined) {
      number = ++last
      numbers.set(of, number)
    }
    return number
  }
}
