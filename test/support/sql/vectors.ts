/** Reads the queries with known answers, and the databases they are asked of. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'

/** A value as the files hold it: DATETIME without offset. */
export type KnownValue = string | number | boolean | null

/** One table of a known database. */
export interface KnownTable {
  readonly columns: readonly { readonly name: string; readonly type: ColumnTypeName }[]
  readonly rows: readonly (readonly KnownValue[])[]
}

/** The tables of a known database by name. */
export type KnownDatabase = Readonly<Record<string, KnownTable>>

/** The right answer. `rows` is absent where only their number is known; `count` is what there is without the bound of 25. */
export interface KnownAnswer {
  readonly columns: readonly string[]
  readonly compare: 'multiset' | 'ordered' | 'subset' | 'count'
  readonly rows?: readonly (readonly KnownValue[])[]
  readonly count: number
}

/** A query, the id of the database it is asked of, and its answer. */
export interface KnownQuery {
  readonly id: string
  readonly sql: string
  readonly db: string
  readonly features: readonly string[]
  readonly expected: KnownAnswer
}

/** A query another engine refuses on that database. */
export interface WrongQuery {
  readonly id: string
  readonly sql: string
  readonly db: string
}

const VECTORS = fileURLToPath(new URL('../../vectors/sql/', import.meta.url))

/** The lines of a file of `test/vectors/sql`. What they hold is stated by whoever reads them: the files are our own. */
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

/** A folder of one file a table. */
function readFolder(folder: string): KnownDatabase {
  const files = readdirSync(folder).filter((file) => file !== 'index.json')
  return Object.fromEntries(
    files.map((file) => {
      const { table, columns, rows } = JSON.parse(readFileSync(folder + file, 'utf8'))
      return [table, { columns, rows }]
    }),
  )
}
