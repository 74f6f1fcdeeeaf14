/** The SQL of PostgreSQL: how it differs, how texts of any length are indexed in 2,704 bytes, and names within 63 bytes that every process derives alike. */
import { type Expression, PostgresAdapter, PostgresQueryCompiler, type RawBuilder, sql } from 'kysely'
import type { PhysicalIndex, PhysicalTable } from '../../core/ports/storage.ts'
import { createCompiler, type PartialIndex, type SqlDialect } from '../sql/sql-dialect.ts'
import { TYPE_NAMES, toWireArray, toWireCell } from './wire-cells.ts'

/**
 * Every name in a statement is qualified with its schema, because `search_path` belongs to the host. Functions too: in a schema where others may create,
 * one of theirs whose parameters fit better, such as `unnest(bigint[])`, would be called in place of the server's, with the rights of this role.
 */
export function createPostgresSqlDialect(schema: string): SqlDialect {
  return {
    compiler: createCompiler(
      () => new PostgresAdapter(),
      () => new PostgresQueryCompiler(),
    ).withSchema(schema),
    tableName: (name) => sql.id(schema, name),
    inList: (column, type, list) => sql`(${column} = any(${list}::${sql.raw(TYPE_NAMES[type])}[]))`,
    bindList: toWireArray,
    partialIndex: (shape, column) => textIndexOf(shape.table, column),
    bindCell: toWireCell,
    readColumn(column, type) {
      // base64 is the shortest text form of bytes, and no setting of the session changes it.
      if (type === 'bytes') return sql`pg_catalog.encode(${column}, 'base64')`
      if (type === 'real') return bytesOfReal(column)
      // As text, no type parser of a host can round an integer to a double.
      return type === 'integer' ? sql`${column}::pg_catalog.text` : sql`${column}`
    },
    aggregateParts(kind, column, type) {
      if (column === undefined) return [sql`pg_catalog.count(*)`]
      switch (kind) {
        case 'count':
          return [sql`pg_catalog.count(${column})`]
        case 'sum':
          return [sql`pg_catalog.sum(${column})::pg_catalog.text`]
        case 'min':
        case 'max': {
          const extreme = sql.id('pg_catalog', kind)
          // Bytes have no min before PostgreSQL 18; their hexadecimal text sorts alike.
          if (type === 'bytes')
            return [
              sql`pg_catalog.encode(pg_catalog.decode(${extreme}(pg_catalog.encode(${column}, 'hex') collate "C"), 'hex'), 'base64')`,
            ]
          if (type === 'real') return [bytesOfReal(sql`${extreme}(${column})`)]
          return [type === 'integer' ? sql`${extreme}(${column})::pg_catalog.text` : sql`${extreme}(${column})`]
        }
      }
    },
  }
}

/** The bytes of a double: its text has only the digits that `extra_float_digits` of the session leaves it. */
function bytesOfReal(real: Expression<unknown>): RawBuilder<unknown> {
  return sql`pg_catalog.encode(pg_catalog.float8send(${real}), 'base64')`
}

/** Characters of the texts of one entry, together. Each has at most 4 bytes. */
const MAX_CHARACTERS = 600

/** The names of the columns of an index that it holds in part: texts that can be long. */
function longTextsOf({ columns }: PhysicalTable, index: PhysicalIndex): readonly string[] {
  const long = columns.filter(({ type, isShort }) => type === 'text' && isShort !== true)
  return index.columns.filter((name) => long.some((column) => column.name === name))
}

const known = new WeakMap<PhysicalTable, Map<string, PartialIndex | undefined>>()

/** The index that finds the texts of a column by their first characters; undefined if there is none, or it holds them whole. */
function textIndexOf(table: PhysicalTable, column: string): PartialIndex | undefined {
  let indexes = known.get(table)
  if (indexes === undefined) {
    indexes = new Map(table.columns.map(({ name }) => [name, createTextIndex(table, name)]))
    known.set(table, indexes)
  }
  return indexes.get(column)
}

function createTextIndex(table: PhysicalTable, column: string): PartialIndex | undefined {
  const index =
    table.indexes.find(({ columns }) => columns[0] === column) ??
    table.indexes.find(({ unique, columns }) => unique && columns.includes(column))
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

/** PostgreSQL truncates longer names. */
export const MAX_IDENTIFIER_BYTES = 63

/** An extension that spreads tables over servers appends `_` and the number of the shard. Made names leave room for 14 digits, or it would cut them. */
const MAX_MADE_BYTES = 48

/** FNV-1a over UTF-16 units in two 32-bit halves, as base 36. It separates names and is not for secrets. */
export function stableHash(text: string): string {
  let low = 0x811c9dc5
  let high = 0xcbf29ce4
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul(high ^ (unit + i), 0x01000193) ^ (low >>> 13)
  }
  return (high >>> 0).toString(36).padStart(7, '0') + (low >>> 0).toString(36).padStart(7, '0')
}

/**
 * The name among `known` that a server means by `name`: itself, or the one to which the number of a shard was appended. Of a name that is too
 * long for that, the extension puts a hash in place of the end.
 */
export function knownName(name: string, known: readonly string[]): string | undefined {
  if (known.includes(name)) return name
  const [, whole = '', cut] = /^((.+)_[0-9a-f]{8}|.+)_\d+$/.exec(name) ?? []
  if (known.includes(whole)) return whole
  const cuts = cut === undefined ? [] : known.filter((one) => one.startsWith(cut))
  return cuts.length === 1 ? cuts[0] : undefined
}

/** `words` and `ending` joined; when that is too long, the words are cut and a hash of them all put in between. */
function fittedName(words: readonly string[], ending: string): string {
  const whole = `${words.join('_')}_${ending}`
  if (Buffer.byteLength(whole) <= MAX_MADE_BYTES) return whole
  const tail = `_${stableHash(JSON.stringify(words))}_${ending}`
  let head = whole
  while (Buffer.byteLength(head) > MAX_MADE_BYTES - tail.length) head = [...head].slice(0, -1).join('')
  return head + tail
}

/** The name of an index. One that holds long texts in part has another name than one that holds them whole. The hash separates `a_b` from `a`, `b`. */
export function indexName(table: PhysicalTable, index: PhysicalIndex): string {
  return nameOfKind(table.name, index, longTextsOf(table, index).length > 0 ? IN_PART : [])
}

/** The names that an index can have, whatever the lengths of its texts. */
export function possibleIndexNames(table: string, index: PhysicalIndex): readonly string[] {
  return [[], IN_PART].map((kind) => nameOfKind(table, index, kind))
}

const IN_PART = ['parts']

function nameOfKind(table: string, { columns, unique }: PhysicalIndex, kind: readonly string[]): string {
  const exact = stableHash(JSON.stringify([table, columns, ...kind])).slice(0, 8)
  return fittedName([table, ...columns, exact], unique ? 'key' : 'idx')
}

export function primaryKeyName(table: string): string {
  return fittedName([table], 'pkey')
}

export function sequenceName(table: string): string {
  return fittedName([table], 'ids')
}
