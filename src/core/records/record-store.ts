/** Writes records together with their stored tokens and transient values, all in one transaction. */

import { explainConflict } from '../barrier/explain-conflict.ts'
import type { MintInput } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import type { ResealedRows, SealedRows } from '../barrier/seal-rows.ts'
import { resealRows, sealRows } from '../barrier/seal-rows.ts'
import type { TokenMetadata, TokenSources, TokensByRow } from '../barrier/token-metadata.ts'
import { countTransients, slotOf } from '../barrier/token-metadata.ts'
import { isVaultError } from '../errors.ts'
import type { NewRow, Row, Storage, StorageReads } from '../ports/storage.ts'
import { nowMs, type ReadingContext } from '../row-access/reading-context.ts'
import type { Column, Table } from '../schema/layout.ts'
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

/** Maximum number of attempts, if other callers keep storing drawn tokens between check and write. */
const MAX_ATTEMPTS = 100

/** Thrown inside a transaction to roll it back when a row changed between reading and writing it. */
export const STALE = new Error('a row changed between reading and writing it')

/** Records after a write: their row ids, and the metadata of their tokens. */
export interface Written {
  readonly ids: readonly number[]
  readonly metadata: TokenMetadata
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** 1 for each slot whose token was kept; absent if all are new. */
  readonly kept?: Uint8Array
}

/** Returns whether the caller could see the previous value of a cell. */
export type WasVisible = (row: number, column: Column) => boolean

/** Returns the input to mint the tokens of written records. A kept token belongs to the previous value, so it is returned only if that value was visible. */
export function mintInputOf(written: Written, records: readonly Values[], wasVisible: WasVisible): MintInput {
  const { ids, metadata, nowMs, kept } = written
  return {
    ids,
    metadata,
    nowMs,
    valueOf: (row, column) => records[row]?.[column.position],
    hides: (row, column) => kept?.[slotOf(metadata, row, column)] === 1 && !wasVisible(row, column),
  }
}

/** Stores new records with their tokens and transient values, all or none. Throws `conflict`, `unprocessable` or `tokens_exhausted`. */
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
        await insertSealed(unit, context, { table, sealed, tokens })
        return { ids, metadata: sealed.metadata, nowMs: sources.nowMs }
      },
    }
  })
}

/** Writes the named values over these rows, all or none. Throws STALE if a row changed meanwhile, without writing; else like `storeNew`. */
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
        await updateResealed(unit, context, { table, resealed, tokens })
        return { ids, metadata: resealed.metadata, nowMs: sources.nowMs, kept: resealed.kept }
      },
    }
  })
}

/** A prepared write, and the tokens that it stores. */
interface PreparedWrite {
  readonly tokens: readonly NewToken[]
  write(): Promise<Written>
}

/** Prepares and writes. Runs again with new tokens if a drawn one was taken meanwhile. Explains other conflicts by column and record. */
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

/** Returns the sources of the tokens of these records. Throws `conflict` for a supplied token in use. */
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
  { table, sealed, tokens }: { readonly table: Table; readonly sealed: SealedRows<NewRow>; readonly tokens: readonly NewToken[] },
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
  { table, resealed, tokens }: { readonly table: Table; readonly resealed: ResealedRows; readonly tokens: readonly NewToken[] },
): Promise<void> {
  const ids = resealed.rows.map((patch) => patch.id)
  const stored = await tokenRows(unit.storage, context.barrier.ring, tokens)
  await unit.change(async ({ storage }) => {
    if ((await storage.update(table.physical.name, resealed.rows)).includes(false)) throw STALE
    await dropReplaced(storage, table, { ids, replaced: resealed.replaced })
    await insertTransients(storage, resealed.transients)
    await insertTokens(storage, stored)
    context.event.setWrittenRows(table, ids)
  })
}

/** Returns a conflict with the column and record whose value or supplied token is taken; any other error unchanged. */
function explainWriting(error: unknown, tokens: readonly NewToken[], { table, supplied, indexes }: WriteRequest): unknown {
  if (!isVaultError(error, 'conflict')) return error
  const [detail] = error.details
  if (detail?.table === table.physical.name) return explainConflict(error, table, indexes)
  if (detail?.table !== TOKENS.name) return error
  const taken = suppliedAt(detail.index, tokens, { table, supplied })
  return taken === undefined ? error : tokenTaken(table, { name: taken.column }, indexes[taken.row])
}

/** True if a drawn token conflicts with one that another caller stored first. Drawing again resolves it. */
function isDrawnTokenTaken(error: unknown, tokens: readonly NewToken[], request: WriteRequest): boolean {
  if (!isVaultError(error, 'conflict') || error.details[0]?.table !== TOKENS.name) return false
  return suppliedAt(error.details[0].index, tokens, request) === undefined
}

/** Returns the column and record of the supplied token at an index of the stored tokens; undefined if it was drawn. */
function suppliedAt(
  index: number | undefined,
  tokens: readonly NewToken[],
  { table, supplied }: { readonly table: Table; readonly supplied: TokensByRow },
): { readonly column: string; readonly row: number } | undefined {
  const token = index === undefined ? undefined : tokens[index]
  const column = table.tokenized.find(({ objectId }) => objectId === token?.objectId)
  if (token === undefined || column === undefined) return undefined
  return supplied[token.index]?.get(column.name) === token.text ? { column: column.name, row: token.index } : undefined
}

/** Returns the metadata without kept texts, which are stored already. */
function withoutKept({ metadata, kept }: ResealedRows): TokenMetadata {
  return { ...metadata, texts: metadata.texts.map((text, slot) => (kept[slot] === 1 ? undefined : text)) }
}

/** Drops the stored tokens and transient values of replaced cells. */
async function dropReplaced(
  storage: Storage,
  table: Table,
  { ids, replaced }: { readonly ids: readonly number[]; readonly replaced: TokenMetadata },
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
  const deleted = await storage.delete(table.physical.name, { ids: rows })
  await dropTokens(storage, recordObjectIds(table), deleted)
  return deleted
}

/** Maximum number of row ids in one statement that drops tokens. */
const SLICE = 10_000

/** Deletes every row of a table, and the stored tokens of the deleted rows, but not of rows inserted meanwhile. */
export async function deleteEveryRow(storage: Storage, table: Table): Promise<void> {
  const deleted = await storage.delete(table.physical.name, { filter: { kind: 'all' } })
  const objectIds = recordObjectIds(table)
  for (let start = 0; start < deleted.length; start += SLICE)
    await dropTokens(storage, objectIds, deleted.slice(start, start + SLICE))
}

/** Returns the object ids of the columns whose stored tokens belong to the record: all but transient ones. */
function recordObjectIds(table: Table): number[] {
  return table.tokenized.flatMap((column) => (column.token?.expires === true ? [] : [column.objectId]))
}
