/** The oracle: what a caller may see, by a slow and simple second implementation of the policy rules. */
import type { Action, StatementDefinition } from '../../../src/core/policy/statement.ts'
import type { Redaction, RedactionLevel } from '../../../src/core/redaction.ts'
import type { Caller } from '../../../src/index.ts'
import { type AskedRow, CONDITIONS, type RandomPolicy } from '../policies/random-policies.ts'
import type { LeakColumn, LeakTable } from './schemas.ts'

/** One caller under one policy. */
export interface Oracle {
  /** The redaction level at which READ shows this column in this row; undefined if it is hidden. */
  level(table: LeakTable, column: LeakColumn, row: AskedRow): RedactionLevel | undefined
  /** Whether the action is granted on the column in this row. READ and write grants imply SEARCH. */
  may(action: Action, table: LeakTable, column: LeakColumn, row: AskedRow): boolean
  /** Whether some statement allows the action on the column, for any row and regardless of DENY. */
  couldEver(action: Action, table: LeakTable, column: LeakColumn): boolean
}

/** The row of a transient value: conditions on it are unknown. */
export const NO_ROW: AskedRow = { region: undefined, grade: undefined }

const HEIGHTS: Readonly<Record<RedactionLevel, number>> = { REDACTED: 0, MASKED: 1, PLAIN_TEXT: 2 }

/** The lower of two levels. */
export function lower(left: RedactionLevel, right: RedactionLevel): RedactionLevel {
  return HEIGHTS[left] < HEIGHTS[right] ? left : right
}

/** The redaction level of a result. */
export function answeredLevel(column: LeakColumn, asked: Redaction, allowed: RedactionLevel): RedactionLevel {
  const level = lower(asked === 'DEFAULT' ? ownLevel(column) : asked, allowed)
  return level === 'MASKED' && column.definition.mask === undefined ? 'REDACTED' : level
}

/** The oracle of one caller. */
export function createOracle(policy: RandomPolicy, caller: Caller): Oracle {
  const statements = caller.roles.flatMap((role) => policy[role] ?? [])
  const about = (action: Action, table: LeakTable, column: LeakColumn) =>
    statements.filter(
      ({ actions, on }) =>
        actions.some((said) => said === action || said === 'ALL') &&
        on.some((place) => place === '*' || place === `${table.name}.*` || place === `${table.name}.${column.name}`),
    )
  const counting = (effect: 'ALLOW' | 'DENY', found: readonly StatementDefinition[], row: AskedRow) =>
    found.filter((statement) => statement.effect === effect && counts(statement, row, caller))

  const oracle: Oracle = {
    level(table, column, row) {
      const found = about('READ', table, column)
      if (counting('DENY', found, row).length > 0) return undefined
      const levels = counting('ALLOW', found, row).map((statement) => levelBy(statement, column))
      return levels.sort((left, right) => HEIGHTS[right] - HEIGHTS[left])[0]
    },
    may(action, table, column, row) {
      const found = about(action, table, column)
      const isDenied = counting('DENY', found, row).length > 0
      if (!isDenied && counting('ALLOW', found, row).length > 0) return true
      if (action !== 'SEARCH') return false
      if (!isDenied && oracle.level(table, column, row) === 'PLAIN_TEXT') return true
      const isWritable = oracle.may('CREATE', table, column, row) || oracle.may('UPDATE', table, column, row)
      return column.definition.unique === true && isWritable
    },
    couldEver: (action, table, column) => about(action, table, column).some(({ effect }) => effect === 'ALLOW'),
  }
  return oracle
}

function ownLevel({ definition }: LeakColumn): RedactionLevel {
  return definition.redaction ?? 'REDACTED'
}

function levelBy(statement: StatementDefinition, column: LeakColumn): RedactionLevel {
  const redaction = statement.effect === 'ALLOW' ? statement.redaction : undefined
  return redaction === undefined || redaction === 'DEFAULT' ? ownLevel(column) : redaction
}

function counts({ where, effect }: StatementDefinition, row: AskedRow, caller: Caller): boolean {
  const truth = where === undefined ? true : row === NO_ROW ? undefined : CONDITIONS[where]?.(row, caller.context ?? {})
  return effect === 'ALLOW' ? truth === true : truth !== false
}
