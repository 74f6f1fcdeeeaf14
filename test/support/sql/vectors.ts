/** Reads the queries with known results, and their databases. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'

/** A value as the files hold it; a DATETIME without offset. */
export type KnownValue = string | number | boolean | null

/** One table of a known database. */
export interface KnownTable {
  readonly columns: readonly { readonly name: string; readonly type: ColumnTypeName }[]
  readonly rows: readonly (readonly KnownValue[])[]
}

/** The tables of a known database by name. */
export type KnownDatabase = Readonly<Record<string, KnownTable>>

/** The right result. `rows` is absent if only their number is known. `count` ignores the limit of 25. */
export interface KnownAnswer {
  readonly columns: readonly string[]
  readonly compare: 'multiset' | 'ordered' | 'subset' | 'count'
  readonly rows?: readonly (readonly KnownValue[])[]
  readonly count: number
}

/** A query, the id of its database, and its result. */
export interface KnownQuery {
  readonly id: string
  readonly sql: string
  readonly db: string
  readonly features: readonly string[]
  readonly expected: KnownAnswer
}

/** A query that another engine rejects on that database. */
export interface WrongQuery {
  readonly id: string
  readonly sql: string
  readonly db: string
}

const VECTORS = fileURLToPath(new URL('../../vectors/sql/', import.meta.url))

/** The lines of a file of `test/vectors/sql`. The caller states their type, because the files are part of the repository. */
export function readVectors<Line>(name: string): Line[] {
  return readFileSync(`${VECTORS}${name}.ndjson`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Every database by its id. */
export function readDatabases(): ReadonlyMap<string, KnownDatabase> {
  const small = readVectors<{ readonly id: string; readonly tables: KnownDatabase }>('dbs')
  const databases = new Map(small.map(({ id, tables }) => [id, tables]))
  for (const name of ['chinook', 'northwind']) databases.set(name, readFolder(`${VECTORS}${name}/`))
  return databases
}

/** A folder with one file per table. */
function readFolder(folder: string): KnownDatabase {
  const files = readdirSync(folder).filter((file) => file !== 'index.json')
  return Object.fromEntries(
    files.map((file) => {
      const { table, columns, rows } = JSON.parse(readFileSync(folder + file, 'utf8'))
      return [table, { columns, rows }]
    }),
  )
}
