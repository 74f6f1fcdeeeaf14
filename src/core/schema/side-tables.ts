/** The tables every vault has beside its records: tokens that must be remembered, and values that live for a while. */
import type { PhysicalTable } from '../ports/storage.ts'

/** Tokens drawn in a format or brought by a caller: digest of the text -> which cell. The text itself stands sealed in the cell. */
export const TOKENS: PhysicalTable = {
  name: 'tokens',
  columns: [
    { name: 'digest', type: 'bytes' },
    { name: 'space', type: 'integer' },
    { name: 'row_id', type: 'integer' },
  ],
  indexes: [
    { columns: ['digest'], unique: true },
    { columns: ['row_id', 'space'], unique: false },
  ],
}

/** Transient values, each sealed with its stamp and its expiry. `expires_at` is in milliseconds since 1970, for the sweep alone. */
export const TRANSIENTS: PhysicalTable = {
  name: 'transients',
  columns: [
    { name: 'body', type: 'bytes' },
    { name: 'expires_at', type: 'integer' },
  ],
  indexes: [{ columns: ['expires_at'], unique: false }],
}
