/** How long records and values are kept: the rules, their checks, and the time from which each counts. */
import { fault, printableName, type Sentence, say, words } from '../errors.ts'
import { type Period, parsePeriod } from '../util/period.ts'
import { columnNamed, isTransient, type SchemaDefinition, tableNamed } from './column.ts'

/** The rule of one table or column. */
export interface RetentionDefinition {
  /** An ISO 8601 period of years, months, weeks, days and hours, such as `P7Y` or `P90D`. Shown as it is. */
  readonly expiresAfter: string
  /** The DATE or DATETIME column that it counts from. Default: when the record was inserted, or the value was written. */
  readonly from?: string
  /** What becomes of an expired value of a column. A record without it is deleted. */
  readonly becomes?: 'null'
}

/** The rules, by `table` or `table.column`. */
export type RetentionRules = Readonly<Record<string, RetentionDefinition>>

/** The period of a rule, which was checked when the schema was defined. */
export function periodOf({ expiresAfter }: RetentionDefinition): Period {
  return parsePeriod(expiresAfter) ?? { months: Number.POSITIVE_INFINITY, ms: 0 }
}

/** Returns the rules of a table, with the column of each; undefined for that of its records. */
export function retentionOf(
  rules: RetentionRules | undefined,
  table: string,
): (RetentionDefinition & { readonly rule: string; readonly column: string | undefined })[] {
  return Object.entries(rules ?? {}).flatMap(([rule, definition]) => {
    const [own, column] = rule.split('.')
    return own === table ? [{ ...definition, rule, column }] : []
  })
}

/** Throws `invalid_request`, with table and column in the details, for a rule that the tables do not allow. */
export function assertRetention(tables: SchemaDefinition, rules: RetentionRules): void {
  for (const [rule, definition] of Object.entries(rules)) {
    const [table = '', column, ...rest] = rule.split('.')
    const problem = rest.length > 0 ? say`names no table or column` : problemOf(tables, { table, column, ...definition })
    if (problem === undefined) continue
    const detail = { table: printableName(table), ...(column === undefined ? {} : { column: printableName(column) }) }
    throw fault('invalid_request', detail)`Invalid schema: the rule of retention for ${printableName(rule)} ${problem}.`
  }
}

/** A rule, and what it names. */
interface NamedRule extends RetentionDefinition {
  readonly table: string
  readonly column: string | undefined
}

function problemOf(tables: SchemaDefinition, { table, column, expiresAfter, from, becomes }: NamedRule): Sentence | undefined {
  const columns = tableNamed(tables, table)
  if (columns === undefined) return say`names a table that the schema does not have`
  if (parsePeriod(expiresAfter) === undefined)
    return say`needs an expiresAfter of years, months, weeks, days or hours, such as P7Y, P90D or PT12H`
  if (from !== undefined) {
    const counted = columnNamed(columns, from)
    if (counted?.type !== 'DATE' && counted?.type !== 'DATETIME')
      return say`counts from ${printableName(from)}, which is no DATE or DATETIME column of the table`
    if (isTransient(counted)) return say`counts from column ${from}, whose values are transient`
  }
  if (column === undefined) {
    return becomes === undefined ? undefined : say`has becomes, which is for columns: a record is deleted. Remove it`
  }
  const emptied = columnNamed(columns, column)
  if (emptied === undefined) return say`names a column that the table does not have`
  if (becomes === undefined) return say`needs becomes: ${words("'null'")}, because a column cannot be deleted`
  if (emptied.required === true) return say`empties a required column. Make it optional`
  if (emptied.type === 'FILE') return say`empties a column of files. Delete the records, or their files, by the application`
  if (isTransient(emptied)) return say`is for a column with transient values, which expire by their ttlMinutes. Remove it`
  return column === from ? say`counts from the column that it empties` : undefined
}
