/** Inserts, patches and deletes rows of one table, noting each row in the journal before it changes. */

import { isVaultError } from '../../core/errors.ts'
import type { Cell, NewRow, Patch } from '../../core/ports/storage.ts'
import type { Journal } from './journal.ts'
import { columnNamed, conflict, type MemoryTable, putRow, sweepOrder } from './memory-table.ts'
import { type StoredRow, toStoredCell } from './stored-cell.ts'

/** Ids never given before. They stay given, whatever becomes of the transaction that asked. */
export function reserveIds(table: MemoryTable, count: number): readonly number[] {
  const first = table.nextId
  table.nextId += count
  return Array.from({ length: count }, (_, position) => first + position)
}

export function insertRows(table: MemoryTable, rows: readonly NewRow[], journal: Journal): void {
  for (const [position, row] of rows.entries()) {
    if (table.rows.has(row.id)) throw conflict(table.name, ['id'], position)
    const stored = withCells(table, table.blank, row)
    putNoted(table, stored.id, stored, { journal, position })
  }
}

export function updateRows(table: MemoryTable, patches: readonly Patch[], journal: Journal): readonly boolean[] {
  return patches.map((patch, position) => {
    const before = table.rows.get(patch.id)
    if (before === undefined || before.version !== patch.version) return false
    const after = withCells(table, before, patch.set)
    after.id = before.id
    after.version = before.version + 1
    putNoted(table, patch.id, after, { journal, position })
    return true
  })
}

/** Answers the ids that were there, rising. */
export function deleteRows(table: MemoryTable, ids: readonly number[], journal: Journal): readonly number[] {
  const going = [...new Set(ids)].filter((id) => table.rows.has(id)).sort((left, right) => left - right)
  if (journal.mark() === 0) sweepOrder(table)
  for (const [position, id] of going.entries()) putNoted(table, id, undefined, { journal, position })
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

/** Puts a row and notes the one before; a conflict learns its position in the list. */
function putNoted(
  table: MemoryTable,
  id: number,
  after: StoredRow | undefined,
  at: { journal: Journal; position: number },
): void {
  const before = table.rows.get(id)
  try {
    putRow(table, id, after)
  } catch (error) {
    throw isVaultError(error, 'conflict') ? conflict(table.name, error.details[0]?.columns ?? [], at.position) : error
  }
  at.journal.note(table, id, before)
}
