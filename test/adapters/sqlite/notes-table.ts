/** The tables of the SQLite tests. */
import type { PhysicalTable } from '../../../src/core/ports/storage.ts'

export const NOTES: PhysicalTable = {
  name: 'notes',
  columns: [
    { name: 'label', type: 'text' },
    { name: 'amount', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [{ columns: ['label'], unique: true }],
}

/** A table of nothing but bytes, as those of records are. */
export const SEALED: PhysicalTable = {
  name: 'sealed',
  columns: [
    { name: 'body', type: 'bytes' },
    { name: 'digest', type: 'bytes' },
  ],
  indexes: [{ columns: ['digest'], unique: false }],
}

export const EVERY = { kind: 'all' } as const
export const ALL = { order: 'asc', limit: 100_000 } as const
