/** What one caller may do with one table: decided from the policy alone, before anything is read, and then asked row by row. */
import type { Condition } from '../expressions/condition.ts'
import type { AskedLevel, Level } from '../redaction/levels.ts'
import type { Column, ColumnView, Table } from '../schema/layout.ts'
import type { Action } from './actions.ts'

/** What a row must grant to be there for a request: an action on every one of these columns; with no columns named, on at least one. */
export interface Need {
  readonly action: Action
  readonly columns: readonly Column[]
}

/** The grants that hold in a row, or in every row where no condition decides. */
export interface RowAccess {
  /** Highest level READ shows of this column; undefined hides it. */
  level(column: Column): Level | undefined
  /** The views of those of these columns that READ shows: the lower of what was asked and what is allowed. */
  views(columns: readonly Column[], asked: AskedLevel): readonly ColumnView[]
  /** True when the action is granted on the column. SEARCH is also granted where READ shows PLAIN_TEXT, and by CREATE or UPDATE on a unique column. */
  may(action: Action, column: Column): boolean
  /** True when the row grants all that the need asks for. */
  meets(need: Need): boolean
}

/**
 * One caller's hold on one table. `conditions` are the WHERE clauses of his statements, with the context's values in place; source 0 is
 * the table. An ALLOW counts where its condition is true, a DENY unless its condition is false.
 */
export interface TableAccess {
  readonly table: Table
  /** False when no statement of his grants anything here but AUDIT, which is of no table: every verb is then forbidden. */
  readonly holdsAny: boolean
  readonly conditions: readonly Condition[]
  /** Columns the conditions read; empty where no row needs to be looked into. */
  readonly judgedBy: readonly Column[]
  /** True when some row could grant the action on this column: else the column is as unknown to that action. */
  couldMay(action: Action, column: Column): boolean
  /** True when some row could show this column by READ, at whatever level. */
  couldSee(column: Column): boolean
  /** The highest level any row could show of this column; undefined where every row hides it. */
  highestLevel(column: Column): Level | undefined
  /** True when some row could meet the need. */
  couldMeet(need: Need): boolean
  /** True when every row meets the need, whatever it holds. */
  alwaysMeets(need: Need): boolean
  /** The grants of a row, from the truth of each condition in it; the same object for the same truths. */
  forRow(truths: readonly (boolean | undefined)[]): RowAccess
  /** A condition that is true in just those rows that meet the need: what storage may be asked before `forRow` decides. */
  necessary(need: Need): Condition
}
