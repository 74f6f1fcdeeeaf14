/** The tables every vault has beside its records: tokens that must be remembered, values that live for a while, and the audit trail. */
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

/** Audit events, sealed. A row's id is its lane and its place in it, so that order by id is the order of the chains. `at` is in nanoseconds since 1970, for time windows. */
export const AUDIT_EVENTS: PhysicalTable = {
  name: 'audit_events',
  columns: [
    { name: 'at', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [{ columns: ['at'], unique: false }],
}

/** The head of each lane, sealed: the place and digest of its last event. A row's id is the lane. */
export const AUDIT_LANES: PhysicalTable = {
  name: 'audit_lanes',
  columns: [{ name: 'body', type: 'bytes' }],
  indexes: [],
}

/** All of them. */
export const SIDE_TABLES: readonly PhysicalTable[] = [TOKENS, TRANSIENTS, AUDIT_EVENTS, AUDIT_LANES]
