/** SQLite as a reference engine. */
import Database from 'better-sqlite3'
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { Fixture, FixtureTable, FixtureValue } from './fixture.ts'
import { type Output, outputType } from './output-keys.ts'
import { type Dialect, printQuery, quoted } from './print-query.ts'
import { type ColumnTerm, comparisonsOf, type OrderTerm, type Predicate, type RandomQuery, type Term } from './query-tree.ts'
import {
  type Comparable,
  canonicalJson,
  isJson,
  PLACE,
  type ReferenceEngine,
  referenceItems,
  referenceWindow,
  shownOutputs,
} from './reference-engine.ts'

const NATIVE: Readonly<Record<ColumnTypeName, string>> = {
  ...{ STRING: 'text', INTEGER: 'integer', FLOAT: 'real', BOOL: 'integer', DATE: 'text', DECIMAL: 'text' },
  ...{ TIME: 'text', DATETIME: 'text', JSON: 'text', ARRAY: 'text' },
}

/** Names of parameters, quoted as names are. */
const name = (text: string): string => quoted(text, '"')

/** SQLite, in memory. */
export function sqliteReferenceEngine(): ReferenceEngine {
  return {
    async load(fixture) {
      const database = new Database(':memory:')
      database.pragma('case_sensitive_like = on')
      for (const table of fixture.tables) fill(database, table)
      return { name: 'SQLite', ask: async (query) => (isAnswerable(fixture, query) ? ask(database, query) : undefined) }
    },
    async close() {},
  }
}

function fill(database: Database.Database, { name: table, columns, rows }: FixtureTable): void {
  const declared = columns.map((column) => `${name(column.name)} ${NATIVE[column.type]}`)
  database.exec(`create table ${name(table)} (${[`${name(PLACE)} integer`, ...declared].join()})`)
  const insert = database.prepare(`insert into ${name(table)} values (?${', ?'.repeat(columns.length)})`)
  for (const [at, row] of rows.entries()) insert.run(at, ...row.map((value, place) => bound(columns[place]?.type, value)))
}

/** A value as stored in SQLite: anything but a number or text becomes a text with the same order. */
function bound(type: ColumnTypeName | undefined, value: FixtureValue): string | number | bigint | null {
  if (value === null || typeof value === 'bigint') return value
  if (type === 'JSON' || type === 'ARRAY') return canonicalJson(value)
  if (typeof value === 'boolean') return Number(value)
  if (typeof value === 'number') return value
  const text = String(value)
  return type === 'TIME' || type === 'DATETIME' ? padded(text) : text
}

/** Always with nine decimals, because a shorter fraction would sort after a longer one. */
function padded(text: string): string {
  const [, moment = '', fraction = '', zone = ''] = /^([^.Z]*)(?:\.(\d+))?(Z?)$/.exec(text) ?? []
  return `${moment}.${fraction.padEnd(9, '0')}${zone}`
}

function unpadded(text: string): string {
  return text.replace(/\.(\d*?)0*(Z?)$/, (_, fraction, zone) => (fraction === '' ? zone : `.${fraction}${zone}`))
}

function ask(database: Database.Database, query: RandomQuery): Comparable[][] | undefined {
  const parameters: (string | number | bigint | null)[] = []
  const text = printQuery(dialect(parameters), query)
  const outputs = shownOutputs(query)
  try {
    const rows = database
      .prepare<unknown[], unknown[]>(text)
      .raw()
      .safeIntegers()
      .all(...parameters)
    return rows.map((row) => row.map((value, at) => comparable(outputs[at], value)))
  } catch (error) {
    throw new Error(`SQLite was asked ${text}`, { cause: error })
  }
}

function dialect(parameters: (string | number | bigint | null)[]): Dialect {
  const bind = (value: string | number | bigint | null): string => {
    parameters.push(value)
    return '?'
  }
  return {
    word: (word) => word,
    gap: () => ' ',
    table: ({ alias, table }) => `${name(table.name)} as ${name(alias)}`,
    column: columnName,
    value: (type, value) => (type === 'INTEGER' ? String(value) : bind(bound(type, value))),
    number: (text) => text,
    like: ({ isNegated }, left, right) => `${left} ${isNegated ? 'not like' : 'like'} ${right} escape '\\'`,
    hasKey: (column, key) =>
      `case when ${column} is null then null when json_type(${column}) = 'object' then ${bind(key)} in (select key from json_each(${column})) else false end`,
    items: (query, column) => referenceItems(query, column, (expression) => expression),
    window: (query) => referenceWindow(query, columnName),
  }
}

function columnName({ source, column }: ColumnTerm): string {
  return `${name(source.alias)}.${name(column.name)}`
}

function comparable(output: Output | undefined, value: unknown): Comparable {
  const type = output === undefined ? 'STRING' : outputType(output)
  if (value === null || value === undefined) return null
  if (type === 'BOOL') return String(Number(value) === 1)
  if (isJson(type)) return canonicalJson(JSON.parse(String(value)))
  return type === 'TIME' || type === 'DATETIME' ? unpadded(String(value)) : String(value)
}

/**
 * SQLite has no ILIKE and no exact decimal numbers; it compares an integer with a double exactly, where PostgreSQL and the vault make both doubles; and its
 * sums overflow.
 */
function isAnswerable(fixture: Fixture, query: RandomQuery): boolean {
  const conditions = [...query.joins.map(({ on }) => on), ...(query.where === undefined ? [] : [query.where])]
  if (conditions.some((condition) => uses(condition, (one) => one.kind === 'like' && one.ignoresCase))) return false
  if (conditions.some((condition) => uses(condition, comparesDecimals))) return false
  if (query.items.some((item) => item.kind === 'aggregate' && item.term?.column.type === 'DECIMAL')) return false
  if (query.orderBy.some(({ by }) => numberType(by) === 'DECIMAL')) return false
  if (!fixture.isWide) return true
  const sums = query.items.some((item) => item.kind === 'aggregate' && (item.name === 'sum' || item.name === 'avg'))
  return !sums && !conditions.some((condition) => uses(condition, mixesNumbers))
}

function comparesDecimals(predicate: Predicate): boolean {
  return predicate.kind === 'compare' && [predicate.left, predicate.right].some((term) => numberType(term) === 'DECIMAL')
}

function mixesNumbers(predicate: Predicate): boolean {
  if (predicate.kind !== 'compare') return false
  const types = [predicate.left, predicate.right].map(numberType)
  return types.includes('INTEGER') && types.includes('FLOAT')
}

function numberType(term: Term | OrderTerm['by']): ColumnTypeName | undefined {
  return term.kind === 'column' ? term.column.type : undefined
}

/** Whether a part of a condition is as asked. */
function uses(predicate: Predicate, isSuch: (part: Predicate) => boolean): boolean {
  if (isSuch(predicate)) return true
  if (predicate.kind === 'in' || predicate.kind === 'between') return uses(comparisonsOf(predicate), isSuch)
  if (predicate.kind === 'not') return uses(predicate.operand, isSuch)
  return (predicate.kind === 'and' || predicate.kind === 'or') && predicate.operands.some((operand) => uses(operand, isSuch))
}
