/** Writes records together with their stored tokens and transient values, all in one transaction. */

import { explainConflict } from '../barrier/explain-conflict.ts'
import type { MintInput } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import type { ResealedRows, SealedRows } from '../barrier/seal-rows.ts'
import { resealRows, sealRows } from '../barrier/seal-rows.ts'
import type { TokenMetadata, TokenSources, TokensByRow } from '../barrier/token-metadata.ts'
import { countTransients, slotOf } from '../barrier/token-metadata.ts'
import { isVaultError } from '../errors.ts'
import type { RowAccess } from '../policy/table-access.ts'
import type { NewRow, Row, Storage, StorageReads } from '../ports/storage.ts'
import { nowMs, type ReadingContext } from '../row-access/reading-context.ts'
import type { Table } from '../schema/layout.ts'
import { TOKENS, TRANSIENTS } from '../schema/system-tables.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { retry } from '../util/retry.ts'
import { assertTokensFree, tokenTaken } from './assert-token-free.ts'
import { drawTokens } from './draw-tokens.ts'
import type { NewToken } from './token-store.ts'
import { dropTokens, insertTokens, tokenRows, tokensToStore } from './token-store.ts'
import { dropTransients, insertTransients, reserveTransients } from './transient-store.ts'
import type { WriteRequest } from './write-request.ts'
import type { WritingContext } from './writing-context.ts'

/** Times tokens are drawn again because another caller stored one of them between the check and the write. */
const MAX_ATTEMPTS = 100

/** Thrown inside a transaction to roll it back when a row changed between reading and writing it. */
export const STALE = new Error('a row changed between reading and writing it')

/** Records as they were written: their rows, and what their tokens are made of. */
export interface Written {
  readonly ids: readonly number[]
  readonly metadata: TokenMetadata
  readonly nowMs: number
  /** A 1 for each slot whose token was kept; absent where all are new. */
  readonly kept?: Uint8Array
}

/**
 * What the tokens of written records are made of. A kept token reveals a value that was there before, so it is shown only where
 * the caller could read that value: `before` is the caller's access to each row before the write, absent for new rows.
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

/** Stores new records with their tokens and transient values, all or none. Throws `conflict` or `unprocessable`. */
export function storeNew(unit: UnitOfWork, context: WritingContext, request: WriteRequest): Promise<Written> {
  const { table, records } = request
  return writeWithTokens(request, async () => {
    const sources = await prepareTokens(unit.storage, context, request)
    const ids = await unit.storage.reserveIds(table.physical.name, records.length)
    const sealed = sealRows(context.barrier, table, { ids, records, sources })
    const tokens = tokensToStore(table, ids, sealed.metadata)
    return {
      tokens,
      async write() {
        await insertSealed(unit, context, { table, admitted: sealed, tokens })
        return { ids, metadata: sealed.metadata, nowMs: sources.nowMs }
      },
    }
  })
}

/** Writes the named values over these rows, all or none. Throws STALE where a row changed meanwhile; then nothing was written. */
export function storeChanges(
  unit: UnitOfWork,
  context: WritingContext,
  { rows, ...request }: WriteRequest & { readonly rows: readonly Row[] },
): Promise<Written> {
  const { table, records } = request
  const ids = rows.map((row) => row.id)
  return writeWithTokens(request, async () => {
    const sources = await prepareTokens(unit.storage, context, request)
    const resealed = resealRows(context.barrier, table, { rows, records, sources })
    const tokens = tokensToStore(table, ids, withoutKept(resealed))
    return {
      tokens,
      async write() {
        await updateResealed(unit, context, { table, amended: resealed, tokens })
        return { ids, metadata: resealed.metadata, nowMs: sources.nowMs, kept: resealed.kept }
      },
    }
  })
}

/** A write that is ready, with the tokens it stores. */
interface PreparedWrite {
  readonly tokens: readonly NewToken[]
  write(): Promise<Written>
}

/** Prepares and writes, again with fresh tokens where a drawn one was taken meanwhile. Conflicts are explained by column and record. */
function writeWithTokens(request: WriteRequest, prepare: () => Promise<PreparedWrite>): Promise<Written> {
  let tokens: readonly NewToken[] = []
  const policy = {
    maxAttempts: MAX_ATTEMPTS,
    shouldRetry: (error: unknown) => isDrawnTokenTaken(error, tokens, request),
  }
  return retry(policy, async () => {
    const prepared = await prepare()
    tokens = prepared.tokens
    try {
      return await prepared.write()
    } catch (error) {
      throw isDrawnTokenTaken(error, tokens, request) ? error : explainWriting(error, tokens, request)
    }
  })
}

/** What the tokens of these records are made of: supplied texts, drawn ones, ids for transient values, and the time. */
async function prepareTokens(storage: StorageReads, context: ReadingContext, request: WriteRequest): Promise<TokenSources> {
  const { table, records, supplied } = request
  await assertTokensFree(storage, context, request)
  const texts = await drawTokens(storage, context, request)
  const transientIds = await reserveTransients(storage, countTransients(table, records))
  return { texts, supplied, transientIds, nowMs: nowMs(context) }
}

async function insertSealed(
  unit: UnitOfWork,
  context: WritingContext,
  {
    table,
    admitted: sealed,
    tokens,
  }: { readonly table: Table; readonly admitted: SealedRows<NewRow>; readonly tokens: readonly NewToken[] },
): Promise<void> {
  const stored = await tokenRows(unit.storage, context.barrier.ring, tokens)
  context.event.setWrittenRows(
    table,
    sealed.rows.map(({ id }) => id),
  )
  await unit.insert([
    { table: table.physical.name, rows: sealed.rows },
    { table: TRANSIENTS.name, rows: sealed.transients },
    { table: TOKENS.name, rows: stored },
  ])
}

async function updateResealed(
  unit: UnitOfWork,
  context: WritingContext,
  {
    table,
    amended: resealed,
    tokens,
  }: { readonly table: Table; readonly amended: ResealedRows; readonly tokens: readonly NewToken[] },
): Promise<void> {
  const ids = resealed.rows.map((patch) => patch.id)
  const stored = await tokenRows(unit.storage, context.barrier.ring, tokens)
  await unit.change(async ({ storage }) => {
    if ((await storage.update(table.physical.name, resealed.rows)).includes(false)) throw STALE
    await dropReplaced(storage, table, { ids, amended: resealed })
    await insertTransients(storage, resealed.transients)
    await insertTokens(storage, stored)
    context.event.setWrittenRows(table, ids)
  })
}

/** A conflict explained by the schema: which column's value or supplied token is taken, and of which record. Any other error as it is. */
function explainWriting(error: unknown, tokens: readonly NewToken[], { table, supplied, indexes }: WriteRequest): unknown {
  if (!isVaultError(error, 'conflict')) return error
  const [detail] = error.details
  if (detail?.table === table.physical.name) return explainConflict(error, table, indexes)
  if (detail?.table !== TOKENS.name) return error
  const taken = suppliedAt(detail.index, tokens, { table, supplied })
  return taken === undefined ? error : tokenTaken(table, { name: taken.column }, indexes[taken.row])
}

/** True for the conflict of a drawn token with one that another caller stored first: drawing again resolves it. */
function isDrawnTokenTaken(error: unknown, tokens: readonly NewToken[], request: WriteRequest): boolean {
  if (!isVaultError(error, 'conflict') || error.details[0]?.table !== TOKENS.name) return false
  return suppliedAt(error.details[0].index, tokens, request) === undefined
}

/** The column and row of the supplied token at this index of a list; undefined where that token was drawn. */
function suppliedAt(
  index: number | undefined,
  tokens: readonly NewToken[],
  { table, supplied }: { readonly table: Table; readonly supplied: TokensByRow },
): { readonly column: string; readonly row: number } | undefined {
  const token = index === undefined ? undefined : tokens[index]
  const column = table.tokenized.find(({ objectId }) => objectId === token?.space)
  if (token === undefined || column === undefined) return undefined
  return supplied[token.place]?.get(column.name) === token.text ? { column: column.name, row: token.place } : undefined
}

/** The marks whose texts are new: the kept text of a stable column is stored already. */
function withoutKept({ metadata, kept }: ResealedRows): TokenMetadata {
  return { ...metadata, texts: metadata.texts.map((text, slot) => (kept[slot] === 1 ? undefined : text)) }
}

/** Drops the stored tokens and transient values of replaced cells. */
async function dropReplaced(
  storage: Storage,
  table: Table,
  { ids, amended: { replaced } }: { readonly ids: readonly number[]; readonly amended: ResealedRows },
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

/** Deletes rows and the stored tokens of their cells. Transient values stay until they expire. Returns the ids that were deleted. */
export async function deleteRows(storage: Storage, table: Table, rows: readonly number[]): Promise<readonly number[]> {
  const gone = await storage.delete(table.physical.name, { ids: rows })
  await dropTokens(storage, recordSpaces(table), gone)
  return gone
}

/** Ids by which one statement drops tokens. */
const SLICE = 10_000

/** Deletes every row of a table and the stored tokens of the rows that were deleted, not of those inserted meanwhile. */
export async function deleteEveryRow(storage: Storage, table: Table): Promise<void> {
  const gone = await storage.delete(table.physical.name, { filter: { kind: 'all' } })
  const objectIds = recordSpaces(table)
  for (let start = 0; start < gone.length; start += SLICE) await dropTokens(storage, objectIds, gone.slice(start, start + SLICE))
}

/** The columns whose tokens stand for cells of the record itself. */
function recordSpaces(table: Table): number[] {
  return table.tokenized.flatMap((column) => (column.token?.expires === true ? [] : [column.objectId]))
}
