/** Sends the small inserts that come at one moment to the server as one statement: one round trip and one commit for all. */
import type { NewRow } from '../../core/ports/storage.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import type { Lane } from './lanes.ts'
import type { Order } from './postgres-driver.ts'
import { isConnectionLost, toPostgresFault } from './postgres-faults.ts'
import { insertRows, type RowTools } from './row-work.ts'

/** A call with more rows goes by itself: it has little to gain. */
const MOST_ROWS_A_CALL = 16
/** Bytes and characters of a call that still goes with others. */
const MOST_LENGTH_A_CALL = 64 * 1024
/** Rows of one statement made of several calls. */
const MOST_ROWS_TOGETHER = 256

export interface InsertTogether {
  /** Resolves when the rows are stored, and fails as if they had been sent alone. */
  insert(shape: TableShape, rows: readonly NewRow[]): Promise<void>
  /** Resolves when every insert begun so far has ended, however it ended. */
  settled(): Promise<unknown>
}

/** One caller's insert, and how it ends. */
interface Call {
  readonly rows: readonly NewRow[]
  stored(): void
  failed(error: unknown): void
}

/** The calls for one table that leave together at the end of this turn of the event loop. */
interface Party {
  readonly calls: Call[]
  rows: number
}

/** Only for a lane that commits each order by itself: inside a transaction one failure would undo the others' work. */
export function createInsertTogether(tools: RowTools, lane: Lane): InsertTogether {
  const gathering = new Map<TableShape, Party>()
  const underWay = new Set<Promise<unknown>>()
  let expectsCompany = true
  const alone = (shape: TableShape, rows: readonly NewRow[]) => insertRows(tools, lane, shape, rows)

  /**
   * The party to join. It leaves at the end of this turn and never waits for an answer of the server: that answer may hang on
   * a lock held by somebody who waits for these very rows. Callers answered together come together again.
   */
  function partyFor(shape: TableShape, rows: number): Party {
    const found = gathering.get(shape)
    if (found !== undefined && found.rows + rows <= MOST_ROWS_TOGETHER) return found
    const made: Party = { calls: [], rows: 0 }
    gathering.set(shape, made)
    setImmediate(() => {
      if (gathering.get(shape) === made) gathering.delete(shape)
      void send(shape, made.calls)
    })
    return made
  }

  function join(shape: TableShape, rows: readonly NewRow[]): Promise<void> {
    const party = partyFor(shape, rows.length)
    party.rows += rows.length
    return new Promise((stored, failed) => {
      party.calls.push({ rows, stored, failed })
    })
  }

  async function send(shape: TableShape, calls: readonly Call[]): Promise<void> {
    const order = calls.length === 1 ? undefined : orderOf(shape, calls)
    if (order === undefined) return sendEach(shape, calls)
    try {
      await lane.run(order)
    } catch (error) {
      if (!isConnectionLost(error)) return sendEach(shape, calls)
      // Whether it was stored is unknown, so nobody's rows may be sent a second time.
      for (const call of calls) call.failed(toPostgresFault(error, { shape }))
      return
    }
    for (const call of calls) call.stored()
  }

  /** Each caller by itself, so that only the one at fault fails, with positions in its own rows. */
  async function sendEach(shape: TableShape, calls: readonly Call[]): Promise<void> {
    await Promise.all(calls.map(({ rows, stored, failed }) => alone(shape, rows).then(stored, failed)))
  }

  /** Undefined where some row cannot be written down at all: its caller is told when all are sent alone. */
  function orderOf(shape: TableShape, calls: readonly Call[]): Order | undefined {
    try {
      return tools.orders.insert(
        shape,
        calls.flatMap(({ rows }) => rows),
      )
    } catch {
      return undefined
    }
  }

  return {
    insert(shape, rows) {
      const alongside = underWay.size > 0
      // Who comes to an empty road, after another who did, is taken to be alone and does not wait even for the turn's end.
      const mine = (alongside || expectsCompany) && isSmall(rows) ? join(shape, rows) : alone(shape, rows)
      expectsCompany = alongside
      const forget = (): boolean => underWay.delete(ended)
      const ended: Promise<unknown> = mine.then(forget, forget)
      underWay.add(ended)
      return mine
    },
    settled: () => Promise.all(underWay),
  }
}

function isSmall(rows: readonly NewRow[]): boolean {
  if (rows.length === 0 || rows.length > MOST_ROWS_A_CALL) return false
  let length = 0
  for (const row of rows) {
    for (const column in row) {
      const cell = row[column]
      if (typeof cell === 'string' || cell instanceof Uint8Array) length += cell.length
    }
  }
  return length <= MOST_LENGTH_A_CALL
}
