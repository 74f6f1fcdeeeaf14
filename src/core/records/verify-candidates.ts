/** Verifies which cells are those of given tokens: reads their rows, opens them and compares. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestValues } from '../barrier/digest-values.ts'
import { type OpenRows, openRows } from '../barrier/reveal.ts'
import { revealTransients } from '../barrier/transients.ts'
import { VaultError } from '../errors.ts'
import { byBodies, inSlices } from '../pace/pace.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { type Pointer, readPointer } from '../sealing/envelope.ts'
import { sameBytes } from '../util/bytes.ts'
import { unreachable } from '../util/causes.ts'
import { groupBy, present, required } from '../util/lists.ts'
import { nowMs } from '../util/time.ts'
import { getTransients } from './token-store.ts'

/** The value of a token. `row` is the row of its record; undefined for a transient value, which has no record. */
export interface Resolved {
  readonly table: Table
  readonly column: Column
  readonly value: unknown
  readonly row: Row | undefined
}

/** A row id that never exists: ids begin with 1. */
export const NO_ROW = 0

/** What a cell must contain for the token to be its token: the check of the pointer at the index of its text, a check of zero without pointers. */
type ExpectedCell =
  | { readonly kind: 'check'; readonly pointers: Uint32Array | undefined }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly digest: Uint8Array }

/** What is expected of a cell that no pointer names. */
export const NO_TOKEN = { kind: 'check', pointers: undefined } as const

/** A cell that exists or not, and what is expected of it. */
export interface CandidateCell {
  readonly table: Table
  readonly column: Column
  readonly row: number
  /** The row, if the look-up by digest read it already; undefined if it is read to verify the candidate. */
  readonly read?: Row | undefined
  readonly expected: ExpectedCell
}

/**
 * A cell whose token the text at `index` may be. A class, as the two below: while a list is resolved all of its objects live, and of
 * literals of which most live the engine makes the next ones among its old objects, where they keep what they refer to.
 */
export class TokenCandidate implements CandidateCell {
  readonly index: number
  readonly table: Table
  readonly column: Column
  readonly row: number
  readonly read: Row | undefined
  readonly expected: ExpectedCell

  constructor(index: number, { table, column, row, read, expected }: CandidateCell) {
    this.index = index
    this.table = table
    this.column = column
    this.row = row
    this.read = read
    this.expected = expected
  }
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

/** A candidate whose cell was opened, and the cell. `row` is undefined for a transient value. */
class OpenedCandidate implements CheckedCandidate, Resolved {
  readonly candidate: TokenCandidate
  readonly row: Row | undefined
  readonly value: unknown
  readonly isVerified: boolean

  constructor(candidate: TokenCandidate, { row, value }: Pick<Resolved, 'row' | 'value'>, isVerified: boolean) {
    this.candidate = candidate
    this.row = row
    this.value = value
    this.isVerified = isVerified
  }

  get table(): Table {
    return this.candidate.table
  }

  /** A hidden column has the value of its own. */
  get column(): Column {
    const { column } = this.candidate
    return column.origin ?? column
  }

  get isFound(): boolean {
    return true
  }

  get resolution(): Resolved {
    return this
  }
}

/** Reads the cells of candidates, one table or one transient column at a time. Returns them with what they hold. */
export function verifyCandidates(
  storage: StorageReads,
  context: ReadingContext,
  candidates: readonly TokenCandidate[],
): Promise<readonly CheckedCandidate[]> {
  const table = onlyTable(candidates)
  if (table !== undefined) return verifyRecords(storage, context, { table, group: candidates })
  return verifyGroups(storage, context, candidates)
}

/** Returns the table of the records of all candidates, as there mostly is one; undefined if there are several, or a transient value, or no candidate. */
function onlyTable(candidates: readonly TokenCandidate[]): Table | undefined {
  const table = candidates[0]?.table
  for (const candidate of candidates) if (candidate.table !== table || candidate.column.token?.expires === true) return undefined
  return table
}

async function verifyGroups(
  storage: StorageReads,
  context: ReadingContext,
  candidates: readonly TokenCandidate[],
): Promise<readonly CheckedCandidate[]> {
  const records = groupBy(candidates, ({ table, column }) => (column.token?.expires === true ? undefined : table))
  const transients = groupBy(candidates, ({ column }) => (column.token?.expires === true ? column : undefined))
  const checked: (readonly CheckedCandidate[])[] = []
  for (const [table, group] of records) checked.push(await verifyRecords(storage, context, { table, group }))
  for (const [column, group] of transients) checked.push(await verifyTransients(storage, context, { column, group }))
  const [only = []] = checked
  return checked.length > 1 ? checked.flat() : only
}

async function verifyRecords(
  storage: StorageReads,
  { barrier, scheduler }: ReadingContext,
  { table, group }: { readonly table: Table; readonly group: readonly TokenCandidate[] },
): Promise<readonly CheckedCandidate[]> {
  const rows = await readRows(storage, table, group)
  return inSlices(byBodies(rows), scheduler, (start, end) =>
    checkRows(barrier, table, { group: group.slice(start, end), rows: rows.slice(start, end) }),
  )
}

/** Opens the row of each candidate, and compares it. */
function checkRows(
  barrier: Barrier,
  table: Table,
  { group, rows }: { readonly group: readonly TokenCandidate[]; readonly rows: readonly (Row | undefined)[] },
): CheckedCandidate[] {
  const cursor = openRows(barrier, table, present(rows))
  const checked: CheckedCandidate[] = new Array(group.length)
  let hasDigests = false
  let next = 0
  for (let index = 0; index < group.length; index++) {
    const candidate = required(group[index])
    const row = rows[index]
    if (candidate.expected.kind === 'value') hasDigests = true
    checked[index] = row === undefined ? missing(candidate) : checkRow(cursor, candidate, { row, index: next++ })
  }
  return hasDigests ? compareDigests(barrier, checked) : checked
}

/** Opens one row, which has this index among the rows of the cursor. */
function checkRow(
  cursor: OpenRows,
  candidate: TokenCandidate,
  { row, index }: { readonly row: Row; readonly index: number },
): CheckedCandidate {
  try {
    cursor.to(index)
  } catch (error) {
    if (error instanceof VaultError) return { candidate, isFound: true, isVerified: true, resolution: error }
    throw error
  }
  const value = cursor.value(candidate.column)
  const isVerified = value !== null && holdsExpected(cursor, candidate)
  return new OpenedCandidate(candidate, { row, value }, isVerified)
}

/** Returns the row of each candidate, in order; undefined if it does not exist. Reads those that were not read yet. */
function readRows(storage: StorageReads, table: Table, group: readonly TokenCandidate[]): Promise<readonly (Row | undefined)[]> {
  const ids: number[] = new Array(group.length)
  for (let index = 0; index < group.length; index++) {
    const { row, read } = required(group[index])
    if (read !== undefined) return readRest(storage, table, group)
    ids[index] = row
  }
  return storage.get(table.physical.name, ids)
}

/** The same where the look-up by digest read some of them. */
async function readRest(
  storage: StorageReads,
  table: Table,
  group: readonly TokenCandidate[],
): Promise<readonly (Row | undefined)[]> {
  const unread = group.filter(({ read }) => read === undefined).map(({ row }) => row)
  const rows = unread.length === 0 ? [] : await storage.get(table.physical.name, unread)
  let next = 0
  return group.map(({ read }) => read ?? rows[next++])
}

/** True if the opened cell contains what the candidate expects. Digests are compared later, all at once. */
function holdsExpected(cursor: OpenRows, { index, column, expected }: TokenCandidate): boolean {
  switch (expected.kind) {
    case 'check': {
      const { checkHigh, checkLow } = pointerAt(expected.pointers, index)
      return cursor.hasTokenCheck(column, checkHigh, checkLow)
    }
    case 'text':
      return cursor.tokenText(column) === expected.text
    case 'value':
      return true
    default:
      return unreachable(expected)
  }
}

/** Returns the part of the pointer at an index that cells repeat. */
function pointerAt(pointers: Uint32Array | undefined, index: number): Pick<Pointer, 'checkHigh' | 'checkLow'> {
  return pointers === undefined ? NO_CHECK : readPointer(pointers, index)
}

const NO_CHECK = { checkHigh: 0, checkLow: 0 }

/** Returns the candidates, verified only if the digest of the opened value is the expected one. Reports rows that a digest found without having its value. */
function compareDigests(barrier: Barrier, checked: readonly CheckedCandidate[]): CheckedCandidate[] {
  const digests = barrier.ring.lookupVersions.map((version) => digestOpened(barrier, checked, version))
  return checked.map((one, index) => {
    const { column, table, expected } = one.candidate
    const { resolution } = one
    if (expected.kind !== 'value' || resolution === undefined || resolution instanceof VaultError) return one
    const isOf = ({ [index]: digest }: (typeof digests)[number]): boolean =>
      digest !== undefined && sameBytes(digest, expected.digest)
    if (digests.some(isOf)) return one
    barrier.reportMismatch?.({ table, column, row: one.candidate.row })
    return new OpenedCandidate(one.candidate, resolution, false)
  })
}

/** Returns the digests, of one root key, of the opened values of derived tokens, in the order of the candidates, computed one column at a time. A null has none. */
function digestOpened(
  { ring }: Barrier,
  checked: readonly CheckedCandidate[],
  version: number,
): readonly (Uint8Array | undefined)[] {
  const digests: (Uint8Array | undefined)[] = new Array(checked.length).fill(undefined)
  const opened: { readonly index: number; readonly column: Column; readonly value: unknown }[] = []
  for (let index = 0; index < checked.length; index++) {
    const { candidate, resolution } = required(checked[index])
    const value = resolution instanceof VaultError ? undefined : resolution?.value
    const isOpened = candidate.expected.kind === 'value' && value !== undefined && value !== null
    if (isOpened) opened.push({ index, column: candidate.column, value })
  }
  for (const [column, group] of groupBy(opened, (one) => one.column)) {
    const values = group.map(({ value }) => value)
    const found = digestValues(ring, column, values, version)
    for (let k = 0; k < group.length; k++) digests[required(group[k]).index] = found[k]
  }
  return digests
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
    const { expected } = candidate
    const { checkHigh, checkLow } = expected.kind === 'check' ? pointerAt(expected.pointers, candidate.index) : NO_CHECK
    const isToken =
      expected.kind === 'check'
        ? one.text === undefined && one.high === checkHigh && one.low === checkLow
        : expected.kind === 'text' && one.text === expected.text
    const isVerified = isToken && one.expiresAt > now
    return new OpenedCandidate(candidate, { row: undefined, value: one.value }, isVerified)
  })
}

function missing(candidate: TokenCandidate): CheckedCandidate {
  return { candidate, isFound: false, isVerified: false, resolution: undefined }
}
