/** Writes the changes of existing records, all or none: what all updates share. The grants of the caller are checked by a function that they pass. */
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { parseFields, type Values } from '../barrier/parse-record.ts'
import { inRecord, type RecordIndex, recordDetail, recordPath } from '../barrier/record-errors.ts'
import { decodeRecordIds, decodeVersions } from '../barrier/record-ids.ts'
import { assertOwnFormsUnused, type ByotMode, parseTokens } from '../barrier/supplied-tokens.ts'
import { asRefusal, type Fault, fault } from '../errors.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import { type CheckedOverwrites, levelsOf, type Overwrite } from '../row-access/evaluate-access.ts'
import type { Table } from '../schema/layout.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at } from '../util/lists.ts'
import { toTimestamp } from '../util/time.ts'
import { createJsonBudget, type JsonLimits } from '../values/json-types.ts'
import { attemptChange } from './attempt-change.ts'
import { assertUnredacted } from './compare-stored.ts'
import { mintInputOf, mintInTurns, storeChanges, type WritingContext, type Written } from './record-store.ts'

/** An updated record; `updatedAt` is RFC 3339 with nine decimals. */
export interface UpdatedRecord extends StoredRecord {
  readonly updatedAt: string
}

/** Options of an update. */
export interface UpdateOptions {
  /** Return the tokens of the columns that were given a value. Default false. */
  readonly tokenization?: boolean
  /** Whether the change can, or must, have tokens supplied by the caller. Default DISABLE. */
  readonly byot?: ByotMode
  /** Accept `*REDACTED*` and masked forms as values. Default false: what is shown in place of a value is refused, so that no value is lost. */
  readonly allowShownText?: boolean
}

/** What a caller asks to write over one record. */
export interface GivenChange {
  readonly fields: unknown
  readonly tokens: unknown
  /** The version that the record must have. Default: any. */
  readonly ifVersion?: unknown
  readonly index: RecordIndex
}

/** The values and supplied tokens to write over one record, and its index in the request. */
export interface Change {
  readonly values: Values
  readonly supplied: ReadonlyMap<string, string> | undefined
  readonly ifVersion: string | undefined
  readonly index: RecordIndex
}

/** Returns the parsed changes. Throws for a value or token that its column does not accept. */
export function parseChanges(
  { barrier, layout, limits }: Pick<WritingContext, 'barrier' | 'layout'> & { readonly limits: JsonLimits },
  table: Table,
  { mode, given }: { readonly mode: ByotMode; readonly given: readonly GivenChange[] },
): Change[] {
  const json = createJsonBudget(limits)
  const changes = given.map(({ fields, tokens, ifVersion, index }) => {
    const values = parseFields(table, fields, { index, json })
    if (values.every((value) => value === undefined))
      throw fault(
        'invalid_request',
        recordDetail(table, index),
      )`${recordPath(index)}.fields names no column of table ${table.name}. Name at least one.`
    return {
      values,
      supplied: parseTokens(table, tokens, { mode, values, index }),
      ifVersion: ifVersion === undefined ? undefined : parseIfVersion(ifVersion),
      index,
    }
  })
  assertOwnFormsUnused({ ring: barrier.ring, layout }, table, {
    tokens: changes.map(({ supplied }) => supplied),
    values: changes.map(({ values }) => values),
    indexes: changes.map(({ index }) => index),
  })
  return changes
}

/** What an update does with the grants of its caller, and with records that the caller cannot reach. */
export interface ChangeChecks {
  readonly table: Table
  /** The caller's access to the table. */
  readonly access: TableAccess
  /** True if a value can be a text that is shown in place of the stored one. */
  readonly allowsShownText: boolean
  /** Checks overwrites against the grants of the caller. Throws `forbidden`. */
  check(overwrites: readonly Overwrite[]): CheckedOverwrites
  /** Returns the error for the positions of changes whose row is invisible, or does not exist. */
  notFound(positions: readonly number[]): Error
}

/** The row of each change; undefined where there is none. */
interface Overwriting {
  readonly changes: readonly Change[]
  readonly rows: readonly (Row | undefined)[]
  /** The versions that rows must have. Default: none. */
  readonly versions?: RequiredByRow | undefined
}

/** The written rows, and the caller's access to each before. */
export interface Overwritten {
  readonly written: Written
  readonly before: readonly RowAccess[]
}

/**
 * One attempt: writes the changes over their rows, all or none. Throws STALE if others changed a row meanwhile. A row that is invisible for
 * its change is refused like one that does not exist, in whatever order they come.
 */
export async function overwrite(
  unit: UnitOfWork,
  context: WritingContext,
  { table, access, allowsShownText, check, notFound, changes, rows: found, versions }: ChangeChecks & Overwriting,
): Promise<Overwritten> {
  const overwrites = changes.flatMap(({ values, index }, position) => {
    const row = found[position]
    return row === undefined ? [] : [{ row, values, index, position }]
  })
  const { existing, invisible } = check(overwrites)
  const hidden = new Set(invisible)
  const reached = new Set(overwrites.flatMap((one) => (hidden.has(one) ? [] : [one.position])))
  const missing = [...changes.keys()].filter((position) => !reached.has(position))
  if (missing.length > 0) throw notFound(missing)
  if (versions !== undefined) for (const { row } of overwrites) assertVersion(table, row, versions.get(row.id))
  const before = existing.map((one) => one.access)
  const levelOf = levelsOf(access, before)
  const rows = overwrites.map(({ row }) => row)
  if (!allowsShownText) await assertUnredacted(unit.storage, context, { table, rows, before, levelOf, records: overwrites })
  const written = await storeChanges(unit, context, {
    table,
    rows,
    levelOf,
    records: changes.map(({ values }) => values),
    supplied: changes.map(({ supplied }) => supplied),
    indexes: changes.map(({ index }) => index),
  })
  return { written, before }
}

/** The ids of different records, and the change of each. */
interface IdentifiedChanges extends ChangeChecks {
  readonly ids: readonly string[]
  readonly changes: readonly Change[]
}

/** Writes the changes over the records of these ids, all or none, and tries again if others changed one meanwhile. */
export function changeRecords(
  unit: UnitOfWork,
  context: WritingContext,
  { ids, changes, ...checks }: IdentifiedChanges,
): Promise<Overwritten> {
  const { table } = checks
  const rowIds = decodeRecordIds(context.barrier.ring, table, ids)
  assertDifferent(table, changes, rowIds)
  const isConditional = changes.some(({ ifVersion }) => ifVersion !== undefined)
  const versions = isConditional ? requiredVersions(context, table, { changes, rowIds }) : undefined
  const [row] = rowIds
  const turn = row === undefined || rowIds.length > 1 ? undefined : `${table.physical.name} ${row}`
  return attemptChange(unit, { table, scheduler: context.scheduler, turn, what: 'record' }, async (within) => {
    const rows = await rowsOf(within, table, rowIds)
    return overwrite(within, context, { ...checks, changes, rows, versions })
  })
}

/** Returns the versions that the rows of changes must have. */
function requiredVersions(
  { barrier }: Pick<WritingContext, 'barrier'>,
  table: Table,
  { changes, rowIds }: { readonly changes: readonly Change[]; readonly rowIds: readonly (number | undefined)[] },
): RequiredByRow {
  const records = changes.map(({ ifVersion, index }, position) => ({ row: rowIds[position], ifVersion, index }))
  return requiredByRow(barrier.ring, table, records)
}

/** Throws `invalid_request` if two changes name one record, because one of them would be lost. */
function assertDifferent(table: Table, changes: readonly Change[], rowIds: readonly (number | undefined)[]): void {
  const first = new Map<number, number>()
  for (const [position, row] of rowIds.entries()) {
    if (row === undefined) continue
    const earlier = first.get(row)
    if (earlier !== undefined) {
      const { index } = at(changes, position)
      const detail = recordDetail(table, index)
      throw fault(
        'invalid_request',
        detail,
      )`${recordPath(index)} and ${recordPath(at(changes, earlier).index)} have the same id. Name each record once.`
    }
    first.set(row, position)
  }
}

/** Returns the row of each row id; undefined for one that does not exist. */
async function rowsOf(
  { storage }: UnitOfWork,
  table: Table,
  rowIds: readonly (number | undefined)[],
): Promise<(Row | undefined)[]> {
  const known = rowIds.filter((row) => row !== undefined)
  const rows = known.length === 0 ? [] : await storage.get(table.physical.name, known)
  let next = 0
  return rowIds.map((row) => (row === undefined ? undefined : rows[next++]))
}

/** Returns the updated records in order, with their tokens where they are asked for. */
export async function updatedRecords(
  context: Pick<WritingContext, 'barrier' | 'clock' | 'scheduler'>,
  table: Table,
  {
    written,
    before,
    changes,
    tokenization,
  }: Overwritten & { readonly changes: readonly Change[]; readonly tokenization: boolean },
): Promise<UpdatedRecord[]> {
  const values = changes.map((change) => change.values)
  const wanted = tokenization ? mintInputOf(written, values, before) : undefined
  const updatedAt = toTimestamp(context.clock.now())
  const records = await mintInTurns(context, table, written.ids, wanted)
  return records.map((stored) => ({ ...stored, updatedAt }))
}

/** A record of a request: its row, undefined for an id without one, and the version that it must have. */
interface ConditionalRecord {
  readonly row: number | undefined
  readonly ifVersion: string | undefined
  readonly index: RecordIndex
}

/** Returns the option `ifVersion`. Throws `invalid_request` for anything but text. */
export function parseIfVersion(given: unknown): string | undefined {
  if (given === undefined || (typeof given === 'string' && given !== '')) return given
  throw fault('invalid_request')`ifVersion must be the version of a record as a read returned it.`
}

/** The versions that rows must have, by row id, and the index of the record that asks for it. */
export type RequiredByRow = ReadonlyMap<number, { readonly version: number; readonly index: RecordIndex }>

/**
 * Returns the versions that the rows of records must have. Throws `invalid_request` for a text that is no version of its record, and `aborted`
 * for two versions of one record.
 */
export function requiredByRow(ring: KeyRing, table: Table, records: readonly ConditionalRecord[]): RequiredByRow {
  const required = new Map<number, { readonly version: number; readonly index: RecordIndex }>()
  const asked = records.filter(({ row, ifVersion }) => row !== undefined && ifVersion !== undefined)
  if (asked.length === 0) return required
  const texts = asked.map(({ ifVersion = '' }) => ifVersion)
  for (const [position, found] of decodeVersions(ring, table, texts).entries()) {
    const { row, index } = at(asked, position)
    if (found === undefined || found.id !== row) {
      const detail = recordDetail(table, index)
      throw fault(
        'invalid_request',
        detail,
      )`ifVersion${inRecord(index)} is no version of its record. Pass the one that a read of it returned.`
    }
    if (required.get(row)?.version !== found.version && required.has(row)) throw versionMoved(table, index)
    required.set(row, { version: found.version, index })
  }
  return required
}

/** Throws `aborted` if a row has another version than it must have. */
export function assertVersion(table: Table, { version }: Row, required: ReturnType<RequiredByRow['get']>): void {
  if (required !== undefined && required.version !== version) throw versionMoved(table, required.index)
}

function versionMoved(table: Table, index: RecordIndex): Fault {
  const moved = fault(
    'aborted',
    recordDetail(table, index),
  )`The record${inRecord(index)} of table ${table.name} was changed since its version was read. Read it again.`
  return asRefusal(moved)
}
