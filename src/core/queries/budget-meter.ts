/** The budget of one query, and when it yields to the event loop. */
import { fault, isVaultError, words } from '../errors.ts'
import { createPace } from '../pace/pace.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'

/** Limits of one query. */
export interface QueryBudget {
  /** Rows read, of all tables together. */
  readonly maxRows: number
  /** Duration in milliseconds. */
  readonly timeoutMs: number
  /** Estimated bytes of what is kept in memory for joins, ORDER BY, GROUP BY and COUNT(DISTINCT column). */
  readonly maxBytes: number
}

/**
 * Meters one query. Its methods throw `limit_exceeded` above a budget; `yield` throws `deadline_exceeded` after the time limit and
 * `cancelled` after an abort.
 */
export interface BudgetMeter {
  /** Adds rows that were read. */
  addRowsRead(rows: number): void
  /** Runs work that gives up by returning undefined, or above a budget: what it added is taken off then, because other work does the same. */
  attempt<T>(work: () => Promise<T | undefined>): Promise<T | undefined>
  /** Adds bytes to the memory in use; a negative number releases them. */
  addBytes(bytes: number): void
  /** True if the event loop has been blocked for too long. */
  shouldYield(): boolean
  /** Yields to the event loop, then checks time limit and signal. */
  yield(): Promise<void>
}

/** Longest time that a query holds the event loop, in nanoseconds. Shorter ones make its slices smaller, and the scan slower. */
const MAX_HELD_NS = 8_000_000n

const NARROW = words('Narrow it, or compare searchable columns by =.')

/** Creates the meter of a query that starts now. Throws `cancelled` if it is aborted already, and `deadline_exceeded` if it has no time at all. */
export function createBudgetMeter(
  { clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler },
  budget: QueryBudget,
  signal: Signal | undefined,
): BudgetMeter {
  const pace = createPace({ clock, scheduler }, MAX_HELD_NS)
  const start = clock.now()
  const end = start + BigInt(Math.ceil(budget.timeoutMs)) * 1_000_000n
  let rowsRead = 0
  let bytesInUse = 0

  const assertTime = (isOver: boolean) => {
    assertNotAborted(signal)
    if (isOver) throw fault('deadline_exceeded')`It exceeded the time limit of ${budget.timeoutMs} ms. ${NARROW}`
  }
  assertTime(start === end)
  return {
    addRowsRead(rows) {
      rowsRead += rows
      if (rowsRead > budget.maxRows)
        throw fault('limit_exceeded')`It exceeded the limit of ${budget.maxRows} rows read. ${NARROW}`
    },
    async attempt(work) {
      const before = [rowsRead, bytesInUse] as const
      const found = await work().catch((error: unknown) => {
        if (!isVaultError(error, 'limit_exceeded')) throw error
        return undefined
      })
      if (found === undefined) [rowsRead, bytesInUse] = before
      return found
    },
    addBytes(bytes) {
      bytesInUse += bytes
      if (bytesInUse > budget.maxBytes) {
        throw fault('limit_exceeded')`It exceeded the memory limit of ${budget.maxBytes} bytes. ${NARROW}`
      }
    },
    shouldYield: pace.isDue,
    async yield() {
      await pace.turn()
      assertTime(clock.now() > end)
    },
  }
}
