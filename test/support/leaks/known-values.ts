/** The values that random requests are made of, with a preference for what the caller may do. */
import type { Action } from '../../../src/core/policy/statement.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { CanaryForm } from './canaries.ts'
import { withDigits } from './model.ts'
import type { Oracle } from './oracle.ts'
import { GRADES, type LeakColumn, type LeakTable, REGIONS } from './schemas.ts'
import { shown } from './shown-value.ts'

/** A call of a session's method, or of the vault's `explain`. */
export interface LeakRequest {
  readonly method: string
  readonly args: readonly unknown[]
}

/** A request as one line of text. */
export function requestText({ method, args }: LeakRequest): string {
  return `${method} ${JSON.stringify(args, withDigits)}`
}

/** A read that the caller made, and the cursor that it returned. */
export interface ReadPage {
  readonly request: LeakRequest
  readonly next: string
}

/** Notes a read of records that others can follow. */
export function notePage(pages: ReadPage[], request: LeakRequest, answer: unknown): void {
  const next: unknown = Object(answer).next
  if (request.method === 'get' && typeof next === 'string') pages.push({ request, next })
}

/** Tables, values, ids and tokens that requests may use. */
export interface KnownValues {
  readonly tables: readonly LeakTable[]
  /** Requests prefer what the caller may do; otherwise nearly all would be rejected. */
  readonly oracle: Oracle
  idsOf(table: LeakTable): readonly string[]
  tokens(): readonly string[]
  /** Tokens that the caller may supply for values of their own. */
  suppliableTokens(): readonly string[]
  /** Stored values of the column, visible to the caller or not: a caller may guess any value. */
  guessesFor(table: LeakTable, column: LeakColumn): readonly unknown[]
  /** Pages that the caller has read so far, and that others follow. */
  pages(): readonly ReadPage[]
  fresh(form: CanaryForm): unknown
}

/** Prefers a table in which the caller may sometimes do this. */
export function tableFor(random: SeededRandom, { tables, oracle }: KnownValues, action: Action): LeakTable {
  const apt = tables.filter((table) => table.columns.some((column) => oracle.couldEver(action, table, column)))
  return random.pick(apt.length > 0 && random.chance(0.9) ? apt : tables)
}

/** Mostly columns with which the caller may sometimes do this; at times all columns. */
export function columnsFor(
  random: SeededRandom,
  { oracle }: KnownValues,
  table: LeakTable,
  action: Action,
): readonly LeakColumn[] {
  const apt = table.columns.filter((column) => oracle.couldEver(action, table, column))
  return apt.length > 0 && random.chance(0.85) ? apt : table.columns
}

/** A value for a column: new, guessed, as a guess is shown masked or redacted, null, or of another type. */
export function valueFor(random: SeededRandom, known: KnownValues, table: LeakTable, column: LeakColumn): unknown {
  if (column.name === 'region') return random.pick(REGIONS)
  if (column.name === 'grade') return random.pick(GRADES)
  const guesses = known.guessesFor(table, column)
  const draw = random()
  if (draw < 0.1 && guesses.length > 0) return shown(column, random.pick(guesses), random.pick(['MASKED', 'MASKED', 'REDACTED']))
  if (draw < 0.45 && guesses.length > 0) return random.pick(guesses)
  if (draw < 0.52) return null
  if (draw < 0.57) return known.fresh(random.pick(['STRING', 'INTEGER', 'DATE', 'JSON'] as const))
  return known.fresh(column.form)
}

/** A value as text, as a query or a request over HTTP writes it. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : String(JSON.stringify(value, withDigits))
}
