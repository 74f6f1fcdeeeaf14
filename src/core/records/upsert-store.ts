/** Writes records by a unique column, all or none: changes existing ones and inserts the others. */
import { isSameValue } from '../barrier/digest-values.ts'
import { keyOfCell } from '../barrier/lookup.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { mintRecords } from '../barrier/mint-tokens.ts'
import type { RecordIndex, Values } from '../barrier/parse-record.ts'
import { columnValues } from '../barrier/reveal.ts'
import { fault, isVaultError } from '../errors.ts'
import type { Cell, Row, Storage, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at, required } from '../util/at.ts'
import { retry } from '../util/retry.ts'
import type { WasVisible, Written } from './record-store.ts'
import { mintInputOf, STALE, storeChanges, storeNew } from './record-store.ts'
import type { WriteRequest } from './write-request.ts'
import type { WritingContext } from './writing-context.ts'

/** Maximum number of attempts, if others keep changing the same records. */
const MAX_ATTEMPTS = 1000

/** One record to write by its key. */
export interface UpsertRecord {
  /** The stored cell by which the key is looked up. */
  readonly cell: Exclude<Cell, null>
  readonly values: Values
  readonly supplied: ReadonlyMap<string, string> | undefined
  readonly index: RecordIndex
}

/** An existing row, and the values to write over it. */
export interface RowChange {
  readonly row: Row
  readonly values: Values
  readonly index: RecordIndex
}

/** Records with distinct keys. The checks throw if the records cannot be written, before anything is written. */
export interface UpsertRequest {
  readonly table: Table
  readonly key: Column
  readonly records: readonly UpsertRecord[]
  readonly tokenization: boolean
  checkNew(records: readonly UpsertRecord[]): void
  checkChanges(changes: readonly RowChange[]): void
  /** Returns whether the caller can see each cell of these rows. */
  wasVisible(rows: readonly Row[]): WasVisible
}

/** Returns the written records in the order of the request. Runs inside a change, and adds the written rows to the event. Throws `aborted` if the records changed in every attempt. */
export async function storeUpserts(
  unit: UnitOfWork<Storage>,
  context: WritingContext,
  request: UpsertRequest,
): Promise<readonly StoredRecord[]> {
  const { table, key, records } = request
  const policy = {
    maxAttempts: MAX_ATTEMPTS,
    shouldRetry: (error: unknown) => error === STALE,
    exhausted: () =>
      fault('aborted', { table: table.name })`The records of table ${table.name} changed concurrently in every attempt. Retry.`,
  }
  return retry(policy, async () => {
    const found = await findByKey(unit.storage, context, request)
    request.checkNew(records.filter((_, index) => found[index] === undefined))
    request.checkChanges(
      records.flatMap(({ values, index }, position) => {
        const row = found[position]
        return row === undefined ? [] : [{ row, values, index }]
      }),
    )
    try {
      return await unit.change((inner) => storeOnce(inner, context, { ...request, found }))
    } catch (error) {
      // Another caller inserted the same key between the look-up and the write.
      throw isVaultError(error, 'conflict') && error.details[0]?.column === key.name ? STALE : error
    }
  })
}

/** Returns the existing row of each record, in order; undefined for a new record. */
async function findByKey(
  storage: StorageReads,
  { barrier }: WritingContext,
  { table, key, records }: UpsertRequest,
): Promise<(Row | undefined)[]> {
  const lookup = required(key.lookup, 'The look-up column of an upsert')
  const cells = records.map((record) => record.cell)
  const filter = { kind: 'in', column: lookup, values: cells } as const
  const rows = await storage.find(table.physical.name, filter, { order: 'asc', limit: records.length })
  const held = columnValues(barrier, table, key, rows)
  const byCell = new Map(rows.map((row, index) => [keyOfCell(row[lookup]), index]))
  return records.map(({ cell, values }) => {
    const index = byCell.get(keyOfCell(cell))
    // The opened value decides, so that a digest moved in the database finds no wrong record.
    return index !== undefined && isSameValue(key, held[index], values[key.position]) ? rows[index] : undefined
  })
}

/** One attempt, in its own savepoint: changes to existing records, then the new ones. */
async function storeOnce(
  unit: UnitOfWork<Storage>,
  context: WritingContext,
  request: UpsertRequest & { readonly found: readonly (Row | undefined)[] },
): Promise<StoredRecord[]> {
  const { table, records, found, tokenization } = request
  const positions = records.map((_, position) => position)
  const existing = positions.filter((position) => found[position] !== undefined)
  const fresh = positions.filter((position) => found[position] === undefined)
  const stored: StoredRecord[] = new Array(records.length)
  const ids: number[] = []
  const keep = (chosen: readonly number[], written: Written, { records: values }: WriteRequest): void => {
    const wasVisible = request.wasVisible(chosen.flatMap((position) => found[position] ?? []))
    const mintInput = tokenization ? mintInputOf(written, values, wasVisible) : undefined
    const minted = mintRecords(context.barrier.ring, table, written.ids, mintInput)
    for (const [k, position] of chosen.entries()) stored[position] = at(minted, k)
    ids.push(...written.ids)
  }
  if (existing.length > 0) {
    const rows = existing.flatMap((position) => found[position] ?? [])
    const write = writeRequestOf(request, existing)
    keep(existing, await storeChanges(unit, context, { ...write, rows }), write)
  }
  if (fresh.length > 0) {
    const write = writeRequestOf(request, fresh)
    keep(fresh, await storeNew(unit, context, write), write)
  }
  context.event.setWrittenRows(table, ids)
  return stored
}

function writeRequestOf({ table, records }: UpsertRequest, positions: readonly number[]): WriteRequest {
  const chosen = positions.map((position) => at(records, position))
  return {
    table,
    records: chosen.map(({ values }) => values),
    supplied: chosen.map(({ supplied }) => supplied),
    indexes: chosen.map(({ index }) => index),
  }
}
