/** Turns: changes of one record run one after the other, and those that wait share the next transaction. */
import { isRefusal } from '../errors.ts'
import { createPace } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { at, required } from '../util/lists.ts'
import { ALONE, type AsOne, type End, hasValue, runAsOne } from './gather.ts'
import { type TurnChange, type UnitOfWork, unitWithin } from './unit-of-work.ts'

/** A change of a group, and what its transaction needs of it: its event, or its generation of the catalog. */
export interface SharedChange<Own> {
  readonly own: Own
  run(unit: UnitOfWork<Storage>): Promise<void>
}

/** The changes in progress by what they change. Source: docs/inside/commits.md. */
export interface Turns<Own> {
  /** Runs a change when those with the same key before it have ended, in their order, and returns its result. */
  run<T>(key: string, change: TurnChange<T>, own: Own): Promise<T>
}

/** Runs changes in one transaction, and returns how each ended. Throws if the transaction failed. */
export type RunTogether<Own> = AsOne<SharedChange<Own>, void>['run']

/** Maximum number of changes that share a transaction. */
const MAX_CHANGES_TOGETHER = 64

/** A change that waits. */
interface Waiting<Own> extends SharedChange<Own> {
  alone(): Promise<void>
  /** Ends the wait, with the changes that this one runs: itself and those behind it, or none if it has run. */
  proceed(next: { readonly group: readonly Waiting<Own>[] } | { readonly end: End<void> }): void
}

/** Returns the turns of a vault. */
export function createTurns<Own>(runTogether: RunTogether<Own>): Turns<Own> {
  const queues = new Map<string, Waiting<Own>[]>()

  /** Lets those that wait proceed. The first of them runs all, in the asynchronous context of its own caller. */
  function proceed(key: string): void {
    const group = queues.get(key)?.splice(0, MAX_CHANGES_TOGETHER) ?? []
    if (group.length === 0) queues.delete(key)
    else at(group, 0).proceed({ group })
  }

  /**
   * Runs a group, and returns how its first change ended. Those that do not run as one have a transaction each, one after the other, all in the
   * asynchronous context of the first.
   */
  async function runGroup(group: readonly Waiting<Own>[]): Promise<End<void>> {
    const ends: readonly End<void>[] = group.length > 1 ? await runAsOne({ run: runTogether }, group) : [ALONE]
    const own: End<void>[] = []
    for (const [index, { alone }] of group.entries()) own.push(ends[index] === ALONE ? await endOf(alone) : at(ends, index))
    for (const [index, { proceed }] of group.entries()) if (index > 0) proceed({ end: at(own, index) })
    return at(own, 0)
  }

  return {
    async run<T>(key: string, change: TurnChange<T>, own: Own): Promise<T> {
      const queue = queues.get(key)
      if (queue === undefined) {
        queues.set(key, [])
        try {
          return await change.alone()
        } finally {
          proceed(key)
        }
      }
      let result: { readonly value: T } | undefined
      const runs = {
        own,
        async alone() {
          result = { value: await change.alone() }
        },
        async run(unit: UnitOfWork<Storage>) {
          result = { value: await change.shared(unit) }
        },
      }
      const next = await new Promise<Parameters<Waiting<Own>['proceed']>[0]>((resolve) => {
        queue.push({ ...runs, proceed: resolve })
      })
      const end = 'end' in next ? next.end : await runGroup(next.group).finally(() => proceed(key))
      if (end !== ALONE && 'error' in end) throw end.error
      return required(result, 'The result of a change').value
    },
  }
}

/** Returns how work ended. */
async function endOf(work: () => Promise<void>): Promise<Exclude<End<void>, typeof ALONE>> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error }
  }
}

/**
 * Runs changes one after the other in an open transaction, and returns how each ended. One that is refused rolls back alone. Throws any
 * other error, after which the transaction cannot go on, and ALL_REFUSED if nothing is stored. Large records are opened and sealed by
 * each change, so the event loop has its turns between them.
 */
export async function runEach(
  storage: Storage,
  changes: readonly SharedChange<unknown>[],
  times: { readonly clock: Clock; readonly scheduler: Scheduler },
): Promise<readonly End<void>[]> {
  const ends: End<void>[] = []
  const pace = createPace(times)
  for (const change of changes) {
    await pace.worked()
    const end = await endOf(() => change.run(unitWithin(storage)))
    if ('error' in end && !isRefusal(end.error)) throw end.error
    ends.push(end)
  }
  if (!ends.some(hasValue)) throw ALL_REFUSED
  return ends
}

/** Thrown to roll back a transaction that stores nothing. Each of its changes then has a transaction of its own. */
const ALL_REFUSED = new Error('all changes of a transaction were refused')
