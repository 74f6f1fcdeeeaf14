/** How texts of any length are indexed and found by index: an entry of an index of PostgreSQL has at most 2,704 bytes. */
import { type Expression, type RawBuilder, sql } from 'kysely'
import type { PhysicalIndex, PhysicalTable } from '../../core/ports/storage.ts'
import type { PartialIndex } from '../sql/sql-dialect.ts'

/** Characters of the texts of one entry, together. Each has at most 4 bytes. */
const MAX_CHARACTERS = 600

/** The names of the columns of an index that it holds in part: texts that can be long. */
export function longTextsOf({ columns }: PhysicalTable, index: PhysicalIndex): readonly string[] {
  const long = columns.filter(({ type, isShort }) => type === 'text' && isShort !== true)
  return index.columns.filter((name) => long.some((column) => column.name === name))
}

const known = new WeakMap<PhysicalTable, Map<string, PartialIndex | undefined>>()

/** The index that finds the texts of a column by their first characters; undefined if there is none, or it holds them whole. */
export function textIndexOf(table: PhysicalTable, column: string): PartialIndex | undefined {
  let indexes = known.get(table)
  if (indexes === undefined) {
    indexes = new Map(table.columns.map(({ name }) => [name, createTextIndex(table, name)]))
    known.set(table, indexes)
  }
  return indexes.get(column)
}

function createTextIndex(table: PhysicalTable, column: string): PartialIndex | undefined {
  const index = table.indexes.find(({ columns }) => columns[0] === column)
  const long = index === undefined ? [] : longTextsOf(table, index)
  if (!long.includes(column)) return undefined
  const length = charactersOf(long)
  return {
    part: (text) => firstOf(text, length),
    partAmong: (text, list) =>
      sql`${firstOf(text, length)} = any(array(select ${firstOf(sql.id('wanted'), length)} from pg_catalog.unnest(${list}::pg_catalog.text[]) as ${sql.id('wanted')}))`,
  }
}

/** The length of the part of each of these texts. */
function charactersOf(long: readonly string[]): number {
  return Math.floor(MAX_CHARACTERS / long.length)
}

function firstOf(text: Expression<unknown>, length: number): RawBuilder<unknown> {
  return sql`pg_catalog.left(${text}, ${sql.lit(length)})`
}

/**
 * What an index holds: its columns, a long text in part. A unique one also holds the digest of each text that is longer than its part: no
 * two texts have equal parts and digests. A hash that is not cryptographic would let callers make others conflict.
 */
export function indexedExpressions(table: PhysicalTable, index: PhysicalIndex): RawBuilder<unknown> {
  const long = longTextsOf(table, index)
  const length = charactersOf(long)
  const parts = index.columns.map((name) => (long.includes(name) ? firstOf(sql.id(name), length) : sql.id(name)))
  const digests = index.unique ? long.map((name) => sql`(${digestOf(sql.id(name), length)})`) : []
  return sql.join([...parts, ...digests])
}

/** With its backslashes doubled, a text is read as its own bytes. `convert_to` would say the same, and is not allowed in an index. */
function digestOf(text: RawBuilder<unknown>, length: number): RawBuilder<unknown> {
  const bytes = sql`pg_catalog.replace(${text}, E'\\\\', E'\\\\\\\\')::pg_catalog.bytea`
  return sql`case when pg_catalog.length(${text}) > ${sql.lit(length)} then pg_catalog.sha256(${bytes}) else ''::pg_catalog.bytea end`
}

/**
 * The beginning of a key of an index as PostgreSQL prints it, up to the digests of long texts. `isWhole`: there are none, so that no other
 * key begins alike. `textOf` returns a cell as text.
 */
export function printedKey(
  table: PhysicalTable,
  index: PhysicalIndex,
  textOf: (column: string) => string | null,
): { readonly text: string; readonly isWhole: boolean } {
  const long = longTextsOf(table, index)
  const length = charactersOf(long)
  const characters = new Map(long.map((name) => [name, [...(textOf(name) ?? '')]]))
  const parts = index.columns.map((name) => characters.get(name)?.slice(0, length).join('') ?? textOf(name)).join(', ')
  if ([...characters.values()].some((all) => all.length > length)) return { text: `(${parts}, `, isWhole: false }
  return { text: `(${[parts, ...long.map(() => '\\x')].join(', ')})`, isWhole: true }
}
