/** Changes records, again and again while others are in the way: the one loop of every operation that writes records. */
import { explainConflict } from '../barrier/record-errors.ts'
import { fault, words } from '../errors.ts'
import type { Storage } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { Table } from '../schema/layout.ts'
import { isIdConflict } from '../unit-of-work/gather.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { attempt, type Reason, type Tries } from '../util/attempt.ts'

/** Thrown, with nothing stored, if a row changed between reading and writing it. */
export const STALE = new Error('a row changed between reading and writing it')

/** Thrown, with nothing stored, if another caller stored a drawn token first: the next attempt draws others. */
export const DRAWN_TOKEN_TAKEN = new Error('a drawn token was stored by another caller first')

/** Thrown, with nothing stored, if a unique value is in use, and its holder can be a record that came after the look-up. It carries what the next attempt compares. */
export class Doubtful extends Error {
  readonly conflict: unknown
  readonly found: readonly ({ readonly id: number } | undefined)[]

  constructor(conflict: unknown, found: Doubtful['found']) {
    super('a unique value is in use, perhaps by a record that was inserted after the look-up')
    this.conflict = conflict
    this.found = found
  }
}

/** Attempts while other callers keep changing records. */
const MAX_STALE = 1000
/** Attempts while other callers keep storing the tokens that are drawn. */
const MAX_DRAWN = 100
/** Attempts with ids that are reserved before the transaction, while others commit higher ones. */
const MAX_EARLY_IDS = 2

/** What a change is about. */
export interface Changing {
  readonly table: Table
  readonly scheduler: Scheduler
  /** Changes with the same key take turns. Absent for several records, or a new one. */
  readonly turn?: string | undefined
  /** What stays in the way, in the last word. Default: the records. */
  readonly what?: 'records' | 'record'
  /** True for work that changes the unit more than once: it needs a savepoint of its own in a shared transaction. */
  readonly isOfParts?: boolean
}

/** Reads, seals, and then changes the unit. `isPrepared`: outside a transaction. */
export type ChangeWork<T> = (unit: UnitOfWork, attempt: Tries & { readonly isPrepared: boolean }) => Promise<T>

/**
 * Runs work outside a transaction, so that nothing is sealed while the writer is held, and if that was too early inside of one. In a transaction
 * that is shared with others in turn it is inside from the first attempt on. Late ids are reserved outside once more, and then in turn with
 * other such inserts.
 */
export function attemptChange<T>(unit: UnitOfWork, how: Changing, work: ChangeWork<T>): Promise<T> {
  if (how.turn === undefined) return attemptAlone(unit, how, work)
  return unit.changeInTurn(how.turn, {
    alone: () => attemptAlone(unit, how, work),
    shared: (within) => attemptInside(within, how, work),
  })
}

async function attemptAlone<T>(unit: UnitOfWork, how: Changing, work: ChangeWork<T>): Promise<T> {
  const reasons = (): readonly Reason[] => [...reasonsOf(how), { is: isIdConflict, most: MAX_EARLY_IDS }]
  try {
    return await attempt(reasons, ({ number, last }) =>
      number === 1 || isIdConflict(last)
        ? work(unit, { number, last, isPrepared: true })
        : unit.change((within) => work(within, { number, last, isPrepared: false })),
    )
  } catch (error) {
    if (!isIdConflict(error)) throw error
    // In a transaction of such an engine no others commit meanwhile. Those that wait share one.
    const shared = (within: UnitOfWork<Storage>): Promise<T> => attemptInside(within, how, work)
    return unit.changeInTurn(`${how.table.physical.name} id`, { alone: () => unit.change(shared), shared })
  }
}

async function attemptInside<T>(unit: UnitOfWork<Storage>, how: Changing, work: ChangeWork<T>): Promise<T> {
  try {
    return await attempt(
      () => reasonsOf(how),
      (tries) => {
        const run = (within: UnitOfWork): Promise<T> => work(within, { ...tries, isPrepared: false })
        return how.isOfParts === true ? unit.change(run) : run(unit)
      },
    )
  } catch (error) {
    throw isIdConflict(error) ? explainConflict(error, how.table, []) : error
  }
}

/** The reasons for which changes of records run again, inside a transaction and outside. */
export function reasonsOf({ table: { name }, scheduler, what = 'records' }: Changing): readonly Reason[] {
  const subject = what === 'records' ? words('The records') : words('The record')
  return [
    {
      is: (error) => error === STALE || error instanceof Doubtful,
      most: MAX_STALE,
      between: () => scheduler.yield(),
      lastWord: () =>
        fault('aborted', { table: name })`${subject} of table ${name} changed concurrently in every attempt. Retry.`,
    },
    {
      is: (error) => error === DRAWN_TOKEN_TAKEN,
      most: MAX_DRAWN,
      lastWord: () => fault('aborted')`The drawn tokens conflicted with those of other writers in every attempt. Retry.`,
    },
  ]
}
