/** What a query must know of its caller's hold on a table, and which rows take part in it. The policy room's accesses satisfy it. */
import { allOf, anyOf } from '../expressions/columns-of.ts'
import type { Condition, Truth } from '../expressions/condition.ts'
import type { Level } from '../redaction/levels.ts'
import type { Column } from '../schema/layout.ts'

/** What a query may ask of a row: an action on every one of these columns; with no columns named, on at least one. */
export interface ReadNeed {
  readonly action: 'READ' | 'SEARCH'
  readonly columns: readonly Column[]
}

/** The grants that hold in one row. */
export interface RowGrants {
  /** Highest level READ shows of this column; undefined hides it. */
  level(column: Column): Level | undefined
  may(action: 'READ' | 'SEARCH', column: Column): boolean
  meets(need: ReadNeed): boolean
}

/** One caller's hold on one table, as far as queries go. An ALLOW counts where its condition is true, a DENY unless its condition is false. */
export interface SourceAccess {
  readonly holdsAny: boolean
  readonly conditions: readonly Condition[]
  /** Columns the conditions read. */
  readonly judgedBy: readonly Column[]
  couldMay(action: 'READ' | 'SEARCH', column: Column): boolean
  couldSee(column: Column): boolean
  /** The highest level any row could show; undefined where every row hides the column. */
  highestLevel(column: Column): Level | undefined
  couldMeet(need: ReadNeed): boolean
  alwaysMeets(need: ReadNeed): boolean
  forRow(truths: readonly Truth[]): RowGrants
  necessary(need: ReadNeed): Condition
}

/** What a query does with the columns of one table, and so what a row must grant to be there for it. */
export interface Demand {
  /** Shown, counted or tested for null: READ at any level, as null shows at every level. */
  readonly seen: readonly Column[]
  /** Only ever compared by `=`: PLAIN_TEXT or SEARCH. */
  readonly equated: readonly Column[]
  /** Compared otherwise, or aggregated: PLAIN_TEXT. */
  readonly plain: readonly Column[]
}

/** A row that shows nothing at all does not exist for its reader. */
export const SHOWS_ANYTHING: ReadNeed = { action: 'READ', columns: [] }

/** True when a row with these grants is there for a query with this demand. */
export function takesPart(grants: RowGrants, { seen, equated, plain }: Demand): boolean {
  return (
    grants.meets(SHOWS_ANYTHING) &&
    seen.every((column) => grants.level(column) !== undefined) &&
    equated.every((column) => grants.level(column) === 'PLAIN_TEXT' || grants.may('SEARCH', column)) &&
    plain.every((column) => grants.level(column) === 'PLAIN_TEXT')
  )
}

/** The least that any row grants: with nothing known of its conditions no ALLOW counts, and every DENY does. */
export function leastGrants(access: SourceAccess): RowGrants {
  return access.forRow(access.conditions.map(() => undefined))
}

/** True when some row could show the column in plain text. */
export function couldShowPlain(access: SourceAccess, column: Column): boolean {
  return access.highestLevel(column) === 'PLAIN_TEXT'
}

/** A condition that holds in every row that takes part: what storage may be asked before rows are judged. */
export function necessaryFor(access: SourceAccess, { seen, equated, plain }: Demand): Condition {
  const read = [...seen, ...plain]
  return allOf([
    access.necessary(read.length === 0 ? SHOWS_ANYTHING : { action: 'READ', columns: read }),
    ...equated.map((column) =>
      anyOf([access.necessary({ action: 'READ', columns: [column] }), access.necessary({ action: 'SEARCH', columns: [column] })]),
    ),
  ])
}
