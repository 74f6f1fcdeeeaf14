/** Where orders run: a lane of the pool, of a transaction, of a savepoint in it, or of a transaction the host opened. */
import { VaultError } from '../../core/errors.ts'
import { endedError } from '../sql/sql-errors.ts'
import type { Line, Order, RawRow } from './postgres-driver.ts'

export interface Lane {
  /** True inside a transaction, where waiting for others who hold connections could never end. */
  readonly inside: boolean
  /** Runs one order; rejects with whatever the driver threw. */
  run(order: Order): Promise<readonly RawRow[]>
  /** Runs all or nothing: a transaction on the pool, a savepoint inside one. Rethrows what work throws. */
  atomic<T>(work: (lane: Lane) => Promise<T>): Promise<T>
}

/** A lane inside a transaction, with what its owner must know. */
export interface InnerLane {
  readonly lane: Lane
  /** Refuses every further order. */
  end(): void
  /** True when an order failed here, so that PostgreSQL will undo everything on this level. */
  failed(): boolean
}

/** A level of nesting on one line. While a savepoint below is open, orders of this level wait: they must not be undone with it. */
export function createInnerLane(line: Line, depth = 1): InnerLane {
  let open = true
  let failed = false
  let below: Promise<void> | undefined

  async function run(order: Order): Promise<readonly RawRow[]> {
    if (!open) throw endedError()
    while (below !== undefined) await below
    try {
      return (await line.send(order)).rows
    } catch (error) {
      failed = true
      throw error
    }
  }

  async function atomic<T>(work: (lane: Lane) => Promise<T>): Promise<T> {
    if (!open) throw endedError()
    while (below !== undefined) await below
    let ended = (): void => {}
    below = new Promise((resolve) => {
      ended = resolve
    })
    try {
      return await withSavepoint(line, depth, work)
    } finally {
      below = undefined
      ended()
    }
  }

  return {
    lane: { inside: true, run, atomic },
    end: () => {
      open = false
    },
    failed: () => failed,
  }
}

/** Savepoint orders are sent without waiting: they run in order, and whatever goes wrong with one fails all after it. */
async function withSavepoint<T>(line: Line, depth: number, work: (lane: Lane) => Promise<T>): Promise<T> {
  const name = `sr_${depth}`
  const post = (text: string) => void line.send({ text, parameters: [] }).catch(() => {})
  const inner = createInnerLane(line, depth + 1)
  post(`savepoint ${name}`)
  try {
    const result = await work(inner.lane)
    if (inner.failed()) throw swallowedError()
    post(`release savepoint ${name}`)
    return result
  } catch (error) {
    post(`rollback to savepoint ${name}`)
    post(`release savepoint ${name}`)
    throw error
  } finally {
    inner.end()
  }
}

/** PostgreSQL undoes a transaction in which a statement failed, even where the caller caught the error. */
export function swallowedError(): VaultError {
  return new VaultError(
    'internal',
    'A statement inside this transaction failed and its error was caught, so nothing was stored; let the error pass, or catch it outside a nested transaction.',
  )
}
