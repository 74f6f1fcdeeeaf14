/** The journal outside any transaction: events that come together share one, in a lane of their own. */
import type { EventDraft } from '../audit/event.ts'
import { isVaultError } from '../errors.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { NewRow, Storage, StorageHandle } from '../ports/storage.ts'
import type { Batch } from './commit.ts'
import { insertInOrder } from './commit.ts'
import { commitTogether } from './commit-together.ts'
import type { EventStore } from './event-store.ts'
import type { Journal } from './journal.ts'
import type { Lanes } from './lanes.ts'
import type { Noted } from './settle-commit.ts'
import { settlingCommit } from './settle-commit.ts'

/** An insert with more rows than this goes by itself: it has little to gain. */
const MOST_ROWS_A_CALL = 16
/** Bytes and characters of an insert that still goes with others. */
const MOST_LENGTH_A_CALL = 64 * 1024
/** Rows, and events, of one shared transaction. */
const MOST_ROWS_TOGETHER = 256

/** What the journal is made of; without `events` nothing is recorded, and inserts still share their commits. */
export interface JournalPorts {
  readonly storage: StorageHandle
  readonly scheduler: Scheduler
  readonly lanes: Lanes
  readonly events: EventStore | undefined
}

interface Insert {
  readonly batches: readonly Batch[]
  readonly event: EventDraft
}

export function outerJournal({ storage, scheduler, lanes, events }: JournalPorts): Journal {
  async function within<T>(work: (storage: Storage) => Promise<T>, describe: (answer: T) => readonly EventDraft[]): Promise<T> {
    if (events === undefined) return storage.transaction(work)
    return lanes.use((lane) =>
      settlingCommit({ storage, events }, (noted: Noted<T>) =>
        storage.transaction(async (inner) => {
          const value = await work(inner)
          noted.appended = await events.append(inner, lane, describe(value))
          noted.answer = { value }
          return value
        }),
      ),
    )
  }

  async function insertAll(inserts: readonly Insert[]): Promise<void> {
    const batches = mergeBatches(inserts)
    const [only, ...others] = batches
    if (events === undefined && only !== undefined && others.length === 0) return storage.insert(only.table, only.rows)
    await within(
      (inner) => insertInOrder(inner, batches),
      () => inserts.map(({ event }) => event),
    )
  }

  const company = { scheduler, most: MOST_ROWS_TOGETHER, isOnesOwnFault }
  const insertTogether = commitTogether(insertAll, { ...company, weigh: ({ batches }) => countRows(batches) })
  const noteTogether = commitTogether<EventDraft>(
    (drafts) =>
      within(
        async () => {},
        () => drafts,
      ),
    { ...company, weigh: () => 1 },
  )

  return {
    insert(batches, event) {
      const insert = { batches, event }
      return isSmall(batches) ? insertTogether(insert) : insertAll([insert])
    },
    change: (work, describe) => within(work, (answer) => [describe(answer)]),
    note: async (event) => (events === undefined ? undefined : noteTogether(event)),
  }
}

/** A storage that cannot be reached fails everybody: whether it stored the rows is unknown, so nobody's may be sent a second time. */
function isOnesOwnFault(error: unknown): boolean {
  return !isVaultError(error, 'unavailable')
}

/** The rows of all inserts, each table's together, tables in the order they first come. */
function mergeBatches(inserts: readonly Insert[]): Batch[] {
  const [only] = inserts
  if (only !== undefined && inserts.length === 1) return [...only.batches]
  const tables = new Map<string, NewRow[]>()
  for (const { batches } of inserts) {
    for (const { table, rows } of batches) {
      const merged = tables.get(table)
      if (merged === undefined) tables.set(table, [...rows])
      else merged.push(...rows)
    }
  }
  return [...tables].map(([table, rows]) => ({ table, rows }))
}

function countRows(batches: readonly Batch[]): number {
  return batches.reduce((sum, { rows }) => sum + rows.length, 0)
}

function isSmall(batches: readonly Batch[]): boolean {
  if (countRows(batches) > MOST_ROWS_A_CALL) return false
  let length = 0
  for (const { rows } of batches) {
    for (const row of rows) {
      for (const column in row) {
        const cell = row[column]
        if (typeof cell === 'string' || cell instanceof Uint8Array) length += cell.length
      }
    }
  }
  return length <= MOST_LENGTH_A_CALL
}
