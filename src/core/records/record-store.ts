/** Writes records together with what stands beside them: remembered tokens and values that live apart, all in one transaction. */
import type { Admitted, Amended } from '../barrier/admit.ts'
import { admitRows, amendRows } from '../barrier/admit.ts'
import { explainConflict } from '../barrier/explain-conflict.ts'
import type { MarkSources, Marks, TokenTexts } from '../barrier/marks.ts'
import { countTransients, slotOf } from '../barrier/marks.ts'
import type { Marked } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import { isVaultError } from '../errors.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import type { NewRow, Row, Storage } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { TOKENS, TRANSIENTS } from '../schema/side-tables.ts'
import { assertUnderived, tokenTaken } from './assert-token-free.ts'
import { drawTokens } from './draw-tokens.ts'
import type { WritingContext } from './writing-context.ts'
import { nowMs } from './writing-context.ts'
import type { NewToken } from './token-store.ts'
import { dropTokens, insertTokens, tokenRows, tokensToStore } from './token-store.ts'
import { dropTransients, insertTransients, reserveTransients } from './transient-store.ts'
import type { Writing } from './write-request.ts'

/** Times drawn tokens are drawn again because others took them between looking and storing. */
const MOST_ATTEMPTS = 100

/** Thrown inside a transaction to undo it when a row changed between reading and writing it. */
export const STALE = new Error('a row changed between reading and writing it')

/** Records as they were written: their rows, and what their tokens are told by. */
export interface Written {
  readonly ids: readonly number[]
  readonly marks: Marks
  readonly nowMs: number
  /** A 1 for each slot whose token was kept as it stood; absent where all are new. */
  readonly kept?: Uint8Array
}

/** Whether somebody may see what a cell of a row held before. */
export type SawBefore = (row: number, column: Column) => boolean

/** What the tokens of records just written are told by. A kept token tells of a value that stood there before: only whoever saw that is told. */
export function markedOf(written: Written, records: readonly Values[], sawBefore: SawBefore): Marked {
  const { ids, marks, nowMs, kept } = written
  return {
    ids,
    marks,
    nowMs,
    valueOf: (row, column) => records[row]?.[column.position],
    hides: (row, column) => kept?.[slotOf(marks, row, column)] === 1 && !sawBefore(row, column),
  }
}

/** Stores new records and what stands beside them, all or none. Throws `conflict` or `unprocessable` in the words of the schema. */
export async function storeNew(context: WritingContext, table: Table, writing: Writing): Promise<Written> {
  for (let attempt = 1; ; attempt++) {
    const sources = await prepareMarks(context, table, writing)
    const ids = await context.unit.storage.reserveIds(table.physical.name, writing.records.length)
    const admitted = admitRows(context.barrier, table, { ids, records: writing.records, sources })
    const tokens = tokensToStore(table, ids, admitted.marks)
    try {
      await insertAdmitted(context, table, admitted, tokens)
      return { ids, marks: admitted.marks, nowMs: sources.nowMs }
    } catch (error) {
      if (attempt === MOST_ATTEMPTS || !isTokenRace(error, table, tokens, writing))
        throw explainStoring(error, table, tokens, writing)
    }
  }
}

/** Writes the named values into rows as they stand, all or none; undefined where a row changed meanwhile, and then nothing was written. */
export async function storeChanges(
  context: WritingContext,
  table: Table,
  rows: readonly Row[],
  writing: Writing,
): Promise<Written | undefined> {
  const ids = rows.map((row) => row.id)
  for (let attempt = 1; ; attempt++) {
    const sources = await prepareMarks(context, table, writing)
    const amended = amendRows(context.barrier, table, { rows, records: writing.records, sources })
    const tokens = tokensToStore(table, ids, withoutKept(amended))
    try {
      const isWritten = await updateAmended(context, table, amended, tokens)
      return isWritten ? { ids, marks: amended.marks, nowMs: sources.nowMs, kept: amended.kept } : undefined
    } catch (error) {
      if (attempt === MOST_ATTEMPTS || !isTokenRace(error, table, tokens, writing))
        throw explainStoring(error, table, tokens, writing)
    }
  }
}

/** What the marks of these records are drawn from: brought texts, drawn ones, ids for values that live apart, and the time. */
async function prepareMarks(context: WritingContext, table: Table, writing: Writing): Promise<MarkSources> {
  const { records, brought } = writing
  await assertUnderived(context, table, writing)
  const texts = await drawTokens(context, table, writing)
  const transientIds = await reserveTransients(context.unit.storage, countTransients(table, records))
  return { texts, brought, transientIds, nowMs: nowMs(context) }
}

/** The records and what stands beside them. */
async function insertAdmitted(
  context: WritingContext,
  table: Table,
  admitted: Admitted<NewRow>,
  tokens: readonly NewToken[],
): Promise<void> {
  const remembered = await tokenRows(context.unit.storage, context.barrier.ring, tokens)
  const batches = [
    { table: table.physical.name, rows: admitted.rows },
    { table: TRANSIENTS.name, rows: admitted.transients },
    { table: TOKENS.name, rows: remembered },
  ]
  context.story.writes(
    table,
    admitted.rows.map(({ id }) => id),
  )
  await context.unit.insert(batches)
}

/** False where a row changed meanwhile. */
async function updateAmended(
  context: WritingContext,
  table: Table,
  amended: Amended,
  tokens: readonly NewToken[],
): Promise<boolean> {
  const ids = amended.rows.map((patch) => patch.id)
  const remembered = await tokenRows(context.unit.storage, context.barrier.ring, tokens)
  try {
    const write = async ({ storage }: UnitOfWork<Storage>): Promise<void> => {
      if ((await storage.update(table.physical.name, amended.rows)).includes(false)) throw STALE
      await dropReplaced(storage, table, ids, amended)
      await insertTransients(storage, amended.transients)
      await insertTokens(storage, remembered)
      context.story.writes(table, ids)
    }
    await context.unit.change(write)
    return true
  } catch (error) {
    if (error === STALE) return false
    throw error
  }
}

/** What storing came to, in the words of the schema: which column's value or brought token is taken, and of which record. */
function explainStoring(error: unknown, table: Table, tokens: readonly NewToken[], { brought, verb, indexes }: Writing): unknown {
  if (!isVaultError(error, 'conflict')) return error
  if (error.details[0]?.table === table.physical.name) return explainConflict(error, table, verb, indexes)
  if (error.details[0]?.table !== TOKENS.name) return error
  const taken = broughtAt(error.details[0]?.index, table, tokens, brought)
  if (taken === undefined) return error
  return tokenTaken(table, { name: taken.column }, verb, indexes[taken.place] ?? 0)
}

/** Deletes rows and the tokens that stood for their cells. Values that live apart stay until their time. Answers the ids that went. */
export async function deleteRows(storage: Storage, table: Table, rows: readonly number[]): Promise<readonly number[]> {
  const gone = await storage.delete(table.physical.name, { ids: rows })
  await dropTokens(storage, spacesOf(table), gone)
  return gone
}

/** Ids that one statement forgets tokens by. */
const SLICE = 10_000

/** Deletes every row of a table and the tokens that stood for their cells: of the rows that went, not of those that came meanwhile. */
export async function deleteAll(storage: Storage, table: Table): Promise<void> {
  const gone = await storage.delete(table.physical.name, { filter: { kind: 'every' } })
  for (let at = 0; at < gone.length; at += SLICE) await dropTokens(storage, spacesOf(table), gone.slice(at, at + SLICE))
}

/** True for the conflict of a drawn token with one that somebody else stored first: drawing again mends it. */
function isTokenRace(error: unknown, table: Table, tokens: readonly NewToken[], { brought }: Writing): boolean {
  return (
    isVaultError(error, 'conflict') &&
    error.details[0]?.table === TOKENS.name &&
    broughtAt(error.details[0]?.index, table, tokens, brought) === undefined
  )
}

/** The column and place of the brought token a conflict is about; undefined where it is about a drawn one. */
function broughtAt(
  index: number | undefined,
  table: Table,
  tokens: readonly NewToken[],
  brought: TokenTexts,
): { readonly column: string; readonly place: number } | undefined {
  const token = index === undefined ? undefined : tokens[index]
  const column = table.tokenized.find(({ space }) => space === token?.space)
  if (token === undefined || column === undefined) return undefined
  return brought[token.place]?.get(column.name) === token.text ? { column: column.name, place: token.place } : undefined
}

/** The marks whose texts are new: a stable column's kept text is remembered already. */
function withoutKept({ marks, kept }: Amended): Marks {
  return { ...marks, texts: marks.texts.map((text, slot) => (kept[slot] === 1 ? undefined : text)) }
}

/** Drops what stood beside the cells that were written over. */
async function dropReplaced(storage: Storage, table: Table, ids: readonly number[], { replaced }: Amended): Promise<void> {
  const stale = table.tokenized.flatMap((column) =>
    ids.flatMap((id, row) => {
      const slot = row * replaced.width + column.tokenPosition
      return replaced.texts[slot] === undefined ? [] : [{ space: column.space, row: replaced.tickets[slot]?.row ?? id }]
    }),
  )
  for (const space of new Set(stale.map((token) => token.space))) {
    await dropTokens(
      storage,
      [space],
      stale.flatMap((token) => (token.space === space ? [token.row] : [])),
    )
  }
  await dropTransients(storage, replaced)
}

/** Spaces whose tokens stand for cells of the record itself. */
function spacesOf(table: Table): number[] {
  return table.tokenized.flatMap((column) => (column.token?.expires === true ? [] : [column.space]))
}
