/** What a change of the schema does with tables and columns that two schemas cannot say: new names, and the fate of what is left out. */
import { type Fault, fault, printableName, type Sentence, say, words } from '../errors.ts'
import { type CatalogSchema, type CatalogTable, renamingOf, storedName } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { CONVERTER_NAMES } from '../schema/converters.ts'
import type { Schema } from '../schema/define-schema.ts'
import { renameRules } from '../schema/rename-rules.ts'
import { assertOptions } from '../util/options.ts'

/** Moves by `table` or `table.column`, as the stored schema calls them. */
export interface SchemaMoves {
  /** The new name: of a table, or of a column without its table. */
  readonly rename?: Readonly<Record<string, string>>
  /**
   * What becomes of a table or column that the schema leaves out: `keep` leaves it stored and unseen, and no longer required, `erase` erases all that is
   * stored of it. Without a word it stays as it is.
   */
  readonly drop?: Readonly<Record<string, 'keep' | 'erase'>>
  /** By `table.column`: the converter of a column whose type changes, where not every value has one of the new type. Source: docs/schema-changes.md. */
  readonly convert?: Readonly<Record<string, string>>
  /** Columns, as `table.column`, whose former tokens end: they resolve since a change of the tokens. */
  readonly finish?: readonly string[]
}

/** A table or column. */
export interface SchemaPlace {
  readonly table: string
  /** Absent for a whole table. */
  readonly column?: string
}

/** A change of a table or column that is refused whatever the records are, and why. */
export interface SchemaRefusal extends SchemaPlace {
  readonly reason: Sentence
}

/** The stored schema with its new names, and the names that it had. */
export interface Renamed {
  readonly schema: CatalogSchema
  /** The moves by the new names, without what is erased already. */
  readonly moves: SchemaMoves
  /** The places that got another name, by it. */
  readonly renamed: readonly (SchemaPlace & { readonly from: string })[]
}

/** Checks the form of moves. Throws `invalid_request`. */
export function parseMoves(moves: SchemaMoves | undefined): SchemaMoves {
  if (moves === undefined) return {}
  assertOptions<SchemaMoves>(moves, ['rename', 'drop', 'convert', 'finish'])
  for (const list of [moves.rename, moves.drop, moves.convert])
    if (list !== undefined && (typeof list !== 'object' || list === null || Array.isArray(list)))
      throw fault('invalid_request')`The moves rename, drop and convert must be objects by table, or by table and column.`
  for (const fate of Object.values(moves.drop ?? {}))
    if (fate !== 'keep' && fate !== 'erase')
      throw fault('invalid_request')`The fate of what a schema leaves out must be 'keep' or 'erase'.`
  for (const name of Object.values(moves.convert ?? {}))
    if (!CONVERTER_NAMES.includes(name))
      throw fault('invalid_request')`A converter must be one of ${words(CONVERTER_NAMES.join(', '))}.`
  if (moves.finish !== undefined && !(Array.isArray(moves.finish) && moves.finish.every((path) => typeof path === 'string')))
    throw fault('invalid_request')`The move finish must be a list of table.column.`
  return moves
}

/**
 * Returns the stored schema under the new names, which are those of the next one. A move that was made already changes nothing. Throws `failed_precondition`
 * for one that cannot be made, and for one that names nothing that is stored: with a wrong letter, what is to be erased would stay.
 */
export function renameStored(stored: CatalogSchema, moves: SchemaMoves, next: SchemaDefinition): Renamed {
  const { rename = {}, drop = {}, convert = {}, finish = [] } = moves
  const renamed: (SchemaPlace & { readonly from: string })[] = []
  const tables: Record<string, CatalogTable> = { ...stored.tables }
  for (const [path, to] of Object.entries(rename)) {
    const place = placeOf(path)
    const table = storedName(tables, place.table, {})
    const found = table === undefined ? undefined : tables[table]
    if (table === undefined || found === undefined) throw unknownPlace(path)
    if (place.column !== undefined) {
      const columns = withName(found.columns, { from: place.column, to, path })
      if (columns === undefined) continue
      tables[table] = { ...found, columns }
      renamed.push({ table, column: to, from: place.column })
    } else {
      const next = withName(tables, { from: place.table, to, path })
      if (next === undefined) continue
      delete tables[table]
      Object.assign(tables, next)
      renamed.push({ table: to, from: table })
    }
  }
  for (const [path, to] of Object.entries(rename)) assertNamed(path, to, next, storedName(tables, placeOf(path).table, next))
  const rules = renameRules(stored.rules, renamingOf(tables, stored))
  const schema = { ...stored, tables, rules }
  const named = <T>(by: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(by).flatMap(([path, what]) => currentPaths(schema, path).map((now) => [now, what])))
  return {
    schema,
    moves: { rename, drop: named(drop), convert: named(convert), finish: finish.flatMap((path) => currentPaths(schema, path)) },
    renamed,
  }
}

/** Returns the present name of a table or column as a path; none if it is erased already. Throws for one that never was. */
function currentPaths({ tables, erased = [] }: CatalogSchema, path: string): string[] {
  const { table: given, column } = placeOf(path)
  const table = storedName(tables, given, {}) ?? given
  const columns = tables[table]?.columns ?? {}
  if (Object.hasOwn(tables, table)) {
    if (column === undefined) return [table]
    const name = storedName(columns, column, {})
    if (name !== undefined) return [`${table}.${name}`]
  }
  if ([path, `${table}.${column}`, given].some((one) => erased.includes(one))) return []
  throw unknownPlace(path)
}

/** Returns the entries with one under its new name; undefined if it has that already. */
function withName<T extends { readonly formerly?: readonly string[] }>(
  stored: Readonly<Record<string, T>>,
  { from, to, path }: { readonly from: string; readonly to: string; readonly path: string },
): Record<string, T> | undefined {
  const { [from]: one, ...others } = stored
  if (one === undefined) {
    if (storedName(stored, from, {}) === to) return undefined
    throw unknownPlace(path)
  }
  if (Object.hasOwn(others, to)) throw taken(path, to)
  return { ...others, [to]: { ...one, formerly: [...(one.formerly ?? []), from] } }
}

/** Throws for a new name that the next schema does not have: a wrong letter would hide all records behind it. */
function assertNamed(path: string, to: string, next: SchemaDefinition, table = ''): void {
  const { column } = placeOf(path)
  const names = column === undefined ? next : Object.hasOwn(next, table) ? next[table] : undefined
  if (names !== undefined && Object.hasOwn(names, to)) return
  throw fault('failed_precondition')`The moves rename ${words(path)} to ${printableName(to)}, which the schema does not have.`
}

/** Returns the table and the column of `table` or `table.column`. */
export function placeOf(path: string): SchemaPlace {
  const [table = '', column] = path.split('.')
  return column === undefined ? { table } : { table, column }
}

function unknownPlace(path: string): Fault {
  const { table, column } = placeOf(path)
  if (column === undefined) return fault('failed_precondition', { table })`The moves name table ${table}, which is not stored.`
  return fault('failed_precondition', { table, column })`The moves name column ${column} of table ${table}, which is not stored.`
}

function taken(path: string, to: string): Fault {
  return fault('failed_precondition')`${words(path)} cannot be renamed to ${to}: that name is in use.`
}

/** Returns what the moves erase and the schema has. */
export function erasedThough(
  target: CatalogSchema,
  { tables }: Pick<Schema, 'tables'>,
  { drop = {} }: SchemaMoves,
): SchemaRefusal[] {
  return Object.entries(drop).flatMap(([path, fate]) => {
    if (fate !== 'erase') return []
    const { table, column } = placeOf(path)
    const own = tables[table]
    if (own === undefined || (column !== undefined && own[column] === undefined)) {
      const { definition } = (column === undefined ? undefined : target.tables[table]?.columns[column]) ?? {}
      if (definition?.type !== 'FILE' || column === undefined) return []
      return [
        {
          table,
          column,
          reason: say`column ${column} of table ${table} holds files. Delete them with deleteFile, then keep the column.`,
        },
      ]
    }
    if (column === undefined) return [{ table, reason: say`table ${table} cannot be erased: the schema has it.` }]
    return [{ table, column, reason: say`column ${column} of table ${table} cannot be erased: the schema has it.` }]
  })
}
