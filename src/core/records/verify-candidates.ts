/** Verifies which cells are those of given tokens: reads their rows, opens them and compares. */
import { digestValues } from '../barrier/digest-values.ts'
import type { OpenRows } from '../barrier/reveal.ts'
import { openRows } from '../barrier/reveal.ts'
import { revealTransients } from '../barrier/transients.ts'
import { VaultError } from '../errors.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/reading-context.ts'
import type { Column, Table } from '../schema/layout.ts'
import { sameBytes } from '../util/bytes.ts'
import { nowMs } from '../util/timestamp.ts'
import { unreachable } from '../util/unreachable.ts'
import { getTransients } from './transient-store.ts'

/** The value of a token. `row` is the row of its record; undefined for a transient value, which has no record. */
export interface Resolved {
  readonly table: Table
  readonly column: Column
  readonly value: unknown
  readonly row: Row | undefined
}

/** A row id that never exists: ids begin with 1. */
export const NO_ROW = 0

/** What a cell must contain for the token to be its token. */
type ExpectedCell =
  | { readonly kind: 'check'; readonly high: number; readonly low: number }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly digest: Uint8Array }

/** A cell whose token the text at `index` may be. */
export interface TokenCandidate {
  readonly index: number
  readonly table: Table
  readonly column: Column
  readonly row: number
  readonly expected: ExpectedCell
}

/** A candidate whose row was read. */
export interface CheckedCandidate {
  readonly candidate: TokenCandidate
  /** True if the cell holds what the candidate expects, or if its row failed authentication. */
  readonly isVerified: boolean
  /** True if the row exists. */
  readonly isFound: boolean
  /** The opened cell, also if it is not verified; the error of a row that failed authentication; undefined without a cell to open. */
  readonly resolution: Resolved | VaultError | undefined
}

/** Reads the cells of candidates, one table or one transient column at a time. Returns them with what they hold. */
export async function verifyCandidates(
  storage: StorageReads,
  context: ReadingContext,
  candidates: readonly TokenCandidate[],
): Promise<CheckedCandidate[]> {
  const records = groupBy(candidates, ({ table, column }) => (column.token?.expires === true ? undefined : table))
  const transients = groupBy(candidates, ({ column }) => (column.token?.expires === true ? column : undefined))
  const checked: CheckedCandidate[] = []
  for (const [table, group] of records) checked.push(...(await verifyRecords(storage, context, { table, group })))
  for (const [column, group] of transients) checked.push(...(await verifyTransients(storage, context, { column, group })))
  return checked
}

function groupBy<Key>(
  candidates: readonly TokenCandidate[],
  keyOf: (candidate: TokenCandidate) => Key | undefined,
): Map<Key, TokenCandidate[]> {
  const groups = new Map<Key, TokenCandidate[]>()
  for (const candidate of candidates) {
    const key = keyOf(candidate)
    if (key === undefined) continue
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [candidate])
    else group.push(candidate)
  }
  return groups
}

async function verifyRecords(
  storage: StorageReads,
  { barrier }: ReadingContext,
  { table, group }: { readonly table: Table; readonly group: readonly TokenCandidate[] },
): Promise<CheckedCandidate[]> {
  const ids = group.map(({ row }) => row)
  const rows = await storage.get(table.physical.name, ids)
  const live = rows.filter((row) => row !== undefined)
  const cursor = openRows(barrier, table, live)
  let next = 0
  return group.map((candidate, index) => {
    const row = rows[index]
    if (row === undefined) return missing(candidate)
    try {
      cursor.to(next++)
    } catch (error) {
      if (error instanceof VaultError) return { candidate, isFound: true, isVerified: true, resolution: error }
      throw error
    }
    const { column } = candidate
    const value = cursor.value(column)
    const isVerified = value !== null && holdsExpected(barrier, cursor, { ...candidate, value })
    // A row of a derived token was found by its digest.
    if (!isVerified && candidate.expected.kind === 'value') barrier.reportMismatch?.({ table, column, row: row.id })
    return { candidate, isFound: true, isVerified, resolution: { table, column, value, row } }
  })
}

/** True if the opened cell contains what the candidate expects. */
function holdsExpected(
  barrier: ReadingContext['barrier'],
  cursor: OpenRows,
  { column, expected, value }: Pick<TokenCandidate, 'column' | 'expected'> & { readonly value: unknown },
): boolean {
  switch (expected.kind) {
    case 'check':
      return cursor.hasTokenCheck(column, expected.high, expected.low)
    case 'text':
      return cursor.tokenText(column) === expected.text
    case 'value': {
      const [digest] = digestValues(barrier.ring, column, [value])
      return digest !== undefined && sameBytes(digest, expected.digest)
    }
    default:
      return unreachable(expected)
  }
}

async function verifyTransients(
  storage: StorageReads,
  context: ReadingContext,
  { column, group }: { readonly column: Column; readonly group: readonly TokenCandidate[] },
): Promise<CheckedCandidate[]> {
  const ids = group.map(({ row }) => row)
  const rows = await getTransients(storage, ids)
  const found = revealTransients(context.barrier, column, rows)
  const now = nowMs(context)
  return group.map((candidate, index) => {
    const one = found[index]
    if (rows[index] === undefined) return missing(candidate)
    if (one === undefined) return { candidate, isFound: true, isVerified: false, resolution: undefined }
    const { table, expected } = candidate
    const isToken =
      expected.kind === 'check'
        ? one.text === undefined && one.high === expected.high && one.low === expected.low
        : expected.kind === 'text' && one.text === expected.text
    const isVerified = isToken && one.expiresAt > now
    return { candidate, isFound: true, isVerified, resolution: { table, column, value: one.value, row: undefined } }
  })
}

function missing(candidate: TokenCandidate): CheckedCandidate {
  return { candidate, isFound: false, isVerified: false, resolution: undefined }
}
