/** System tables, which every vault has besides its records: stored tokens, transient values, files and their contents, credentials, the audit trail, sealed indexes, and slow work that runs. */
import type { Filter, PhysicalTable } from '../ports/storage.ts'

/** Stored tokens, drawn in a format or supplied by a caller: the digest of the text, and the object id and row id of its cell. The cell holds the text, sealed. */
export const TOKENS: PhysicalTable = {
  name: 'tokens',
  columns: [
    { name: 'digest', type: 'bytes' },
    { name: 'object_id', type: 'integer' },
    { name: 'row_id', type: 'integer' },
  ],
  indexes: [
    { columns: ['digest'], unique: true },
    { columns: ['row_id', 'object_id'], unique: false },
  ],
}

/**
 * Deterministic tokens of the older root key, while look-up keys are rotated: `digest` is the one that its text shows, `successor` the one that records
 * have. Nothing but a hint: the opened value decides.
 */
export const FORMER_TOKENS: PhysicalTable = {
  name: 'former_tokens',
  columns: [
    { name: 'digest', type: 'bytes' },
    { name: 'successor', type: 'bytes' },
  ],
  indexes: [{ columns: ['digest'], unique: true }],
}

/**
 * Transient values, each sealed with its token check and its expiry, and bound to the object id of its column. `expires_at` is in milliseconds since
 * 1970, and used only to purge.
 */
export const TRANSIENTS: PhysicalTable = {
  name: 'transients',
  columns: [
    { name: 'body', type: 'bytes' },
    { name: 'object_id', type: 'integer' },
    { name: 'expires_at', type: 'integer' },
  ],
  indexes: [{ columns: ['expires_at'], unique: false }],
}

/**
 * Files. The sealed body has the key and the length of the content, and the state of its scan. `table_id` and `row_id` say whose file it
 * is, so that it ends with its record. `scan_at` and `remove_at` are in milliseconds since 1970, and only say when a scan or a removal is
 * due: an upload in progress has a time to remove it in case it is never finished. Null: nothing is due.
 */
export const FILES: PhysicalTable = {
  name: 'files',
  columns: [
    { name: 'body', type: 'bytes' },
    { name: 'table_id', type: 'integer' },
    { name: 'row_id', type: 'integer' },
    { name: 'scan_at', type: 'integer' },
    { name: 'remove_at', type: 'integer' },
  ],
  indexes: [
    { columns: ['row_id', 'table_id'], unique: false },
    { columns: ['scan_at'], unique: false },
    { columns: ['remove_at'], unique: false },
  ],
}

/**
 * Credentials, revoked JWTs, what serves only once, the idempotency keys of writes, and legal holds; `kind` says which. `digest` is the keyed digest of its name, such as the key id.
 * The sealed body says the same, and decides. `expires_at` is in milliseconds since 1970, and used only to purge. Null: never.
 */
export const CREDENTIALS: PhysicalTable = {
  name: 'credentials',
  columns: [
    { name: 'digest', type: 'bytes' },
    { name: 'kind', type: 'integer' },
    { name: 'body', type: 'bytes' },
    { name: 'expires_at', type: 'integer' },
  ],
  indexes: [
    { columns: ['digest'], unique: true },
    { columns: ['kind'], unique: false },
    { columns: ['expires_at'], unique: false },
  ],
}

/**
 * Audit events, sealed. The row id is the chain and the sequence number, so that order by id is the order of the chains. `at` is the time
 * of the event in nanoseconds since 1970. It is verified, but nothing is searched by it: a writer of the database can change it. See
 * docs/inside/events.md.
 */
export const AUDIT_EVENTS: PhysicalTable = {
  name: 'audit_events',
  columns: [
    { name: 'at', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [],
}

/**
 * The head of each chain, sealed: the sequence number and digest of its last event, and its Merkle tree. The row id is the chain. `released` is
 * the version with which its writer gave the chain up: as long as the row has that version, no process holds the chain.
 */
export const AUDIT_CHAINS: PhysicalTable = {
  name: 'audit_chains',
  columns: [
    { name: 'body', type: 'bytes' },
    { name: 'released', type: 'integer' },
  ],
  indexes: [],
}

/**
 * What `released` says of every chain of a storage that a vault was moved out of. Each writer with the audit on reads or expects the head of its chain, whose
 * version is raised with it; one without looks at the row of the schema, as one does that begins a chain. So each reads the catalog again, and finds that
 * the storage is closed.
 */
export const CLOSED_CHAIN = -1

/** The catalog: the vault id, the wrapped root keys, and the sealed schema with the states of the root keys. */
export const CATALOG: PhysicalTable = {
  name: 'catalog',
  columns: [
    { name: 'entry', type: 'text', isShort: true },
    { name: 'key_id', type: 'text' },
    { name: 'content', type: 'bytes' },
  ],
  indexes: [{ columns: ['entry'], unique: true }],
}

/** The marker that a vault was founded here: one sealed row with the generation of the catalog, which so cannot be emptied or rolled back alone. */
export const MARKER: PhysicalTable = { name: 'vault_marker', columns: [{ name: 'body', type: 'bytes' }], indexes: [] }

/** The processes that have the vault open, each with the keys that it knows, sealed. `at` is in milliseconds since 1970, and used only to forget those that never closed it. */
export const OPENINGS: PhysicalTable = {
  name: 'openings',
  columns: [
    { name: 'at', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [],
}

/** Blobs that are stored in the database: the key, the number of pieces that are stored, and the length in bytes once the blob is whole. */
export const BLOBS: PhysicalTable = {
  name: 'blobs',
  columns: [
    { name: 'key', type: 'text', isShort: true },
    { name: 'pieces', type: 'integer' },
    { name: 'size', type: 'integer' },
  ],
  indexes: [{ columns: ['key'], unique: true }],
}

/** Pieces of these blobs, all of one length but the last. The row id is the row id of the blob and the position of the piece. */
export const BLOB_PIECES: PhysicalTable = {
  name: 'blob_pieces',
  columns: [{ name: 'content', type: 'bytes' }],
  indexes: [],
}

/** A lease that has ended, of a row that is listed. */
export const ENDED_LEASE = 1

/**
 * Slow work that runs, or that another process can go on with. The sealed body says what, where and how far. `job` is the name of work that only one
 * process at a time may do, else null. `lease_until` is in milliseconds since 1970: a row is leased as long as this and its body say so, because a copy of a
 * vault, which is made without keys, ends the leases of the processes of its source.
 */
export const MAINTENANCE: PhysicalTable = {
  name: 'maintenance',
  columns: [
    { name: 'job', type: 'text', isShort: true },
    { name: 'lease_until', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [{ columns: ['job'], unique: true }],
}

/**
 * Subjects that were forgotten, one row for each time. The sealed body has the receipt, and which record it was. `table_id` and `row_id` say whose it is, and
 * `at` is in milliseconds since 1970: both only find the rows, and the body decides.
 */
export const FORGOTTEN: PhysicalTable = {
  name: 'forgotten',
  columns: [
    { name: 'at', type: 'integer' },
    { name: 'table_id', type: 'integer' },
    { name: 'row_id', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [
    { columns: ['row_id', 'table_id'], unique: false },
    { columns: ['at'], unique: false },
  ],
}

/**
 * Keys of subjects, each 32 random bytes, sealed: without its row nothing that is sealed with it opens. `table_id` and `row_id` say which record is the
 * subject's. `check_at` is in milliseconds since 1970: when to look whether that record was stored, where the keys are in a storage of their own. Null:
 * no need.
 */
export const SUBJECT_KEYS: PhysicalTable = {
  name: 'subject_keys',
  columns: [
    { name: 'table_id', type: 'integer' },
    { name: 'row_id', type: 'integer' },
    { name: 'check_at', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [{ columns: ['row_id', 'table_id'], unique: true }],
}

/** The same in a storage of their own, where the sweep looks for keys without records. An index less is a third of what a key costs to insert. */
export const SUBJECT_KEYS_APART: PhysicalTable = {
  ...SUBJECT_KEYS,
  indexes: [...SUBJECT_KEYS.indexes, { columns: ['check_at'], unique: false }],
}

/**
 * What sealed indexes are made of, sealed. `space` is the object id of a table of records in a delta, which has what one commit changed in the indexes of that
 * table, and the object id of an index in the head of a run. A row is never changed, but for the key that it is sealed with. `mark` is of the body that was
 * stored: a row that was rolled back can have had the same id, and what is kept in memory is known by both.
 */
export const INDEX_RUNS: PhysicalTable = {
  name: 'index_runs',
  columns: [
    { name: 'space', type: 'integer' },
    { name: 'mark', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [{ columns: ['space'], unique: false }],
}

/** The blocks of runs, all of one size. `run` is the row id of the head. The ids of one run are in random order: they say nothing of the order of keys. */
export const INDEX_BLOCKS: PhysicalTable = {
  name: 'index_blocks',
  columns: [
    { name: 'run', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [{ columns: ['run'], unique: false }],
}

/** All system tables, except for the catalog. */
export const SYSTEM_TABLES: readonly PhysicalTable[] = [
  MARKER,
  TOKENS,
  FORMER_TOKENS,
  TRANSIENTS,
  FILES,
  CREDENTIALS,
  AUDIT_EVENTS,
  AUDIT_CHAINS,
  OPENINGS,
  BLOBS,
  BLOB_PIECES,
  MAINTENANCE,
  FORGOTTEN,
  SUBJECT_KEYS,
  INDEX_RUNS,
  INDEX_BLOCKS,
]

/** Returns the filter of what belongs to these records, in a system table with `table_id` and `row_id`. */
export function ofRecords({ objectId }: { readonly objectId: number }, records: readonly number[]): Filter {
  return {
    kind: 'and',
    filters: [
      { kind: 'in', column: 'row_id', values: records },
      { kind: 'compare', column: 'table_id', operator: '=', value: objectId },
    ],
  }
}
