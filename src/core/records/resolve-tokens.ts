/** Resolves tokens to values: finds candidates by pointer, derivation and stored token, and verifies each on the opened cell. */
import { digestValues, isSameValue } from '../barrier/digest-values.ts'
import type { OpenRows } from '../barrier/reveal.ts'
import { openRows } from '../barrier/reveal.ts'
import { revealTransients } from '../barrier/transients.ts'
import { type Fault, fault, VaultError } from '../errors.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import { findByDigest } from '../row-access/find-by-digest.ts'
import { nowMs, type ReadingContext } from '../row-access/reading-context.ts'
import type { Column, Table } from '../schema/layout.ts'
import { readPointer } from '../sealing/pointer.ts'
import { required } from '../util/at.ts'
import { sameBytes } from '../util/bytes.ts'
import { unreachable } from '../util/unreachable.ts'
import { ValueError } from '../values/column-type.ts'
import { findTokens } from './token-store.ts'
import { getTransients } from './transient-store.ts'

/** The value of a token. `row` is the row of its record; undefined for a transient value, which has no record. */
export interface Resolved {
  readonly table: Table
  readonly column: Column
  readonly value: unknown
  readonly row: Row | undefined
}

/** The result for one token: its value, an error of its own, or undefined if it is not a token. */
export type Resolution<Found extends Resolved = Resolved> = Found | VaultError | undefined

/** The records that count. A choice between several candidates considers only these, so that hidden records have no effect. */
export interface Visibility<Visible extends Resolved> {
  /** Returns the first visible row with each digest, in order; undefined if there is none. */
  findRows(table: Table, column: Column, digests: readonly Uint8Array[]): Promise<(Row | undefined)[]>
  /** Returns the resolutions, with undefined in place of invisible ones. */
  keepVisible(found: readonly Resolution[]): readonly Resolution<Visible>[]
}

/** What a cell must contain for the token to be its token. */
type ExpectedCell =
  | { readonly kind: 'check'; readonly high: number; readonly low: number }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly digest: Uint8Array }

/** A cell whose token the text at `index` may be. */
interface TokenCandidate {
  readonly index: number
  readonly table: Table
  readonly column: Column
  readonly row: number
  readonly expected: ExpectedCell
}

/** A candidate and its resolution; undefined if it was refuted. */
type CheckedCandidate<Found extends Resolved = Resolved> = readonly [candidate: TokenCandidate, resolution: Resolution<Found>]

/**
 * Returns the resolution of each text, in order. A text is tried as a pointer, then as a derived and as a stored token. Unknown,
 * malformed, foreign, replaced and expired tokens take the same steps, so that their times do not distinguish them.
 */
export async function resolveTokens<Visible extends Resolved>(
  storage: StorageReads,
  context: ReadingContext,
  { texts, visibility }: { readonly texts: readonly string[]; readonly visibility: Visibility<Visible> },
): Promise<Resolution<Visible>[]> {
  const keep = (checked: readonly CheckedCandidate[]): CheckedCandidate<Visible>[] => {
    const kept = visibility.keepVisible(checked.map(([, resolution]) => resolution))
    return checked.map(([candidate], index) => [candidate, kept[index]])
  }
  const found = chooseOne(texts.length, keep(await verifyCandidates(storage, context, pointerCandidates(context, texts))))
  const open = texts.flatMap((text, index) => (found[index] === undefined ? [{ index, text }] : []))
  if (open.length === 0) return found
  const candidates = [
    ...(await derivedCandidates(context, open, visibility.findRows)),
    ...(await storedCandidates(storage, context, open)),
  ]
  const rest = chooseOne(texts.length, keep(await verifyCandidates(storage, context, candidates)))
  for (const { index } of open) found[index] = rest[index]
  return found
}

/** Returns the resolution of each text as a derived token, among all records. Such a token is in use although it is not stored. */
export async function resolveDerived(
  storage: StorageReads,
  context: ReadingContext,
  texts: readonly string[],
): Promise<Resolution[]> {
  if (texts.length === 0) return []
  const open = texts.map((text, index) => ({ index, text }))
  const candidates = await derivedCandidates(context, open, (table, column, digests) =>
    findByDigest(storage, { table, column }, digests),
  )
  return chooseOne(texts.length, await verifyCandidates(storage, context, candidates))
}

/** Returns one resolution for each index. A text that is a token of unrelated columns gives an error, because any choice could be wrong. */
function chooseOne<Found extends Resolved>(count: number, checked: readonly CheckedCandidate<Found>[]): Resolution<Found>[] {
  const found: Resolution<Found>[] = new Array(count).fill(undefined)
  for (const [{ index }, resolution] of checked) {
    const earlier = found[index]
    if (resolution === undefined || earlier instanceof VaultError) continue
    if (earlier === undefined) found[index] = resolution
    else if (!(resolution instanceof VaultError) && !isSame(earlier, resolution)) found[index] = ambiguous(index)
  }
  return found
}

/** True if both are the same value in one digest scope. It does not matter then which record is returned. */
function isSame(left: Resolved, right: Resolved): boolean {
  return left.column.scope === right.column.scope && isSameValue(left.column, left.value, right.value)
}

function ambiguous(index: number): Fault {
  return fault('unprocessable', {
    index,
  })`tokens[${index}] is ambiguous: several columns with overlapping formats accept it. Read the record by its id, or put the columns in one group.`
}

/** A row id that never exists: ids begin with 1. */
const NO_ROW = 0

function pointerCandidates({ barrier, layout }: ReadingContext, texts: readonly string[]): TokenCandidate[] {
  const { ring } = barrier
  const { words, wellFormed } = ring.decryptPointers(ring.lookupVersion, texts)
  const [anyColumn] = layout.tokenColumns.values()
  return texts.flatMap((_, index): TokenCandidate[] => {
    const { objectId, row, checkHigh, checkLow } = readPointer(words, index)
    const found = wellFormed[index] === 1 ? layout.tokenColumns.get(objectId) : undefined
    if (found !== undefined) return [{ index, ...found, row, expected: { kind: 'check', high: checkHigh, low: checkLow } }]
    // Reads row 0, which never exists, so that an invalid token takes as long as the token of a deleted record.
    return anyColumn === undefined ? [] : [{ index, ...anyColumn, row: NO_ROW, expected: { kind: 'check', high: 0, low: 0 } }]
  })
}

/** A text that has no resolution yet. */
interface OpenText {
  readonly index: number
  readonly text: string
}

async function derivedCandidates(
  context: ReadingContext,
  open: readonly OpenText[],
  findRows: Visibility<Resolved>['findRows'],
): Promise<TokenCandidate[]> {
  const candidates: TokenCandidate[] = []
  const texts = open.map(({ text }) => text)
  for (const { table, column } of context.layout.tokenColumns.values()) {
    if (column.token?.keeps !== 'nothing') continue
    const recovered = recoverDigests(context, column, texts)
    const possible = open.flatMap(({ index }, k) => (recovered[k] === undefined ? [] : [{ index, digest: recovered[k] }]))
    const digests = possible.map(({ digest }) => digest)
    const rows = digests.length === 0 ? [] : await findRows(table, column, digests)
    for (const [k, { index, digest }] of possible.entries()) {
      const row = rows[k]
      if (row !== undefined) candidates.push({ index, table, column, row: row.id, expected: { kind: 'value', digest } })
    }
  }
  return candidates
}

/** Returns the digest of the value that each text is derived from, in order; undefined if it cannot be a token of this column. */
function recoverDigests({ barrier }: ReadingContext, column: Column, texts: readonly string[]): (Uint8Array | undefined)[] {
  const kind = required(column.token, 'The token kind of a tokenized column')
  const recovered = kind.recover({ ring: barrier.ring, scope: column.scope, format: column.format }, texts)
  return recovered.map((one) => {
    if (one === undefined || one.kind === 'digest') return one?.digest
    const value = valueOfText(column, one.shown)
    return value === undefined ? undefined : digestValues(barrier.ring, column, [value])[0]
  })
}

function valueOfText(column: Column, text: string): unknown {
  try {
    return column.type.fromText(text)
  } catch (error) {
    if (error instanceof ValueError) return undefined
    throw error
  }
}

async function storedCandidates(
  storage: StorageReads,
  { barrier, layout }: ReadingContext,
  open: readonly OpenText[],
): Promise<TokenCandidate[]> {
  const texts = open.map(({ text }) => text)
  const locations = await findTokens(storage, barrier.ring, texts)
  return open.flatMap(({ index, text }, k) => {
    const location = locations[k]
    const found = location === undefined ? undefined : layout.tokenColumns.get(location.objectId)
    if (location === undefined || found === undefined) return []
    return [{ index, ...found, row: location.row, expected: { kind: 'text', text } }]
  })
}

/** Reads the cells of candidates, one table or one transient column at a time. Returns their resolutions. */
async function verifyCandidates(
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
    if (row === undefined) return [candidate, undefined]
    try {
      cursor.to(next++)
    } catch (error) {
      if (error instanceof VaultError) return [candidate, error]
      throw error
    }
    const { column } = candidate
    const value = cursor.value(column)
    const isVerified = value !== null && holdsExpected(barrier, cursor, { ...candidate, value })
    // A row of a derived token was found by its digest.
    if (!isVerified && candidate.expected.kind === 'value') barrier.reportMismatch?.({ table, column, row: row.id })
    return [candidate, isVerified ? { table, column, value, row } : undefined]
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
    if (one === undefined || one.expiresAt <= now) return [candidate, undefined]
    const { table, expected } = candidate
    const isVerified =
      expected.kind === 'check'
        ? one.text === undefined && one.high === expected.high && one.low === expected.low
        : expected.kind === 'text' && one.text === expected.text
    return [candidate, isVerified ? { table, column, value: one.value, row: undefined } : undefined]
  })
}
