/** A second implementation of policy rules, slow and obvious, that the property tests compare with. */
import type { Action, StatementDefinition } from '../../../src/core/policy/statement.ts'
import type { RedactionLevel } from '../../../src/core/redaction.ts'
import type { Column } from '../../../src/core/schema/column-layout.ts'
import type { Table } from '../../../src/core/schema/layout.ts'

/** The values that the oracle knows of a row of persons. */
export interface ExampleRow {
  readonly country: string | null
  readonly age: number | null
}

/** Context attributes of a caller. */
export type ExampleContext = Readonly<Record<string, string | number | boolean>>

/** Conditions for the property tests, each with its meaning written by hand. */
export const CONDITIONS: Readonly<Record<string, (row: ExampleRow, context: ExampleContext) => boolean | undefined>> = {
  "country = 'SE'": ({ country }) => (country === null ? undefined : country === 'SE'),
  "NOT persons.country = 'SE'": ({ country }) => (country === null ? undefined : country !== 'SE'),
  'age > 30': ({ age }) => (age === null ? undefined : age > 30),
  'persons.age IS NULL': ({ age }) => age === null,
  'country = ctx.home': ({ country }, { home }) => (country === null || home === undefined ? undefined : country === home),
  'age = ctx.missing': () => undefined,
  'NOT age = ctx.missing': () => undefined,
}

const HEIGHTS: Readonly<Record<RedactionLevel, number>> = { REDACTED: 0, MASKED: 1, PLAIN_TEXT: 2 }

/** A row, a caller's attributes and statements: everything a decision depends on. */
export interface Situation {
  readonly table: Table
  readonly statements: readonly StatementDefinition[]
  readonly row: ExampleRow
  readonly context: ExampleContext
}

/** The level that READ shows. */
export function oracleLevel(situation: Situation, column: Column): RedactionLevel | undefined {
  if (counting(situation, 'DENY', 'READ', column).length > 0) return undefined
  const levels = counting(situation, 'ALLOW', 'READ', column).map((statement) => {
    const redaction = statement.effect === 'ALLOW' ? statement.redaction : undefined
    return redaction === undefined || redaction === 'DEFAULT' ? column.level : redaction
  })
  return levels.sort((left, right) => HEIGHTS[right] - HEIGHTS[left])[0]
}

/** True if the action is granted. */
export function oracleMay(situation: Situation, action: Action, column: Column): boolean {
  const isDenied = counting(situation, 'DENY', action, column).length > 0
  if (!isDenied && counting(situation, 'ALLOW', action, column).length > 0) return true
  if (action !== 'SEARCH') return false
  if (!isDenied && oracleLevel(situation, column) === 'PLAIN_TEXT') return true
  return column.unique && (oracleMay(situation, 'CREATE', column) || oracleMay(situation, 'UPDATE', column))
}

/** The statements of one effect that cover this action on this column and apply in this row. */
function counting(situation: Situation, effect: 'ALLOW' | 'DENY', action: Action, column: Column): StatementDefinition[] {
  const { table, statements, row, context } = situation
  return statements.filter((statement) => {
    if (statement.effect !== effect) return false
    if (!statement.actions.some((said) => said === action || said === 'ALL')) return false
    if (!statement.on.some((place) => place === '*' || place === `${table.name}.*` || place === `${table.name}.${column.name}`))
      return false
    const truth = statement.where === undefined ? true : CONDITIONS[statement.where]?.(row, context)
    return effect === 'ALLOW' ? truth === true : truth !== false
  })
}
