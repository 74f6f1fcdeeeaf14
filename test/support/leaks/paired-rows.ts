/** Rows that two vaults hold in the same place, different in just what one caller may not see; the oracle says what that is. */
import type { Action } from '../../../src/core/policy/actions.ts'
import { ACTIONS } from '../../../src/core/policy/actions.ts'
import type { AskedRow } from '../policies/random-policies.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { CanaryForm } from './canaries.ts'
import { shown } from './expectations.ts'
import type { Oracle } from './oracle.ts'
import { NO_ROW } from './oracle.ts'
import type { LeakColumn, LeakTable } from './schemas.ts'
import { ASKED, GRADES, isStable, REGIONS, tokenKindOf } from './schemas.ts'

/** Values by column. */
export type PairedFields = Readonly<Record<string, unknown>>

/** A row of both vaults. */
export interface PairedRow {
  readonly table: LeakTable
  readonly left: PairedFields
  readonly right: PairedFields
  /** The side on which the row is gone before the caller comes. */
  readonly absent: 'left' | 'right' | undefined
  /** Columns whose values nobody ever guesses, as whoever writes unique columns would meet them as conflicts. */
  readonly unguessed: ReadonlySet<string>
  readonly differences: number
}

/** What rows are made of. */
export interface PairedRowSource {
  readonly random: SeededRandom
  readonly table: LeakTable
  readonly oracle: Oracle
  readonly mayBeAbsent: boolean
  /** Values that members of the column group share, so that one token stands in several places. */
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

/** Values with tokens drawn in a format, or with rows of their own, each take luck or a number: were one missing, all later ones would be others. */
function drawsForItself(column: LeakColumn): boolean {
  const kind = tokenKindOf(column)
  return kind === 'formatPreserving' || kind === 'transient'
}

/** True for a row in which the caller may do nothing at all: for him it is not there. */
function isBeyond({ oracle, table }: PairedRowSource, asked: AskedRow): boolean {
  return ACTIONS.every((action) => table.columns.every((column) => !oracle.may(action, table, column, asked)))
}

/** A row that is not there for him: something else altogether on the other side, or nothing. */
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

/** A row that is there for him in some way: only cells that he cannot tell apart may differ. */
function seenRow(source: PairedRowSource, left: PairedFields, asked: AskedRow): PairedRow {
  const { table } = source
  const differing = table.secrets.filter((column) => mayDiffer(source, column, asked))
  const changed = differing.map(
    (column) => [column.name, otherValue(source, column, { value: left[column.name], asked })] as const,
  )
  const differences = changed.filter(([name, value]) => value !== left[name]).length
  return { table, left, right: { ...left, ...Object.fromEntries(changed) }, absent: undefined, unguessed: new Set(), differences }
}

/** Situations a row can be brought into: whoever may write what conditions ask can move it. */
function situationsOf({ oracle, table }: PairedRowSource, asked: AskedRow): AskedRow[] {
  const isMovable = table.columns.some(
    (column) => ASKED.some((name) => name === column.name) && oracle.couldEver('UPDATE', table, column),
  )
  const everywhere = REGIONS.flatMap((region) => GRADES.map((grade) => ({ region, grade })))
  return [...(isMovable ? everywhere : []), asked, NO_ROW]
}

/** Whether two values in this cell are the same to him, whatever he asks. */
function mayDiffer(source: PairedRowSource, column: LeakColumn, asked: AskedRow): boolean {
  const { oracle, table } = source
  const situations = situationsOf(source, asked)
  const may = (action: Action) => situations.some((one) => oracle.may(action, table, column, one))
  if (isMetByWriting(oracle, table, column) || may('SEARCH') || may('TOKENIZATION')) return false
  if (situations.some((one) => oracle.level(table, column, one) === 'PLAIN_TEXT')) return false
  // Tokens that are made of the value tell its equals, to whoever reads or resolves them: that is what they are for.
  const tells = tokenKindOf(column)?.toLowerCase().includes('deterministic') || tokenKindOf(column) === 'formatPreserving'
  return !tells || (!may('READ') && !may('DETOKENIZATION'))
}

/** Conflicts on unique columns are known to whoever may write there. Source: semantics, "Policies". */
function isMetByWriting(oracle: Oracle, table: LeakTable, column: LeakColumn): boolean {
  const isWritten = oracle.couldEver('CREATE', table, column) || oracle.couldEver('UPDATE', table, column)
  return column.definition.unique === true && isWritten
}

/** Another value that shows the same at MASKED, where that is ever shown; one that is there stays there, unless all of it is hidden. */
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

/** Whoever writes over a stable token is handed one that was random before or is random now: which of the two hangs on there having been one. */
function keepsToken(oracle: Oracle, table: LeakTable, column: LeakColumn): boolean {
  return isStable(column) && oracle.couldEver('UPDATE', table, column)
}

/** The other text with the ends of the one, which is all that masks keep. */
function alike(value: unknown, other: unknown, { form, definition }: LeakColumn): unknown {
  if (definition.mask === undefined || typeof value !== 'string' || typeof other !== 'string') return other
  if (form === 'EMAIL') return `${value[0]}${other.slice(1)}`
  return form === 'STRING' ? `${value.slice(0, 2)}${other.slice(2, -3)}${value.slice(-3)}` : other
}
