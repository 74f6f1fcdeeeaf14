/** Compares what is written with what is stored: cells that stay as they are keep their tokens, and the masked form of a stored value is refused. */
import { isUnchanged } from '../barrier/digest-values.ts'
import type { Values } from '../barrier/parse-record.ts'
import { cellDetail, hasImpossibleVersion, inRecord, type RecordIndex } from '../barrier/record-errors.ts'
import { type OpenRows, openColumns, openRows } from '../barrier/reveal.ts'
import { createTokenMetadata, type LevelOf, slotOf, type UnchangedCells } from '../barrier/token-metadata.ts'
import { type FoundTransient, revealTransients } from '../barrier/transients.ts'
import { type Fault, fault } from '../errors.ts'
import { byBodies, bytesOfBody, inSlices } from '../pace/pace.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import { REDACTED_TEXT } from '../redaction.ts'
import { evaluateValues, type ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { at, groupBy, required } from '../util/lists.ts'
import { nowMs } from '../util/time.ts'
import { ValueError } from '../values/column-type.ts'
import type { WriteRequest } from './choose-tokens.ts'
import { getTransients } from './token-store.ts'

/** Records to write over existing rows, one for each row. */
export interface ChangeRequest extends WriteRequest {
  readonly rows: readonly Row[]
  /** Absent if no cell keeps its token. */
  readonly levelOf?: LevelOf
  /** True if the values before must leave sealed indexes for good. Default false: they stay in blocks until a merge. */
  readonly erases?: boolean
}

/** A request with cells that can keep their tokens. */
type Comparable = ChangeRequest & { readonly levelOf: LevelOf }

/**
 * Returns the cells with unchanged values; undefined if no cell keeps its token. Cells of other token kinds are compared as they are sealed again, so
 * rows are opened here only for those whose token is a stored text, or whose value is stored apart.
 */
export async function findUnchanged(
  storage: StorageReads,
  context: ReadingContext,
  request: ChangeRequest,
): Promise<UnchangedCells | undefined> {
  const { table, rows, records, levelOf } = request
  if (levelOf === undefined || table.tokenized.length === 0) return undefined
  const keepsText = new Uint8Array(rows.length * table.tokenized.length)
  const columns = table.tokenized.filter(
    ({ token, position }) =>
      (token?.keeps === 'text' || token?.expires === true) && records.some((values) => (values[position] ?? null) !== null),
  )
  if (columns.length === 0) return { levelOf, keepsText, transients: new Map() }
  const named = await inSlices(byBodies(rows), context.scheduler, (start, end) =>
    compareRows(context, { ...request, levelOf }, { columns, keepsText, start, end }),
  )
  return { levelOf, keepsText, transients: await unchangedTransients(storage, context, named) }
}

/** The columns and rows that are compared, and what is found. */
interface Comparing {
  readonly columns: readonly Column[]
  readonly keepsText: Uint8Array
  readonly start: number
  readonly end: number
}

/** A transient value that a write names, and its slot. */
interface NamedTransient {
  readonly cell: TransientCell
  readonly slot: number
  readonly value: unknown
}

/** Marks the unchanged cells whose token is a text, and returns the transient values that these records name. */
function compareRows(
  { barrier }: Pick<ReadingContext, 'barrier'>,
  { table, rows, records, supplied, levelOf }: Comparable,
  { columns, keepsText, start, end }: Comparing,
): NamedTransient[] {
  const cursor = openRows(barrier, table, rows.slice(start, end))
  const cells = transientCells(cursor, table)
  const named: NamedTransient[] = []
  for (let index = start; index < end; index++) {
    const values = required(records[index])
    cursor.to(index - start)
    for (const column of columns) {
      const value = values[column.position] ?? null
      if (value === null || supplied[index]?.has(column.name) === true || levelOf(index, column) !== 'PLAIN_TEXT') continue
      const slot = index * table.tokenized.length + column.tokenPosition
      if (column.token?.expires === true) {
        const cell = cells(column)
        if (cell !== undefined) named.push({ cell, slot, value })
      } else if (cursor.tokenText(column) !== undefined && cursor.holds(column, value)) keepsText[slot] = 1
    }
  }
  return named
}

/** Returns the rows of those whose value is the one that is written, by slot. */
async function unchangedTransients(
  storage: StorageReads,
  context: ReadingContext,
  named: readonly NamedTransient[],
): Promise<Map<number, Row>> {
  const live = await liveTransients(
    storage,
    context,
    named.map(({ cell }) => cell),
  )
  const unchanged = new Map<number, Row>()
  for (const { cell, slot, value } of named) {
    const one = live.get(cell)
    if (one !== undefined && isUnchanged(cell.column, one.value, value)) unchanged.set(slot, one.row)
  }
  return unchanged
}

/** A cell whose value is stored apart: the row of the value. */
export interface TransientCell {
  readonly column: Column
  readonly row: number
  /** True if a stored value has the token of the cell. */
  readonly isToken: (found: FoundTransient) => boolean
}

/** Returns a function for the cell of a transient column in the row that a cursor is at; undefined if it has no value. */
function transientCells(cursor: OpenRows, table: Table): (column: Column) => TransientCell | undefined {
  const stored = createTokenMetadata(table, 1)
  return (column) => {
    const slot = slotOf(stored, 0, column)
    stored.transientRefs.fill(undefined)
    cursor.readMetadata(column, stored, slot)
    const ref = stored.transientRefs[slot]
    if (ref === undefined) return undefined
    const text = stored.texts[slot]
    const high = stored.high[slot]
    const low = stored.low[slot]
    const isToken = (found: FoundTransient): boolean =>
      found.text === text && (text !== undefined || (found.high === high && found.low === low))
    return { column, row: ref.row, isToken }
  }
}

/** Returns the values of those cells that have not expired, with their rows. A row that was changed in the database has none. */
async function liveTransients(
  storage: StorageReads,
  context: ReadingContext,
  cells: readonly TransientCell[],
): Promise<ReadonlyMap<TransientCell, { readonly row: Row; readonly value: unknown }>> {
  const live = new Map<TransientCell, { row: Row; value: unknown }>()
  const now = nowMs(context)
  for (const [column, group] of groupBy(cells, (cell) => cell.column)) {
    const ids = group.map(({ row }) => row)
    const rows = await getTransients(storage, ids)
    const found = revealTransients(context.barrier, column, rows)
    for (const [k, cell] of group.entries()) {
      const [row, one] = [rows[k], found[k]]
      if (row === undefined || one === undefined || hasImpossibleVersion(row)) continue
      if (one.expiresAt > now && cell.isToken(one)) live.set(cell, { row, value: one.value })
    }
  }
  return live
}

/** The values of a record to write, and its index in the request. */
interface WrittenValues {
  readonly values: Values
  readonly index: RecordIndex
}

/** Records to write over existing rows, one for each row, and the caller's access to each before. */
interface WrittenOver {
  readonly table: Table
  readonly rows: readonly Row[]
  readonly before: readonly RowAccess[]
  readonly levelOf: LevelOf
  readonly records: readonly WrittenValues[]
}

/**
 * Throws `unprocessable` for a new record that holds the text of a redacted value in a column whose own level is lower than plain text, or that the
 * caller does not see in plain text.
 */
export function assertNewUnredacted(access: TableAccess, { values, index }: WrittenValues): void {
  if (!values.includes(REDACTED_TEXT)) return
  const granted = evaluateValues(access, (column) => values[column.position])
  assertNoRedactedText(access.table, granted, { values, index })
}

/**
 * Throws `unprocessable` for values that are shown in place of the stored ones: the text of a redacted value, or the masked form of the value in this
 * row. A refusal reveals nothing. A masked form is compared only for callers who can be shown it, and refused also where it equals the value, except for
 * those who see that. For all others the text alone decides: one with a star is refused whatever is stored. Opens no body without such a text, unless
 * the mask replaces matches, which can write anything.
 */
export async function assertUnredacted(storage: StorageReads, context: ReadingContext, written: WrittenOver): Promise<void> {
  const { table, rows, before, records } = written
  const suspects: Suspect[] = []
  const masked = table.columns.filter(({ mask }) => mask !== undefined)
  for (let position = 0; position < rows.length; position++) {
    assertNoRedactedText(table, required(before[position]), required(records[position]))
    for (const column of masked) if (isSuspect(column, written, position)) suspects.push({ position, column })
  }
  if (suspects.length === 0) return
  const groups = [...groupBy(suspects, ({ position }) => position)]
  const list = { count: groups.length, bytesAt: (index: number) => bytesOfBody(rows[required(groups[index])[0]]) }
  const apart = await inSlices(list, context.scheduler, (start, end) =>
    compareSuspects(context, written, groups.slice(start, end)),
  )
  const cells = apart.map(({ cell }) => cell)
  const live = await liveTransients(storage, context, cells)
  for (const { cell, position, column } of apart) assertNotMasked(written, { position, column }, live.get(cell)?.value ?? null)
}

/** A value that may be a masked form: the position of its record, and its column. */
interface Suspect {
  readonly position: number
  readonly column: Column
}

/** Compares suspects with the values in their rows. Returns those whose values are stored apart. */
function compareSuspects(
  { barrier }: ReadingContext,
  written: WrittenOver,
  groups: readonly (readonly [position: number, suspects: readonly Suspect[]])[],
): (Suspect & { readonly cell: TransientCell })[] {
  const { table, rows } = written
  const columns = [...new Set(groups.flatMap(([, suspects]) => suspects.map(({ column }) => column)))]
  const opened = groups.map(([position]) => at(rows, position))
  const cursor: OpenRows = openColumns(barrier, table, opened, columns)
  const cells = transientCells(cursor, table)
  const apart: (Suspect & { cell: TransientCell })[] = []
  for (const [k, [, suspects]] of groups.entries()) {
    cursor.to(k)
    for (const suspect of suspects) {
      const { column } = suspect
      if (column.token?.expires !== true) {
        assertNotMasked(written, suspect, cursor.value(column))
        continue
      }
      const cell = cells(column)
      if (cell !== undefined) apart.push({ ...suspect, cell })
    }
  }
  return apart
}

function assertNoRedactedText(table: Table, access: RowAccess, { values, index }: WrittenValues): void {
  if (!values.includes(REDACTED_TEXT)) return
  for (const column of table.columns) {
    if (values[column.position] !== REDACTED_TEXT) continue
    if (column.level !== 'PLAIN_TEXT' || access.level(column) !== 'PLAIN_TEXT') throw shownText(table, column, index)
  }
}

/** True if a value must be compared with the stored one. Throws for one that is refused without comparing. */
function isSuspect(column: Column, { table, levelOf, records }: WrittenOver, position: number): boolean {
  const { values, index } = required(records[position])
  const value = values[column.position]
  if (value === undefined || value === null || column.mayBeMasked?.(column.type.toText(value)) !== true) return false
  const level = levelOf(position, column)
  if (level === 'MASKED') return true
  if (column.level === 'PLAIN_TEXT') return false
  if (level === 'PLAIN_TEXT') return true
  if (typeof value === 'string' && value.includes('*')) throw shownText(table, column, index)
  return false
}

/** Throws if a value is the masked form of the stored one. A caller who sees the value can write it again. */
function assertNotMasked({ table, levelOf, records }: WrittenOver, { position, column }: Suspect, stored: unknown): void {
  const { values, index } = at(records, position)
  const value = values[column.position]
  if (!isMaskedForm(column, value, stored)) return
  if (levelOf(position, column) !== 'PLAIN_TEXT' || !isUnchanged(column, stored, value)) throw shownText(table, column, index)
}

/** True if the value is what the masked form of the stored value means in its column: a masked date can be a date. */
function isMaskedForm(column: Column, value: unknown, stored: unknown): boolean {
  if (column.mask === undefined || stored === null) return false
  try {
    const masked = column.type.parse(column.mask(column.type.toText(stored)))
    return column.type.toText(masked) === column.type.toText(value)
  } catch (error) {
    // The masked form is no value of the column, so it is not what was written.
    if (error instanceof ValueError) return false
    throw error
  }
}

function shownText(table: Table, column: Column, index: RecordIndex): Fault {
  const detail = cellDetail(table, column, index)
  return fault(
    'unprocessable',
    detail,
  )`Column ${column.name} of table ${table.name} cannot be set to the masked or redacted form of a value${inRecord(index)}. Leave it out to keep the value; a session can write the text with allowShownText.`
}
