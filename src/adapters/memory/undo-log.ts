/** The undo log: the rows to restore when a change or transaction fails, which readers outside still see. */

import { at } from '../../core/util/lists.ts'
import { currentView, type MemoryTable, putRow, type TableView } from './memory-table.ts'
import type { StoredRow } from './stored-cell.ts'

export interface UndoLog {
  /** Adds the row of an id, or that there was none, before it changes. */
  add(table: MemoryTable, id: number, before: StoredRow | undefined): void
  /** Adds how to undo a change that is not one of a row. */
  addOther(undo: () => void): void
  /** The present length, to roll back to. */
  savepoint(): number
  /** Undoes all changes after the savepoint, latest first. */
  rollbackTo(savepoint: number): void
  /** Drops everything, because it is committed. */
  clear(): void
  /** A table as it was before all changes in the log. */
  committedView(table: MemoryTable): TableView
}

interface RowEntry {
  readonly table: MemoryTable
  readonly id: number
  readonly before: StoredRow | undefined
}

function noteCommitted({ latest }: MemoryTable): void {
  if (latest !== undefined) latest.committed = latest.inserted
}

type Images = Map<number, StoredRow | undefined>

export function createUndoLog(): UndoLog {
  const entries: (RowEntry | (() => void))[] = []
  const firstImages = new Map<string, Images>()
  let imagesTaken = 0

  /** The first image of each changed row, updated only when an outside reader needs it. */
  function imagesOf(table: MemoryTable): Images {
    for (; imagesTaken < entries.length; imagesTaken++) {
      const entry = at(entries, imagesTaken)
      if (typeof entry === 'function') continue
      const images = firstImages.get(entry.table.name) ?? new Map<number, StoredRow | undefined>()
      firstImages.set(entry.table.name, images)
      if (!images.has(entry.id)) images.set(entry.id, entry.before)
    }
    return firstImages.get(table.name) ?? new Map()
  }

  return {
    add: (table, id, before) => void entries.push({ table, id, before }),
    addOther: (undo) => void entries.push(undo),
    savepoint: () => entries.length,
    rollbackTo(savepoint) {
      while (entries.length > savepoint) {
        const entry = entries.pop()
        if (typeof entry === 'function') entry()
        else if (entry !== undefined) putRow(entry.table, entry.id, entry.before)
      }
      imagesTaken = Math.min(imagesTaken, savepoint)
    },
    clear() {
      for (const entry of entries) if (typeof entry !== 'function') noteCommitted(entry.table)
      entries.length = 0
      if (firstImages.size > 0) firstImages.clear()
      imagesTaken = 0
    },
    committedView(table) {
      if (entries.length === 0) return currentView(table)
      const images = imagesOf(table)
      return {
        table,
        rowAt: (id) => (images.has(id) ? images.get(id) : table.rows.get(id)),
        get changedIds() {
          return [...images.keys()]
        },
      }
    },
  }
}
