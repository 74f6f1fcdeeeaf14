/** How much one query may take, and how often it lets others have their turn. */
import { VaultError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import { tooMuch } from '../sql/query-fault.ts'

/** What one query may take. */
export interface Budget {
  /** Rows it may read. */
  readonly rows: number
  /** Milliseconds it may last. */
  readonly milliseconds: number
  /** Bytes the rows it holds for joins may take, as estimated. */
  readonly bytes: number
}

/** The part of an `AbortSignal` that is asked. */
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
const LONGEST_HOLD = 8_000_000n

const NARROW = 'Narrow it, or compare searchable columns by =.'

/** The pace of a query that begins now. */
export function createPace(
  { clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler },
  budget: Budget,
  stop: Stop | undefined,
): Pace {
  const end = clock.now() + BigInt(Math.ceil(budget.milliseconds)) * 1_000_000n
  let lastTurn = clock.now()
  let rowsRead = 0
  let bytesHeld = 0

  const assertTime = () => {
    if (stop?.aborted === true) throw cancelled()
    if (clock.now() > end) throw tooMuch(`It took longer than the ${budget.milliseconds} ms a query may take. ${NARROW}`)
  }
  assertTime()
  return {
    read(rows) {
      rowsRead += rows
      if (rowsRead > budget.rows) {
        throw tooMuch(`It reads more than the ${budget.rows} rows a query may read. ${NARROW}`)
      }
    },
    hold(bytes) {
      bytesHeld += bytes
      if (bytesHeld > budget.bytes) {
        throw tooMuch(`Its joins need more memory than the ${budget.bytes} bytes a query may hold. Narrow the joined tables.`)
      }
    },
    isDue: () => clock.now() - lastTurn > LONGEST_HOLD,
    async turn() {
      await scheduler.turn()
      lastTurn = clock.now()
      assertTime()
    },
  }
}

function cancelled(): VaultError {
  return new VaultError('cancelled', 'Query failed. It was cancelled by its AbortSignal.')
}
