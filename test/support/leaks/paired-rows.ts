/** Rows of two vaults that differ only in what one caller may not see, by the oracle. */
import { ACTIONS, type Action } from '../../../src/core/policy/statement.ts'
import type { AskedRow } from '../policies/random-policies.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { CanaryForm } from './canaries.ts'
import { NO_ROW, type Oracle } from './oracle.ts'
import { ASKED, GRADES, isStable, type LeakColumn, type LeakTable, REGIONS, tokenKindOf } from './schemas.ts'
import { shown } from './shown-value.ts'

/** Values by column. */
export type PairedFields = Readonly<Record<string, unknown>>

/** A row of both vaults. */
export interface PairedRow {
  readonly table: LeakTable
  readonly left: PairedFields
  readonly right: PairedFields
  /** The side on which the row is deleted before the caller's first request. */
  readonly absent: 'left' | 'right' | undefined
  /** Columns whose values are never guessed, because a writer of a unique column would meet them as conflicts. */
  readonly unguessed: ReadonlySet<string>
  readonly differences: number
}

/** The input of the row generator. */
export interface PairedRowSource {
  readonly random: SeededRandom
  readonly table: LeakTable
  readonly oracle: Oracle
  readonly mayBeAbsent: boolean
  /** Values that the columns of the group share, so that one token occurs in several cells. */
  readonly kin: readonly unknown[]
  fresh(form: CanaryForm): unknown
}

/** A few rows of one table. */
export function randomPairedRows(source: PairedRowSource): PairedRow[] {
  return Array.from({ length: 3 + source.random.below(4) }, () => randomPairedRow(source))
}

function randomPairedRow(source: PairedRowSource): PairedRow {
  const { random, table } = source
  const asked: AskedRow = { region: random.pick(REGIONS), grade: random.pick(GRADES) }
  const left = { ...asked, ...Object.fromEntries(table.secrets.map((column) => [column.name, someValue(source, column)])) }
  return isBeyond(source, asked) ? unseenRow(source, left) : seenRow(source, left, asked)
}

function someValue(source: PairedRowSource, column: LeakColumn): unknown {
  return !drawsForItself(column) && source.random.chance(0.1) ? null : presentValue(source, column)
}

function presentValue({ random, kin, fresh }: PairedRowSource, { form, definition }: LeakColumn): unknown {
  return definition.columnGroup !== undefined && random.chance(0.8) ? random.pick(kin) : fresh(form)
}

/** True if a value draws a token or a number. If one vault had no such value, all its later draws would differ. */
function drawsForItself(column: LeakColumn): boolean {
  const kind = tokenKindOf(column)
  return kind === 'formatPreserving' || kind === 'transient'
}

/** True for a row in which the caller may do nothing: it is invisible to the caller. */
function isBeyond({ oracle, table }: PairedRowSource, asked: AskedRow): boolean {
  return ACTIONS.every((action) => table.columns.every((column) => !oracle.may(action, table, column, asked)))
}

/** An invisible row: the other side has any other row, or none. */
function unseenRow(source: PairedRowSource, left: PairedFields): PairedRow {
  const { random, table, oracle, mayBeAbsent } = source
  const beyond = REGIONS.flatMap((region) => GRADES.map((grade) => ({ region, grade }))).filter((asked) =>
    isBeyond(source, asked),
  )
  const secrets = Object.fromEntries(table.secrets.map((column) => [column.name, someValue(source, column)]))
  const unguessed = table.secrets.filter((column) => isMetByWriting(oracle, table, column)).map(({ name }) => name)
  return {
    table,
    left,
    right: { ...random.pick(beyond), ...secrets },
    absent: mayBeAbsent && random.chance(0.4) ? random.pick(['left', 'right'] as const) : undefined,
    unguessed: new Set(unguessed),
    differences: 1,
  }
}

/** A visible row: only cells that the caller cannot distinguish may differ. */
function seenRow(source: PairedRowSource, left: PairedFields, asked: AskedRow): PairedRow {
  const { table } = source
  const differing = table.secrets.filter((column) => mayDiffer(source, column, asked))
  const changed = differing.map(
    (column) => [column.name, otherValue(source, column, { value: left[column.name], asked })] as const,
  )
  const differences = changed.filter(([name, value]) => value !== left[name]).length
  return { table, left, right: { ...left, ...Object.fromEntries(changed) }, absent: undefined, unguessed: new Set(), differences }
}

/** Condition values a row can reach: a caller who may write the columns of conditions can change them. */
function situationsOf({ oracle, table }: PairedRowSource, asked: AskedRow): AskedRow[] {
  const isMovable = table.columns.some(
    (column) => ASKED.some((name) => name === column.name) && oracle.couldEver('UPDATE', table, column),
  )
  const everywhere = REGIONS.flatMap((region) => GRADES.map((grade) => ({ region, grade })))
  return [...(isMovable ? everywhere : []), asked, NO_ROW]
}

/** Whether the caller cannot distinguish two values of this cell by any request. */
function mayDiffer(source: PairedRowSource, column: LeakColumn, asked: AskedRow): boolean {
  const { oracle, table } = source
  const situations = situationsOf(source, asked)
  const may = (action: Action) => situations.some((one) => oracle.may(action, table, column, one))
  if (isMetByWriting(oracle, table, column) || may('SEARCH') || may('TOKENIZATION')) return false
  if (situations.some((one) => oracle.level(table, column, one) === 'PLAIN_TEXT')) return false
  // A deterministic token reveals equal values to every caller who reads or resolves it. That is its purpose.
  const isRevealing = tokenKindOf(column)?.toLowerCase().includes('deterministic') || tokenKindOf(column) === 'formatPreserving'
  return !isRevealing || (!may('READ') && !may('DETOKENIZATION'))
}

/** A caller who may write a unique column can detect duplicates. Source: docs/policy.md. */
function isMetByWriting(oracle: Oracle, table: LeakTable, column: LeakColumn): boolean {
  const isWritten = oracle.couldEver('CREATE', table, column) || oracle.couldEver('UPDATE', table, column)
  return column.definition.unique === true && isWritten
}

/** Another value with the same mask, if the caller may see masks. A present value stays present unless the whole cell is hidden. */
function otherValue(source: PairedRowSource, column: LeakColumn, { value, asked }: { value: unknown; asked: AskedRow }): unknown {
  const { random, table, oracle } = source
  const levels = situationsOf(source, asked).map((one) => oracle.level(table, column, one))
  if (levels.every((level) => level === undefined) && !drawsForItself(column) && !keepsToken(oracle, table, column)) {
    if (random.chance(0.2)) return null
    if (value === null) return random.chance(0.5) ? presentValue(source, column) : null
  }
  if (value === null) return null
  const other = typeof value === 'boolean' ? !value : alike(value, presentValue(source, column), column)
  return levels.includes('MASKED') && shown(column, value, 'MASKED') !== shown(column, other, 'MASKED') ? value : other
}

/** An update of a stable token returns the old token or a new one, depending on whether there was a value before. */
function keepsToken(oracle: Oracle, table: LeakTable, column: LeakColumn): boolean {
  return isStable(column) && oracle.couldEver('UPDATE', table, column)
}

/** The other text with the ends of the first, which is all that a mask shows. */
function alike(value: unknown, other: unknown, { form, definition }: LeakColumn): unknown {
  if (definition.mask === undefined || typeof value !== 'string' || typeof other !== 'string') return other
  if (form === 'EMAIL') return `${value[0]}${other.slice(1)}`
  return form === 'STRING' ? `${value.slice(0, 2)}${other.slice(2, -3)}${value.slice(-3)}` : other
}
