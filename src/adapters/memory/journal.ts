/** The undo journal: what to put back when a change or transaction fails, and so what readers outside still see. */

import { currentView, type MemoryTable, putRow, type TableView } from './memory-table.ts'
import type { StoredRow } from './stored-cell.ts'

export interface Journal {
  /** Notes the row an id held (or held not) before it changes. */
  note(table: MemoryTable, id: number, before: StoredRow | undefined): void
  /** Notes how to take back a change that is not one of a row. */
  noteOther(undo: () => void): void
  /** The place to come back to: a savepoint. */
  mark(): number
  /** Puts everything back as it was at the mark, latest first. */
  undo(mark: number): void
  /** What was noted is committed. */
  forget(): void
  /** A table as it was before anything in the journal happened. */
  committedView(table: MemoryTable): TableView
}

interface RowNote {
  readonly table: MemoryTable
  readonly id: number
  readonly before: StoredRow | undefined
}

type Images = Map<number, StoredRow | undefined>

export function createJournal(): Journal {
  const notes: (RowNote | (() => void))[] = []
  const firstImages = new Map<string, Images>()
  let imagesTaken = 0

  /** The first image of each changed row, brought up to date only when somebody outside reads. */
  function imagesOf(table: MemoryTable): Images {
    for (; imagesTaken < notes.length; imagesTaken++) {
      const note = notes[imagesTaken]
      if (typeof note !== 'object') continue
      const images = firstImages.get(note.table.name) ?? new Map<number, StoredRow | undefined>()
      firstImages.set(note.table.name, images)
      if (!images.has(note.id)) images.set(note.id, note.before)
    }
    return firstImages.get(table.name) ?? new Map()
  }

  return {
    note: (table, id, before) => void notes.push({ table, id, before }),
    noteOther: (undo) => void notes.push(undo),
    mark: () => notes.length,
    undo(mark) {
      while (notes.length > mark) {
        const note = notes.pop()
        if (typeof note === 'function') note()
        else if (note !== undefined) putRow(note.table, note.id, note.before)
      }
      imagesTaken = Math.min(imagesTaken, mark)
    },
    forget() {
      notes.length = 0
      firstImages.clear()
      imagesTaken = 0
    },
    committedView(table) {
      if (notes.length === 0) return currentView(table)
      const images = imagesOf(table)
      return {
        table,
        rowAt: (id) => (images.has(id) ? images.get(id) : table.rows.get(id)),
        changedIds: [...images.keys()],
      }
    },
  }
}
