/** Checks what rows have in other tables: their stored tokens and their transient values. */
import { keyOfCell } from '../barrier/digest-values.ts'
import { slotOf, type TransientRef } from '../barrier/token-metadata.ts'
import { type FoundTransient, revealTransients } from '../barrier/transients.ts'
import { eachPossiblePage } from '../pace/pace.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import { digestTokenTexts, getTransients } from '../records/token-store.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import { TOKENS } from '../schema/system-tables.ts'
import { required } from '../util/lists.ts'
import { nowMs } from '../util/time.ts'
import type { OpenedPage } from './check-records.ts'
import type { RecordFindingKind, Suspicion } from './record-findings.ts'

/** A cell whose stored token and transient value are checked. */
interface TokenCell {
  readonly row: Row
  readonly column: Column
  /** The text of its stored token; undefined if it has none. */
  readonly text: string | undefined
  readonly transientRef: TransientRef | undefined
  /** The token check, if the cell has one. */
  readonly check: readonly [high: number, low: number] | undefined
}

/** Returns what is wrong with the stored tokens and the transient values of these rows. An expired value may be purged at any time, so it is not checked. */
export async function checkStoredTokens(
  storage: StorageReads,
  context: ReadingContext,
  page: OpenedPage,
): Promise<readonly Suspicion[]> {
  const cells = tokenCells(page)
  if (cells.length === 0) return []
  return [...(await checkTransients(storage, context, cells)), ...(await checkTokens(storage, context, cells))]
}

/** Returns the tokenized cells of the rows that opened. Cells without a value are included: they must have no stored token. */
function tokenCells({ table, rows, values, metadata }: OpenedPage): TokenCell[] {
  return rows.flatMap((row, index) => {
    if (values[index] === undefined) return []
    return table.tokenized.map((column) => {
      const slot = slotOf(metadata, index, column)
      const check = [required(metadata.high[slot]), required(metadata.low[slot])] as const
      return {
        row,
        column,
        text: metadata.texts[slot],
        transientRef: metadata.transientRefs[slot],
        check: metadata.hasCheck[slot] === 1 ? check : undefined,
      }
    })
  })
}

async function checkTransients(
  storage: StorageReads,
  context: ReadingContext,
  cells: readonly TokenCell[],
): Promise<readonly Suspicion[]> {
  const suspicions: Suspicion[] = []
  for (const column of new Set(cells.map((cell) => cell.column))) {
    const live = cells.filter((cell) => cell.column === column && cell.transientRef !== undefined)
    const rows = await getTransients(
      storage,
      live.flatMap(({ transientRef }) => transientRef?.row ?? []),
    )
    const found = revealTransients(context.barrier, column, rows)
    for (const [index, cell] of live.entries()) {
      const stored = rows[index]
      const kind = stored === undefined ? 'missing_transient' : compareTransient(column, cell, stored, found[index])
      if (kind !== undefined && !isExpired(context, cell)) suspicions.push({ kind, row: cell.row, column })
    }
  }
  return suspicions
}

/** Returns `wrong_transient` if a stored transient value does not open, or is not that of the cell. */
function compareTransient(
  column: Column,
  { transientRef, text, check }: TokenCell,
  stored: Row,
  found: FoundTransient | undefined,
): RecordFindingKind | undefined {
  const isSame =
    found !== undefined &&
    found.expiresAt === transientRef?.expiresAt &&
    Number(stored.object_id) === column.objectId &&
    Number(stored.expires_at) === transientRef.expiresAt &&
    found.text === text &&
    (check === undefined || (found.high === check[0] && found.low === check[1]))
  return isSame ? undefined : 'wrong_transient'
}

/** The clock is read after storage, so that a purge between the two is not mistaken for a loss. */
function isExpired(context: ReadingContext, { transientRef }: TokenCell): boolean {
  return transientRef !== undefined && transientRef.expiresAt <= nowMs(context)
}

async function checkTokens(
  storage: StorageReads,
  context: ReadingContext,
  cells: readonly TokenCell[],
): Promise<readonly Suspicion[]> {
  const stored = await storedTokensOf(storage, cells)
  const withText = cells.filter(({ text }) => text !== undefined)
  const { ring } = context.barrier
  const texts = withText.flatMap(({ text }) => text ?? [])
  const digests = ring.lookupVersions.map((version) => digestTokenTexts(ring, texts, version))
  const expected = new Map(withText.map((cell, index) => [cell, digests.map(({ [index]: digest }) => keyOfCell(digest))]))
  return cells.flatMap((cell) => {
    const kinds = compareTokens(stored.get(locationOf(cell)) ?? [], expected.get(cell))
    return kinds.length === 0 || isExpired(context, cell)
      ? []
      : kinds.map((kind) => ({ kind, row: cell.row, column: cell.column }))
  })
}

/** Returns the digests of the stored tokens of these cells, as keys, by location. */
async function storedTokensOf(storage: StorageReads, cells: readonly TokenCell[]): Promise<Map<string, string[]>> {
  const wanted = new Set(cells.map(locationOf))
  const stored = new Map<string, string[]>()
  const filters = [
    { kind: 'in', column: 'row_id', values: [...new Set(cells.map(rowIdOf))] },
    { kind: 'in', column: 'object_id', values: [...new Set(cells.map(({ column }) => column.objectId))] },
  ] as const
  for await (const rows of eachPossiblePage(storage, TOKENS.name, { filter: { kind: 'and', filters } })) {
    for (const { object_id: objectId, row_id: row, digest } of rows) {
      const location = `${objectId}/${row}`
      if (wanted.has(location)) stored.set(location, [...(stored.get(location) ?? []), keyOfCell(digest)])
    }
  }
  return stored
}

/** Returns how the stored tokens of one cell differ from the digests that its text can have. */
function compareTokens(stored: readonly string[], expected: readonly string[] | undefined): RecordFindingKind[] {
  if (expected === undefined) return stored.map(() => 'unexpected_token')
  const others = stored.filter((digest) => !expected.includes(digest))
  if (others.length < stored.length) return others.map(() => 'unexpected_token')
  return stored.length === 0 ? ['missing_token'] : ['wrong_token']
}

/** Returns where the stored token of a cell points: to the record, or to the transient value. */
function locationOf(cell: TokenCell): string {
  return `${cell.column.objectId}/${rowIdOf(cell)}`
}

function rowIdOf({ row, transientRef }: TokenCell): number {
  return transientRef?.row ?? row.id
}
