/** PostgreSQL as a reference engine. */
import pg from 'pg'
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { FixtureTable, FixtureValue } from './fixture.ts'
import { type Output, outputType } from './output-keys.ts'
import { type Dialect, printQuery, quoted } from './print-query.ts'
import type { ColumnTerm, RandomQuery } from './query-tree.ts'
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
  ...{
    STRING: 'text collate "C"',
    INTEGER: 'bigint',
    FLOAT: 'double precision',
    BOOL: 'boolean',
    DATE: 'date',
    DECIMAL: 'numeric(18, 2)',
  },
  ...{ TIME: 'time', DATETIME: 'timestamptz', JSON: 'jsonb', ARRAY: 'jsonb' },
}

/** The error code of PostgreSQL for a FULL JOIN without an equality. */
const UNSUPPORTED = '0A000'

const name = (text: string): string => quoted(text, '"')

/** Opens the reference engine in an empty PostgreSQL database. */
export async function postgresReferenceEngine(url: string): Promise<ReferenceEngine> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query("set timezone = 'UTC'; set client_min_messages = 'error'; set jit = off")
  return {
    async load(fixture) {
      if (fixture.hasNul) return undefined
      await client.query(
        'drop schema if exists reference_rows cascade; create schema reference_rows; set search_path = reference_rows, pg_catalog',
      )
      for (const table of fixture.tables) await fill(client, table)
      return { name: 'PostgreSQL', ask: (query) => ask(client, query) }
    },
    close: () => client.end(),
  }
}

async function fill(client: pg.Client, { name: table, columns, rows }: FixtureTable): Promise<void> {
  const declared = columns.map((column) => `${name(column.name)} ${NATIVE[column.type]}`)
  const tuples = rows.map((row, at) => `(${[at, ...row.map((value, place) => literal(columns[place]?.type, value))].join()})`)
  const insert = tuples.length === 0 ? '' : `; insert into ${name(table)} values ${tuples.join()}`
  await client.query(`create table ${name(table)} (${[`${name(PLACE)} integer`, ...declared].join()})${insert}`)
}

function literal(type: ColumnTypeName | undefined, value: FixtureValue): string {
  if (value === null) return 'null'
  if (typeof value === 'bigint') return `${value}`
  if (type === 'JSON' || type === 'ARRAY') return quoted(canonicalJson(value))
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : quoted(String(value))
}

async function ask(client: pg.Client, query: RandomQuery): Promise<Comparable[][] | undefined> {
  const text = printQuery(DIALECT, query)
  const outputs = shownOutputs(query)
  try {
    const { rows } = await client.query<(string | null)[]>({ text, rowMode: 'array' })
    return rows.map((row) => row.map((value, at) => comparable(outputs[at], value)))
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === UNSUPPORTED) return undefined
    throw new Error(`PostgreSQL was asked ${text}`, { cause: error })
  }
}

const DIALECT: Dialect = {
  word: (word) => word,
  gap: () => ' ',
  table: ({ alias, table }) => `${name(table.name)} as ${name(alias)}`,
  column: columnName,
  value: (type, value, place) =>
    `${literal(type, value)}${type === 'STRING' && place?.other.kind !== 'column' ? ' collate "C"' : ''}`,
  number: (text) => text,
  // Case is folded code point by code point, as this collation does; the tables' own would only fold ASCII.
  like: ({ ignoresCase, isNegated }, left, right) =>
    `${left} ${isNegated ? 'not ' : ''}${ignoresCase ? `ilike ${right} collate "pg_c_utf8"` : `like ${right}`}`,
  hasKey: (column, key) =>
    `case when ${column} is null then null when jsonb_typeof(${column}) = 'object' then ${column} ? ${quoted(key)} else false end`,
  items: (query, column) => referenceItems(query, column, (expression) => `(${expression})::text`),
  window: (query) => referenceWindow(query, columnName),
}

function columnName({ source, column }: ColumnTerm): string {
  return `${name(source.alias)}.${name(column.name)}`
}

function comparable(output: Output | undefined, value: string | null): Comparable {
  const type = output === undefined ? 'STRING' : outputType(output)
  if (value === null) return null
  if (isJson(type)) return canonicalJson(JSON.parse(value))
  if (type === 'FLOAT') return String(Number(value))
  return type === 'DATETIME' ? value.replace(' ', 'T').replace('+00', 'Z') : value
}
