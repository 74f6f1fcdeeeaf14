/** Expire: deletes records, or empties values, whose retention has ended, a slice at a time. Not an operation of callers: a sweep performs it, so that each slice leaves an event. */
import type { Values } from '../barrier/parse-record.ts'
import type { OperationContext } from '../execution/context.ts'
import type { Operation } from '../execution/operation.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import { attemptChange, STALE } from '../records/attempt-change.ts'
import { deleteRows, storeChanges } from '../records/record-store.ts'
import { findHeld } from '../retention/holds.ts'
import type { Column } from '../schema/column-layout.ts'
import type { KeptTime, Table } from '../schema/layout.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { present } from '../util/lists.ts'
import { latestBefore } from '../util/period.ts'
import { nowMs } from '../util/time.ts'

/** Rows of a table to which a rule may apply. */
export interface ExpiringRows {
  readonly table: Table
  readonly kept: KeptTime
  readonly rows: readonly number[]
}

/** What the event says of a slice. */
interface ExpiredSlice {
  readonly table: string
  readonly column?: string
  /** Rows that had expired when they were read. */
  readonly count: number
}

/** Returns the latest time of a row that has expired. */
export function expiredSince(context: Pick<OperationContext, 'clock'>, { period }: Pick<KeptTime, 'period'>): number {
  return latestBefore(nowMs(context), period)
}

/**
 * Returns the operation for a slice. What was written, held or deleted since it was read is passed over. Its result is the number of records deleted, or of
 * values emptied.
 */
export function expireRecords({
  table: { objectId },
  kept: { cell, column },
  rows,
}: ExpiringRows): Operation<ExpiredSlice, undefined, number> {
  return {
    action: 'EXPIRE',
    resourceType: column === undefined ? 'RECORD' : 'TABLE',
    verb: 'Sweep',
    members: ['table', 'column', 'count'],
    recorded: { table: 'name', column: 'name', count: 'number' },
    parse: () => undefined,
    async execute(context) {
      // The rule as it is in this attempt: it can have another period by now, or be gone.
      const table = [...context.layout.tables.values()].find((one) => one.objectId === objectId)
      const kept = table?.kept.find((one) => one.cell === cell)
      if (table === undefined || kept === undefined || kept.isFilling) return 0
      context.event.setTable(table)
      return attemptChange(context.unit, { table, scheduler: context.scheduler }, async (unit) => {
        const expired = await readExpired(unit.storage, context, { table, kept, rows })
        if (expired.length === 0) return 0
        if (kept.column === undefined) return deleteExpired(unit, context, table, expired)
        return emptyExpired(unit, context, { table, column: kept.column, expired })
      })
    },
  }
}

/** Returns those of the rows that have expired now, and that no hold keeps. */
async function readExpired(
  storage: StorageReads,
  context: OperationContext,
  { table, kept, rows }: ExpiringRows,
): Promise<readonly Row[]> {
  const since = expiredSince(context, kept)
  const found = present(await storage.get(table.physical.name, rows))
  const expired = found.filter(({ [kept.cell]: cell }) => typeof cell === 'number' && cell <= since)
  const held = await findHeld(storage, context, { table, rows: expired.map(({ id }) => id) })
  return expired.filter(({ id }) => !held.has(id))
}

/** Throws STALE if one of the rows changed meanwhile: its time may be another one. */
async function deleteExpired(
  unit: UnitOfWork,
  context: OperationContext,
  table: Table,
  expired: readonly Row[],
): Promise<number> {
  return unit.change(async ({ storage }) => {
    const patches = expired.map(({ id, version }) => ({ id, version, set: {} }))
    if ((await storage.update(table.physical.name, patches)).includes(false)) throw STALE
    const deleted = await deleteRows(storage, context, { table, rows: expired.map(({ id }) => id), transients: true })
    context.event.setWrittenRows(table, deleted)
    return deleted.length
  })
}

async function emptyExpired(
  unit: UnitOfWork,
  context: OperationContext,
  { table, column, expired }: { readonly table: Table; readonly column: Column; readonly expired: readonly Row[] },
): Promise<number> {
  const values: unknown[] = new Array(table.columns.length).fill(undefined)
  values[column.position] = null
  const records = expired.map((): Values => values)
  await storeChanges(unit, context, { table, rows: expired, records, supplied: [], indexes: [], erases: true })
  return expired.length
}
