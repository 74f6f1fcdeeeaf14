/** Writes and deletes records together with their stored tokens and transient values: one attempt, all or nothing. */

import { replacedVersion } from '../barrier/digest-values.ts'
import { type MintInput, mintRecords, type StoredRecord } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import { assertVersions, explainConflict } from '../barrier/record-errors.ts'
import { openRows } from '../barrier/reveal.ts'
import { type ResealedRows, resealRows, writeRows } from '../barrier/seal-rows.ts'
import { countTransients, createTokenMetadata, slotOf, type TokenMetadata, type TokenSources } from '../barrier/token-metadata.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import { isVaultError } from '../errors.ts'
import { discardFilesOf } from '../file-store/remove-files.ts'
import { createPace, isRowId, meanwhile, type Pace, possibleRows, workInTurns } from '../pace/pace.ts'
import type { RowAccess } from '../policy/table-access.ts'
import type { Filter, NewRow, Row, Storage, StorageReads } from '../ports/storage.ts'
import { assertNotHeld, type HoldingContext } from '../retention/holds.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Table } from '../schema/layout.ts'
import { FORMER_TOKENS, SUBJECT_KEYS, TOKENS, TRANSIENTS } from '../schema/system-tables.ts'
import { destroyKeys, keepKeys } from '../subject-keys/key-rows.ts'
import { keysOfChanged, keysOfNew } from '../subject-keys/owners.ts'
import type { IndexNotes } from '../unit-of-work/delta-batch.ts'
import { isIdConflict } from '../unit-of-work/gather.ts'
import { insertInOrder, type UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { present } from '../util/lists.ts'
import { nowMs } from '../util/time.ts'
import { DRAWN_TOKEN_TAKEN, STALE } from './attempt-change.ts'
import { chooseTokens, type DrawRequest, tokenTaken, type WriteRequest } from './choose-tokens.ts'
import { type ChangeRequest, findUnchanged } from './compare-stored.ts'
import { completeKeys, replaceOlder, withCompleted } from './former-tokens.ts'
import { withHidden } from './hidden-values.ts'
import { changesOfDeleted, changesOfNew, deltaOf, erasureOf, OverwrittenKeys } from './index-changes.ts'
import { followOwners } from './owner-changes.ts'
import { dropTokens, dropTransients, type NewToken, prepareTokens, reserveTransients } from './token-store.ts'

/** The dependencies of reading, and the event of the operation. */
export interface WritingContext extends ReadingContext {
  readonly catalog: Pick<CatalogFence, 'assertWritable' | 'hiddenTokenIds' | 'holdsFiles' | 'holds'>
  readonly event: WrittenRows
  readonly indexNotes: IndexNotes
  /** Called with the result of new records before they are stored. Source: `OperationContext.note`. */
  readonly note?: ((kept: object) => void) | undefined
}

/** The event of an operation, or those of several that write as one. */
export interface WrittenRows {
  /** Sets the written rows, in place of any set before: a write may have run again. */
  setWrittenRows(table: Table, rows: readonly number[]): void
}

/** Records from which on an insert takes turns between its steps, and makes tokens while the storage writes. For fewer, a turn of the event loop costs as much as it gains. */
const MIN_MEANWHILE = 64

/** Records after a write: their row ids, and the metadata of their tokens. */
export interface Written {
  readonly ids: readonly number[]
  readonly metadata: TokenMetadata
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** 1 for each slot whose token was kept; absent if all are new. */
  readonly kept?: Uint8Array
}

/**
 * Returns the input to mint the tokens of written records. A kept token belongs to the previous value, so it is returned only if that
 * value was visible: `before` is the caller's access to each row before the write, undefined for new rows.
 */
export function mintInputOf(written: Written, records: readonly Values[], before?: readonly RowAccess[]): MintInput {
  const { ids, metadata, nowMs, kept } = written
  return {
    ids,
    metadata,
    nowMs,
    valueOf: (row, column) => records[row]?.[column.position],
    hides: (row, column) => kept?.[slotOf(metadata, row, column)] === 1 && before?.[row]?.level(column) === undefined,
  }
}

/**
 * Mints the ids and, if `input` is given, the tokens of written rows, with a turn of the event loop between two slices. Those of a long list wait for
 * one first: a storage that answers at once held the event loop until now.
 */
export async function mintInTurns(
  { barrier, scheduler }: Pick<WritingContext, 'barrier' | 'scheduler'>,
  table: Table,
  ids: readonly number[],
  input: MintInput | undefined,
): Promise<readonly StoredRecord[]> {
  const minter = mintRecords(barrier.ring, table, ids, input)
  if (ids.length >= MIN_MEANWHILE) await scheduler.yield()
  await workInTurns(scheduler, minter.mintSome)
  return minter.records
}

/** Records to insert, and whether their tokens are returned. */
export interface NewRecords extends WriteRequest {
  readonly tokenization: boolean
}

/** New records: their row ids, and what the caller sees of each, in order. */
export interface StoredNew {
  readonly ids: readonly number[]
  readonly records: readonly StoredRecord[]
}

/**
 * One attempt: stores new records with their tokens and transient values, all or none. Ids are reserved first, so that rows are sealed before the
 * writer is held. Throws `conflict`, `unprocessable`, `tokens_exhausted`, `failed_precondition` if the schema of this process is too old, and what
 * `attemptChange` expects.
 */
export async function storeNew(unit: UnitOfWork, context: WritingContext, given: NewRecords): Promise<StoredNew> {
  const request = withHidden(given)
  const { table, records, tokenization } = request
  const { storage } = unit
  context.catalog.assertWritable(table)
  const isLong = records.length >= MIN_MEANWHILE
  const pace = isLong ? createPace(context) : undefined
  const sources = await tokenSources(storage, context, request)
  await pace?.worked()
  const writer = writeRows(context.barrier, table, { records, sources })
  await workInTurns(context.scheduler, writer.writeSome)
  await pace?.worked()
  const ids = await storage.reserveIds(table.physical.name, records.length)
  const keys = table.owner === undefined ? undefined : await keysOfNew(storage, context, { table, records, ids })
  const { rows, metadata, transients } = writer.seal(ids, keys?.ids)
  const tokens = await prepareTokens(storage, context.barrier.ring, { table, ids, metadata })
  context.event.setWrittenRows(given.table, ids)
  const batches = [
    ...(keys === undefined ? [] : [{ table: SUBJECT_KEYS.name, rows: keys.rows }]),
    { table: table.physical.name, rows },
    { table: TRANSIENTS.name, rows: transients },
    { table: TOKENS.name, rows: rowsOf(tokens) },
    ...(table.indexed.length === 0
      ? []
      : await deltaOf(storage, context, table, await changesOfNew(table, { records, ids }, pace))),
  ]
  const { ring } = context.barrier
  const older = ring.lookupVersions.length === 1 ? undefined : replacedVersion(ring)
  const written = { ids, metadata, nowMs: sources.nowMs }
  const input = tokenization ? mintInputOf(written, records) : undefined
  const noted = context.note === undefined ? undefined : await mintInTurns(context, given.table, ids, input)
  if (noted !== undefined) context.note?.({ records: noted })
  const stored = explained(request, tokens, () =>
    older === undefined
      ? unit.insert(batches)
      : unit.change(async ({ storage: inner }) => {
          await replaceOlder(inner, ring, older, { table, records, tokens })
          await insertInOrder(inner, batches)
        }),
  )
  if (noted !== undefined || pace === undefined) {
    await stored
    return { ids, records: noted ?? (await mintInTurns(context, given.table, ids, input)) }
  }
  const minter = mintRecords(context.barrier.ring, given.table, ids, input)
  await meanwhile(pace, stored, minter.mintSome)
  return { ids, records: minter.records }
}

/**
 * Writes the named values over these rows, all or none. A cell that the caller reads in plain text, and whose value does not change, keeps its token.
 * Throws STALE if a row changed meanwhile, without writing; else like `storeNew`.
 */
export async function storeChanges(unit: UnitOfWork, context: WritingContext, given: ChangeRequest): Promise<Written> {
  const request = withHidden(given)
  const { table, records, rows } = request
  const ids = rows.map((row) => row.id)
  context.catalog.assertWritable(table)
  assertVersions(context.barrier, table, rows)
  const unchanged = await findUnchanged(unit.storage, context, request)
  const sources = await tokenSources(unit.storage, context, { ...request, unchanged })
  const keys = table.owner === undefined ? undefined : await keysOfChanged(unit.storage, context, { table, records, rows })
  const overwritten = table.indexed.length === 0 ? undefined : new OverwrittenKeys(table, request)
  const resealer = resealRows(context.barrier, table, { rows, records, sources, keys, onOpened: overwritten?.note })
  await workInTurns(context.scheduler, resealer.resealSome)
  const resealed = resealer.end()
  const marked = overwritten?.marked(resealed.rows) ?? resealed.rows
  const deltas = overwritten === undefined ? [] : await deltaOf(unit.storage, context, table, overwritten.changes)
  const metadata = withoutKept(resealed)
  const { ring } = context.barrier
  const older = ring.lookupVersions.length === 1 ? undefined : replacedVersion(ring)
  const tokens = await prepareTokens(unit.storage, ring, { table, ids, metadata })
  const completed = older === undefined ? records : await completeKeys(context, request)
  const patches = older === undefined ? marked : withCompleted(ring, { table, records, completed }, marked)
  // Without empty ones, so that the delta is sealed before the writer is held.
  const inserts = [
    { table: TRANSIENTS.name, rows: resealed.transients },
    { table: TOKENS.name, rows: rowsOf(tokens) },
    ...deltas,
    ...(overwritten !== undefined && request.erases === true ? [await erasureOf(unit.storage, context, table)] : []),
  ].filter(({ rows }) => rows.length > 0)
  await explained(request, tokens, () =>
    unit.change(async ({ storage }) => {
      if (older !== undefined) await replaceOlder(storage, ring, older, { table, records: completed, tokens, rows: ids })
      if ((await storage.update(table.physical.name, patches)).includes(false)) throw STALE
      await dropReplaced(storage, table, { ids, resealed })
      if (keys !== undefined) await followOwners(storage, context, table, ids)
      const { restarted } = resealed
      // A purge can delete an expired value meanwhile.
      if (restarted.length > 0 && (await storage.update(TRANSIENTS.name, restarted)).includes(false)) throw STALE
      await insertInOrder(storage, inserts)
      context.event.setWrittenRows(given.table, ids)
    }),
  )
  return { ids, metadata: resealed.metadata, nowMs: sources.nowMs, kept: resealed.kept }
}

function rowsOf(tokens: readonly NewToken[]): NewRow[] {
  return tokens.map(({ stored }) => stored)
}

/** Returns the sources of the tokens of these records: their texts, ids for transient values, and the time. Throws `conflict` for a supplied token in use. */
async function tokenSources(storage: StorageReads, context: ReadingContext, request: DrawRequest): Promise<TokenSources> {
  const { table, records, supplied, unchanged } = request
  const textOf = await chooseTokens(storage, context, request)
  const transientIds = await reserveTransients(storage, countTransients(table, records))
  return { textOf, supplied, transientIds, nowMs: nowMs(context), ...(unchanged !== undefined && { unchanged }) }
}

/** Runs a write, and explains its conflict by the schema: the column and the record whose value or supplied token is in use. */
async function explained(
  { table, supplied, indexes, onValueTaken }: WriteRequest,
  tokens: readonly NewToken[],
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (!isVaultError(error, 'conflict') || isIdConflict(error)) throw error
    const [detail] = error.details
    if (detail?.table === table.physical.name) {
      const conflict = explainConflict(error, table, indexes)
      throw onValueTaken?.(conflict) ?? conflict
    }
    // Another caller noted the same former token.
    if (detail?.table === FORMER_TOKENS.name) throw STALE
    if (detail?.table !== TOKENS.name) throw error
    const token = detail.index === undefined ? undefined : tokens[detail.index]
    const isSupplied = token !== undefined && supplied[token.index]?.get(token.column.name) === token.text
    throw isSupplied ? tokenTaken(table, token.column, indexes[token.index]) : DRAWN_TOKEN_TAKEN
  }
}

/** Returns the metadata without kept texts, which are stored already. */
function withoutKept({ metadata, kept }: ResealedRows): TokenMetadata {
  return { ...metadata, texts: metadata.texts.map((text, slot) => (kept[slot] === 1 ? undefined : text)) }
}

/** Drops the stored tokens and transient values of replaced cells. */
async function dropReplaced(
  storage: Storage,
  table: Table,
  { ids, resealed: { replaced } }: { readonly ids: readonly number[]; readonly resealed: ResealedRows },
): Promise<void> {
  for (const column of table.tokenized) {
    const rows = ids.flatMap((id, row) => {
      const slot = slotOf(replaced, row, column)
      return replaced.texts[slot] === undefined ? [] : [replaced.transientRefs[slot]?.row ?? id]
    })
    if (rows.length > 0) await dropTokens(storage, [column.objectId], rows)
  }
  await dropTransients(storage, replaced)
}

/** What deleting records needs. */
type DeletingContext = HoldingContext & Pick<WritingContext, 'barrier' | 'catalog' | 'clock' | 'indexNotes'>

/** Rows to delete. */
export interface DeletedRows {
  readonly table: Table
  readonly rows: readonly number[]
  /** True to delete their transient values too, and to note that their keys must leave sealed indexes. Default false: those stay until they expire, these until a merge. */
  readonly transients?: boolean | undefined
}

/**
 * Deletes rows and the stored tokens of their cells, and marks their files for removal. Returns the ids that were deleted. Throws `failed_precondition`,
 * with the id of the hold, for a record under legal hold.
 */
export async function deleteRows(
  storage: Storage,
  context: DeletingContext,
  { table, rows, transients = false }: DeletedRows,
): Promise<readonly number[]> {
  const dropsTransients = transients && table.transient.length > 0 && rows.length > 0
  const isOpened = dropsTransients || (table.indexed.length > 0 && rows.length > 0)
  // Others can give a row no other value, no new transient one, and move it to no other subject, before it is deleted.
  if (isOpened || context.catalog.holds > 0) await storage.lock({ kind: 'rows', table: table.physical.name, ids: rows })
  await assertNotHeld(storage, context, { table, rows })
  const found = isOpened ? present(await storage.get(table.physical.name, [...new Set(rows)])) : []
  if (dropsTransients) await dropTransientsOf(storage, context, table, found)
  if (found.length > 0 && table.indexed.length > 0) {
    const { changes, unread } = changesOfDeleted(context.barrier, table, found)
    const isErased = transients || unread.length > 0
    const erasure = isErased ? [await erasureOf(storage, context, table, unread)] : []
    await insertInOrder(storage, [...(await deltaOf(storage, context, table, changes)), ...erasure])
  }
  const deleted = await storage.delete(table.physical.name, { ids: rows })
  await dropOf(storage, context, { table, rows: deleted })
  return deleted
}

/** Drops the transient values of rows, and their stored tokens. */
async function dropTransientsOf(
  storage: Storage,
  { barrier }: DeletingContext,
  table: Table,
  found: readonly Row[],
): Promise<void> {
  const cursor = openRows(barrier, table, found)
  const metadata = createTokenMetadata(table, found.length)
  for (let row = 0; row < found.length; row++) {
    cursor.to(row)
    for (const column of table.transient) cursor.readMetadata(column, metadata, slotOf(metadata, row, column))
  }
  const stored = metadata.transientRefs.flatMap((ref) => ref?.row ?? [])
  const objectIds = table.transient.map(({ objectId }) => objectId)
  await dropTokens(storage, objectIds, stored)
  await dropTransients(storage, metadata)
}

/** Drops the stored tokens of deleted rows, marks their files for removal, and destroys the keys of subjects to whom nothing else belongs. */
async function dropOf(
  storage: Storage,
  context: Pick<WritingContext, 'catalog' | 'clock'>,
  { table, rows }: { readonly table: Table; readonly rows: readonly number[] },
): Promise<void> {
  await dropTokens(storage, recordObjectIds(context, table), rows)
  if (context.catalog.holdsFiles(table)) await discardFilesOf(storage, { table, rows, now: nowMs(context) })
  if (table.owner?.isSubject === true) await (table.owner.isReferenced ? keepKeys : destroyKeys)(storage, table, rows)
}

/** Deletes every row of a table, and the stored tokens of the deleted rows, a slice at a time. The caller's transaction makes it one change. */
export async function deleteEveryRow(
  storage: Storage,
  context: DeletingContext,
  { table, pace, transients }: Omit<DeletedRows, 'rows'> & { readonly pace: Pace },
): Promise<void> {
  // A record that others insert meanwhile is deleted below unread, and its transient values, and what indexes have of it, would stay.
  if (transients === true || table.indexed.length > 0) await storage.lock({ kind: 'tables', tables: [table.physical.name] })
  for await (const rows of eachSlice(storage, table.physical.name, pace))
    await deleteRows(storage, context, { table, rows, transients })
  // Few are left: rows that others inserted meanwhile, of which none is asked for while there are holds, and rows whose id was changed in the database to one that no record has.
  const filter: Filter = context.catalog.holds === 0 ? { kind: 'all' } : IMPOSSIBLE_ROWS
  const rest = await storage.delete(table.physical.name, { filter })
  await dropOf(storage, context, { table, rows: rest.filter(isRowId) })
}

const IMPOSSIBLE_ROWS: Filter = {
  kind: 'or',
  filters: [
    { kind: 'compare', column: 'id', operator: '<', value: 1 },
    { kind: 'not', filter: possibleRows(undefined) },
  ],
}

/** Yields the ids of all rows in slices, rising. */
async function* eachSlice(storage: Storage, table: string, pace: Pace): AsyncGenerator<readonly number[]> {
  for (let after = 0; ; ) {
    const limit = pace.size()
    const rows = await storage.find(table, { kind: 'all' }, { order: 'asc', after, limit, columns: [] })
    const ids = rows.map(({ id }) => id).filter(isRowId)
    const last = ids.at(-1)
    if (last === undefined) return
    yield ids
    if (ids.length < limit) return
    await pace.turn()
    after = last
  }
}

/** Returns the object ids of the columns whose stored tokens belong to the record: all but transient ones. */
function recordObjectIds({ catalog }: Pick<WritingContext, 'catalog'>, table: Table): number[] {
  const own = (table.written ?? table).tokenized.flatMap((column) => (column.token?.expires === true ? [] : [column.objectId]))
  return [...own, ...catalog.hiddenTokenIds(table)]
}
