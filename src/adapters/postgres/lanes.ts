/** Where orders run: a lane of the pool, of a transaction, of a savepoint in it, or of a transaction the host opened. */
import { VaultError } from '../../core/errors.ts'
import { endedError } from '../sql/sql-errors.ts'
import type { Line, Order, RawRow } from './postgres-driver.ts'
import { isCollision, markCollision } from './postgres-faults.ts'

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
  /** What the first failed order here threw: PostgreSQL will then undo everything on this level. */
  failure(): unknown
}

/** A level of nesting on one line. While a savepoint below is open, orders of this level wait: they must not be undone with it. */
export function createInnerLane(line: Line, depth = 1): InnerLane {
  let open = true
  let failure: unknown
  let below: Promise<void> | undefined

  async function run(order: Order): Promise<readonly RawRow[]> {
    if (!open) throw endedError()
    while (below !== undefined) await below
    try {
      return (await line.send(order)).rows
    } catch (error) {
      failure ??= error
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
    failure: () => failure,
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
    if (inner.failure() !== undefined) throw swallowedError()
    post(`release savepoint ${name}`)
    return result
  } catch (error) {
    post(`rollback to savepoint ${name}`)
    post(`release savepoint ${name}`)
    throw afterFailure(inner, error)
  } finally {
    inner.end()
  }
}

/** The error to pass on: whatever it is, a transaction that lost against another may be run again. */
export function afterFailure(inner: InnerLane, error: unknown): unknown {
  if (isCollision(inner.failure())) markCollision(error)
  return error
}

/** PostgreSQL undoes a transaction in which a statement failed, even where the caller caught the error. */
export function swallowedError(): VaultError {
  return new VaultError(
    'internal',
    'A statement inside this transaction failed and its error was caught, so nothing was stored; let the error pass, or catch it outside a nested transaction.',
  )
}
