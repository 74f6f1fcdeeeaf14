/** Inserts, patches and deletes rows of one table, after adding each row to the undo log. */

import { isVaultError, type VaultError } from '../../core/errors.ts'
import { type Cell, MAX_ROW_ID, type NewRow, type Patch } from '../../core/ports/storage.ts'
import { conflictError, idsExhaustedError, outOfOrderError } from '../errors/storage-errors.ts'
import { columnNamed, type LatestIds, type MemoryTable, putRow, sweepOrder } from './memory-table.ts'
import { compareCells, type StoredRow, toStoredCell } from './stored-cell.ts'
import type { UndoLog } from './undo-log.ts'

/** Ids never given out before. They are not given out again, even if the transaction rolls back. */
export function reserveIds(table: MemoryTable, count: number): readonly number[] {
  const first = table.nextId
  if (count > 0 && first + count - 1 > MAX_ROW_ID) throw idsExhaustedError(table.name)
  table.nextId += count
  return Array.from({ length: count }, (_, position) => first + position)
}

export function insertRows(table: MemoryTable, rows: readonly NewRow[], undoLog: UndoLog): void {
  if (table.latest !== undefined) assertInOrder(table, table.latest, rows)
  for (const [position, row] of rows.entries()) {
    if (table.rows.has(row.id)) throw conflictError(table.name, ['id'], { index: position })
    const stored = withCells(table, table.blank, row)
    putLogged(table, stored.id, stored, { undoLog, position })
  }
}

/** Throws `conflict` on `id` if one of the rows is not above all that were committed before. */
function assertInOrder(table: MemoryTable, latest: LatestIds, rows: readonly NewRow[]): void {
  const lowest = rows.reduce((least, { id }) => Math.min(least, id), Number.POSITIVE_INFINITY)
  if (lowest <= latest.committed) {
    for (const id of table.rows.keys()) if (id >= lowest && id <= latest.committed) throw outOfOrderError(table.name)
  }
  for (const { id } of rows) if (id > latest.inserted) latest.inserted = id
}

export function updateRows(table: MemoryTable, patches: readonly Patch[], undoLog: UndoLog): readonly boolean[] {
  return patches.map((patch, position) => {
    const before = table.rows.get(patch.id)
    if (before === undefined || before.version !== patch.version || !hasCells(table, before, patch.expected)) return false
    const after = withCells(table, before, patch.set)
    after.id = before.id
    after.version = before.version + 1
    putLogged(table, patch.id, after, { undoLog, position })
    return true
  })
}

/** True if a row has these cells. */
function hasCells(table: MemoryTable, row: StoredRow, expected: Patch['expected']): boolean {
  for (const name in expected) {
    const cell = toStoredCell(columnNamed(table, name), expected[name] ?? null, asGiven)
    const stored = row[name] ?? null
    const isSame = cell === null || stored === null ? cell === stored : compareCells(cell, stored) === 0
    if (!isSame) return false
  }
  return true
}

function asGiven(bytes: Uint8Array): Uint8Array {
  return bytes
}

/** Returns the ids that existed, rising. */
export function deleteRows(table: MemoryTable, ids: readonly number[], undoLog: UndoLog): readonly number[] {
  const going = [...new Set(ids)].filter((id) => table.rows.has(id)).sort((left, right) => left - right)
  if (undoLog.savepoint() === 0) sweepOrder(table)
  for (const [position, id] of going.entries()) putLogged(table, id, undefined, { undoLog, position })
  return going
}

/** A copy of a stored row with some cells replaced. */
function withCells(table: MemoryTable, base: StoredRow, cells: Readonly<Record<string, Cell>>): StoredRow {
  const row = { ...base }
  for (const name in cells) {
    row[name] = toStoredCell(columnNamed(table, name), cells[name] ?? null, table.keepBytes)
  }
  return row
}

/** Puts a row and logs the one before. A conflict reports its position in the list. */
function putLogged(
  table: MemoryTable,
  id: number,
  after: StoredRow | undefined,
  at: { undoLog: UndoLog; position: number },
): void {
  const before = table.rows.get(id)
  try {
    putRow(table, id, after)
  } catch (error) {
    throw isVaultError(error, 'conflict') ? conflictError(table.name, columnsOf(error), { index: at.position }) : error
  }
  at.undoLog.add(table, id, before)
}

/** The columns a conflict names. */
function columnsOf(conflict: VaultError): readonly string[] {
  return conflict.details[0]?.columns ?? []
}
