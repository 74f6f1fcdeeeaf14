/** One vault that holds every known database, with unique table names. Queries are rewritten to use them. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { ColumnDefinition, SchemaDefinition } from '../../../src/core/schema/column.ts'
import { nameProblem } from '../../../src/core/schema/names.ts'
import type { JsonValue } from '../../../src/core/values/column-type.ts'
import { createVault, defineSchema } from '../../../src/index.ts'
import { asLoose, type LooseRecord, type LooseSession } from '../vaults/open-untyped.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'
import { definitionOf as columnOfType } from './fixture.ts'
import type { KnownDatabase, KnownTable, KnownValue } from './vectors.ts'

/** The result of a query. */
export interface Answer {
  readonly records: readonly { readonly fields: Readonly<Record<string, JsonValue>> }[]
}

/** What runs queries: a session of a vault, or a faulty one. */
export interface Queryable {
  query(sql: string): Promise<Answer>
}

/** How columns are stored: all sealed, half of them searchable; or all plain, half of them indexed; or each of these four in turn. */
export type Keeping = 'sealed' | 'plain' | 'mixed'

/** A table of the vault and the names of its columns there. */
export interface KnownPlace {
  readonly name: string
  readonly columns: readonly string[]
  readonly table: KnownTable
}

/** The tables of each database, by database id and table name. */
export type KnownPlaces = ReadonlyMap<string, ReadonlyMap<string, KnownPlace>>

/** Records per insert. */
const SLICE = 1000

/** Gives every table of every database a unique name. Names that are not valid in a schema are replaced. */
export function placeDatabases(databases: ReadonlyMap<string, KnownDatabase>): KnownPlaces {
  const places = new Map<string, ReadonlyMap<string, KnownPlace>>()
  for (const [id, tables] of databases) {
    const own = Object.entries(tables).map(([name, table], at) => {
      const place = { name: `d${places.size}_${nameProblem(name) === undefined ? name : `t${at}`}`, table }
      const columns = table.columns.map((column, position) =>
        nameProblem(column.name) === undefined ? column.name : `c${position}`,
      )
      return [name, { ...place, columns }] as const
    })
    places.set(id, new Map(own))
  }
  return places
}

/** Opens a vault of all places and fills it. */
export async function openKnown(
  storage: StorageHandle,
  places: KnownPlaces,
  keeping: Keeping,
): Promise<Queryable & LooseSession> {
  const tables = [...places.values()].flatMap((own) => [...own.values()])
  const schema: Record<string, Record<string, ColumnDefinition>> = {}
  for (const [at, { name, columns, table }] of tables.entries()) {
    const definitions = columns.map((column, position) => [
      column,
      definitionOf(table.columns[position]?.type ?? 'STRING', keeping, at + position),
    ])
    schema[name] = Object.fromEntries(definitions)
  }
  const vault = await createVault({
    id: 'known',
    // Thousands of queries: what they record is no part of what they return.
    audit: 'off',
    storage,
    schema: defineSchema<SchemaDefinition>(schema),
    keys: localKeys({ key: TEST_SECRET }),
  })
  await vault.transaction(async (inside) => {
    const session = asLoose(inside.as(OWNER))
    for (const place of tables) await fill(session, place)
  })
  return asQueryable(vault.as(OWNER))
}

/** A session with the methods the tests of queries use. */
export function asQueryable(session: unknown): Queryable & LooseSession {
  return session as Queryable & LooseSession // The schema is made while the test runs, so the compiler knows no column of it.
}

function definitionOf(type: KnownTable['columns'][number]['type'], keeping: Keeping, turn: number): ColumnDefinition {
  const isFound = turn % 2 === 0
  const isSealed = keeping === 'mixed' ? turn % 4 < 2 : keeping === 'sealed'
  const kept = isSealed ? { searchable: isFound } : { encrypted: false, index: isFound }
  return columnOfType(type, { redaction: 'PLAIN_TEXT', ...kept })
}

async function fill(session: LooseSession, { name, columns, table }: KnownPlace): Promise<void> {
  const records = table.rows.map((row): LooseRecord => {
    const cells = row.map((value, at) => [columns[at] ?? '', withOffset(table.columns[at]?.type, value)])
    return { fields: Object.fromEntries(cells) }
  })
  for (let from = 0; from < records.length; from += SLICE) await session.insert(name, records.slice(from, from + SLICE))
}

/** A known value as input of a vault. */
function withOffset(type: string | undefined, value: KnownValue): KnownValue {
  return type === 'DATETIME' && value !== null ? `${value}Z` : value
}
