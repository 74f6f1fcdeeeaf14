/** How much one query may take, and how often it lets others have their turn. */
import { fault, words } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Scheduler } from '../ports/scheduler.ts'

/** What one query may take. */
export interface Budget {
  /** Rows it may read. */
  readonly maxRows: number
  /** Milliseconds it may last. */
  readonly timeoutMs: number
  /** Bytes the rows it holds for joins may take, as estimated. */
  readonly maxBytes: number
}

/** The member of an `AbortSignal` that a query reads. Core has no DOM types. */
export interface Stop {
  readonly aborted: boolean
}

/** The pace of one query. Every method throws once a budget is spent. */
export interface Pace {
  /** Counts rows that were read. */
  read(rows: number): void
  /** Counts bytes that are held from now on; less than none where they are let go. */
  hold(bytes: number): void
  /** True when others have waited long enough. */
  isDue(): boolean
  /** Lets others have their turn. */
  turn(): Promise<void>
}

/** Longest time the event loop is held, in nanoseconds: less than half of what others must be answered within. */
const MAX_BLOCKING_NS = 8_000_000n

const NARROW = words('Narrow it, or compare searchable columns by =.')

/** The pace of a query that begins now. */
export function createPace(
  { clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler },
  budget: Budget,
  signal: Stop | undefined,
): Pace {
  const end = clock.now() + BigInt(Math.ceil(budget.timeoutMs)) * 1_000_000n
  let lastYield = clock.now()
  let rowsRead = 0
  let bytesInUse = 0

  const assertTime = () => {
    if (signal?.aborted === true) throw fault('cancelled')`It was cancelled by its AbortSignal.`
    if (clock.now() > end) throw fault('deadline_exceeded')`It exceeded the time limit of ${budget.timeoutMs} ms. ${NARROW}`
  }
  assertTime()
  return {
    read(rows) {
      rowsRead += rows
      if (rowsRead > budget.maxRows)
        throw fault('limit_exceeded')`It exceeded the limit of ${budget.maxRows} rows read. ${NARROW}`
    },
    hold(bytes) {
      bytesInUse += bytes
      if (bytesInUse > budget.maxBytes) {
        throw fault('limit_exceeded')`It exceeded the join memory limit of ${budget.maxBytes} bytes. Narrow the joined tables.`
      }
    },
    isDue: () => clock.now() - lastYield > MAX_BLOCKING_NS,
    async turn() {
      await scheduler.turn()
      lastYield = clock.now()
      assertTime()
    },
  }
}
