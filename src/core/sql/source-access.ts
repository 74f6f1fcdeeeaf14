/**
 * The part of a caller's access to a table that queries need, and which rows are visible to a query. Policy accesses satisfy these
 * interfaces.
 */
import { allOf, anyOf, type Condition, type Truth } from '../expressions/condition.ts'
import type { RedactionLevel } from '../redaction.ts'
import type { Column } from '../schema/column-layout.ts'

/** A grant that a query requires of a row: an action on each of these columns or, without columns, on at least one. */
export interface RequiredReadGrant {
  readonly action: 'READ' | 'SEARCH'
  readonly columns: readonly Column[]
}

/** The grants of one row. */
export interface RowGrants {
  /** The highest level READ shows of this column, or undefined if it is hidden. */
  level(column: Column): RedactionLevel | undefined
  allows(action: 'READ' | 'SEARCH', column: Column): boolean
  meets(need: RequiredReadGrant): boolean
}

/** A statement of the policy that applies to some rows only. */
export interface RowStatement {
  readonly role: string
  /** Number of the statement in its role, from 1. */
  readonly position: number
  /** Columns of its condition. */
  readonly columns: readonly string[]
}

/**
 * One caller's access to one table, as far as queries need it. An ALLOW applies if its condition is true, a DENY unless its condition is
 * false.
 */
export interface SourceAccess {
  readonly hasAnyGrant: boolean
  readonly conditions: readonly Condition[]
  /** Columns of the conditions. */
  readonly conditionColumns: readonly Column[]
  /** The statements whose condition decides in each row what READ and SEARCH grant on this column. */
  rowStatements(column: Column): readonly RowStatement[]
  possiblyAllows(action: 'READ' | 'SEARCH', column: Column): boolean
  possiblyVisible(column: Column): boolean
  /** The highest level that some row can show, or undefined if every row hides the column. */
  highestLevel(column: Column): RedactionLevel | undefined
  possiblyMeets(need: RequiredReadGrant): boolean
  alwaysMeets(need: RequiredReadGrant): boolean
  forRow(truths: readonly Truth[]): RowGrants
  pushdownCondition(need: RequiredReadGrant): Condition
}

/** How a query uses the columns of one table. A row that does not grant all of these uses is not visible to the query. */
export interface ColumnRequirements {
  /** Selected, counted or tested for null: READ at any level, because null shows at every level. */
  readonly visible: readonly Column[]
  /** Only compared by `=`: READ at PLAIN_TEXT, or SEARCH. */
  readonly equated: readonly Column[]
  /** Compared in another way, aggregated, ordered or grouped by: READ at PLAIN_TEXT. */
  readonly plainText: readonly Column[]
}

/** What a query needs of the rows of one table, whatever its literals are. */
export interface SourceNeeds {
  readonly requirements: ColumnRequirements
  /** True if the policy's conditions must be evaluated on each row. Otherwise every row is visible with the guaranteed grants. */
  readonly isConditional: boolean
  /** True in every visible row. Storage evaluates what it can of it. */
  readonly granted: Condition
  /** Columns of the result and its order. The id of a result row becomes text only when the result is built. */
  readonly selected: readonly Column[]
  /** True if aggregates, groups or the order read the public id. */
  readonly selectsId: boolean
}

/** A row that shows no column does not exist for its reader. */
export const SHOWS_ANYTHING: RequiredReadGrant = { action: 'READ', columns: [] }

/** True if a row with these grants is visible to a query with these requirements. */
export function isVisibleTo(grants: RowGrants, { visible, equated, plainText }: ColumnRequirements): boolean {
  return (
    grants.meets(SHOWS_ANYTHING) &&
    visible.every((column) => grants.level(column) !== undefined) &&
    equated.every((column) => grants.level(column) === 'PLAIN_TEXT' || grants.allows('SEARCH', column)) &&
    plainText.every((column) => grants.level(column) === 'PLAIN_TEXT')
  )
}

/** The grants that every row has: all conditions are taken as unknown, so no conditional ALLOW applies and every DENY does. */
export function guaranteedGrants(access: SourceAccess): RowGrants {
  return access.forRow(access.conditions.map(() => undefined))
}

/** True if some row can show the column in plain text. */
export function possiblyPlainText(access: SourceAccess, column: Column): boolean {
  return access.highestLevel(column) === 'PLAIN_TEXT'
}

/** A condition that is true in every visible row. Storage evaluates it before the policy's conditions are evaluated on rows. */
export function pushdownConditionFor(access: SourceAccess, { visible, equated, plainText }: ColumnRequirements): Condition {
  const read = [...visible, ...plainText]
  return allOf([
    access.pushdownCondition(read.length === 0 ? SHOWS_ANYTHING : { action: 'READ', columns: read }),
    ...equated.map((column) =>
      anyOf([
        access.pushdownCondition({ action: 'READ', columns: [column] }),
        access.pushdownCondition({ action: 'SEARCH', columns: [column] }),
      ]),
    ),
  ])
}
