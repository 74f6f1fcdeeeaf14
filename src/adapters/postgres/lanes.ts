/** Where orders run: a lane of the pool, of a transaction, of a savepoint in it, or of a transaction the host opened. */
import { VaultError } from '../../core/errors.ts'
import { createRevocable, type Revocable } from '../sql/revocable.ts'
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
  /** Refuses every further order here and on all levels below, undoes what still runs below, and waits for the orders sent. */
  end(): Promise<void>
  /** What the first failed order here threw: PostgreSQL will then undo everything on this level. */
  failure(): unknown
}

/** The level a savepoint stands in. */
interface Level {
  readonly depth: number
  isOpen(): boolean
}

/** The savepoint open on a level, with its end, after which the level may send again. */
interface Below {
  readonly work: Revocable
  readonly over: Promise<void>
}

/** A level of nesting on one line. While a savepoint below is open, orders of this level wait: they must not be undone with it. */
export function createInnerLane(line: Line, above?: Level): InnerLane {
  const sent = createSentOrders(line)
  let ended = false
  let below: Below | undefined
  const level: Level = {
    depth: (above?.depth ?? 0) + 1,
    isOpen: () => !ended && (above === undefined || above.isOpen()),
  }

  async function run(order: Order): Promise<readonly RawRow[]> {
    assertOpen(level)
    while (below !== undefined) await below.over
    assertOpen(level)
    return sent.send(order)
  }

  async function atomic<T>(work: (lane: Lane) => Promise<T>): Promise<T> {
    assertOpen(level)
    while (below !== undefined) await below.over
    assertOpen(level)
    const revocable = createRevocable()
    let free = (): void => {}
    const over = new Promise<void>((resolve) => {
      free = resolve
    })
    below = { work: revocable, over }
    try {
      return await withSavepoint(line, level, (lane) => revocable.run(() => work(lane)))
    } finally {
      below = undefined
      free()
    }
  }

  async function end(): Promise<void> {
    ended = true
    below?.work.revoke()
    while (below !== undefined) await below.over
    await sent.answered()
  }

  return { lane: { inside: true, run, atomic }, end, failure: sent.failure }
}

function assertOpen(level: Level): void {
  if (!level.isOpen()) throw endedError()
}

/** The orders of one level: which are on the way, and how the first of them failed. */
interface SentOrders {
  send(order: Order): Promise<readonly RawRow[]>
  answered(): Promise<unknown>
  failure(): unknown
}

function createSentOrders(line: Line): SentOrders {
  const onTheWay = new Set<Promise<unknown>>()
  let failure: unknown
  return {
    async send(order) {
      const answer = line.send(order)
      onTheWay.add(answer)
      try {
        return (await answer).rows
      } catch (error) {
        failure ??= error
        throw error
      } finally {
        onTheWay.delete(answer)
      }
    },
    answered: () => Promise.allSettled(onTheWay),
    failure: () => failure,
  }
}

/** Savepoint orders are sent without waiting, but at the end of one on a shared line: they run in order, and whatever goes wrong with one fails all after it. */
async function withSavepoint<T>(line: Line, above: Level, work: (lane: Lane) => Promise<T>): Promise<T> {
  const name = `sr_${above.depth}`
  const post = (text: string): Promise<unknown> => line.send({ text, parameters: [] }).catch(() => {})
  const close = async (...texts: readonly string[]): Promise<void> => {
    const posted = Promise.all(texts.map(post))
    // The application's next order must not overtake them: it would be undone with what they undo.
    if (line.isShared === true) await posted
  }
  const inner = createInnerLane(line, above)
  void post(`savepoint ${name}`)
  try {
    const result = await work(inner.lane)
    await inner.end()
    if (inner.failure() !== undefined) throw swallowedError()
    await close(`release savepoint ${name}`)
    return result
  } catch (error) {
    await inner.end()
    await close(`rollback to savepoint ${name}`, `release savepoint ${name}`)
    throw afterFailure(inner, error)
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
