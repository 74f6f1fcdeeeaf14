/** Compares the result of a query with the known result. */
import type { JsonValue } from '../../../src/core/values/column-type.ts'
import type { Answer } from './known-vault.ts'
import type { KnownAnswer, KnownQuery } from './vectors.ts'

/** Records a query returns, at most. Source: specification, "Query". */
export const MAX_RECORDS = 25

/** Digits of doubles that are compared. */
const DIGITS = 9

/** An integer beyond 2^53: the vault returns it as text, the files hold it as a number. */
const LONG_INTEGER = /^-?\d{16,19}$/

/** The id a vault adds to `*`: alone, or named with its table where several have one. */
const RECORD_ID = /^(?:[^.]+\.)?svc_id$/

/** Returns what is wrong with a result; undefined if it is correct. */
export function faultOf(query: KnownQuery, { records }: Answer): string | undefined {
  const { expected } = query
  const wanted = Math.min(MAX_RECORDS, expected.count)
  if (records.length !== wanted) return `answers ${records.length} records, not ${wanted}`
  const rows = records.map(({ fields }) => shownColumns(query, fields))
  const [first] = rows
  const width = expected.columns.length
  if (first !== undefined && first.length !== width) return `answers ${first.length} columns, not ${width}`
  const wrongName = first === undefined ? undefined : misnamed(query, first)
  if (wrongName !== undefined) return wrongName
  return differing(
    expected,
    rows.map((row) => row.map(([, value]) => value)),
  )
}

/** The columns of a record in order, without the ids that other engines do not have. */
function shownColumns(query: KnownQuery, fields: Readonly<Record<string, JsonValue>>): [string, JsonValue][] {
  const isStar = query.features.includes('star') || query.features.includes('table-star')
  return Object.entries(fields).filter(([key]) => !(isStar && RECORD_ID.test(key)))
}

/** Returns a wrong key; undefined if all are right. Keys equal the names of the other engine in lower case, unless names clash or are not valid in a schema. */
function misnamed({ expected, features }: KnownQuery, row: readonly [string, JsonValue][]): string | undefined {
  if (features.includes('aggregate') || features.includes('non-simple-names')) return undefined
  const names = expected.columns.map((name) => name.toLowerCase())
  const isAlone = (name: string): boolean => names.indexOf(name) === names.lastIndexOf(name)
  const at = names.findIndex((name, position) => isAlone(name) && row[position]?.[0] !== name)
  return at < 0 ? undefined : `answers key ${row[at]?.[0]} in place of ${names[at]}`
}

function differing(expected: KnownAnswer, rows: readonly (readonly JsonValue[])[]): string | undefined {
  if (expected.compare === 'count' || expected.rows === undefined) return undefined
  const left = new Map<string, number>()
  for (const row of expected.rows) {
    const key = keyOf(row)
    left.set(key, 1 + (left.get(key) ?? 0))
  }
  for (const row of rows) {
    const key = keyOf(row)
    const count = left.get(key) ?? 0
    if (count === 0) return `answers a record that is not expected, or too often: ${key}`
    left.set(key, count - 1)
  }
  return undefined
}

function keyOf(row: readonly JsonValue[]): string {
  return JSON.stringify(row.map(comparable))
}

/** One form for values that mean the same: numbers to nine digits, moments of UTC without their Z. */
function comparable(value: JsonValue): JsonValue {
  if (typeof value === 'number') return Number(value.toPrecision(DIGITS))
  if (typeof value !== 'string') return value
  if (LONG_INTEGER.test(value)) return Number(Number(value).toPrecision(DIGITS))
  return value.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z$/, '$1')
}
