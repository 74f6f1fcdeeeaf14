/** Columns that another one takes the place of, because their stored bytes change: what is possible, and the schemas on the way. Looks at no record. */
import { type Sentence, say, words } from '../errors.ts'
import type { PhysicalIndex } from '../ports/storage.ts'
import {
  type CatalogColumn,
  type CatalogSchema,
  type CatalogTable,
  type GoneColumn,
  type HiddenColumn,
  hiddenOf,
  nextOrdinal,
} from '../schema/catalog-schema.ts'
import { type ColumnDefinition, isTransient, sealedKinds, tokenOf } from '../schema/column.ts'
import { hashOf } from '../schema/column-layout.ts'
import { type ConverterName, possibleConverters, widening } from '../schema/converters.ts'
import { layoutSchema } from '../schema/layout.ts'
import { placeOf, type SchemaMoves, type SchemaPlace } from './schema-moves.ts'

/** Options that decide what stored bytes mean. */
export const FIXED_OPTIONS = ['type', 'scale', 'encrypted', 'token', 'columnGroup', 'normalize'] as const

/** A column whose place another one takes. */
export interface Succession extends Required<SchemaPlace> {
  readonly was: ColumnDefinition
  readonly is: ColumnDefinition
  /** The options that change. */
  readonly options: readonly (typeof FIXED_OPTIONS)[number][]
  readonly convert: ConverterName | undefined
}

/** What is possible of the changes that rewrite stored bytes. */
export interface FoundSuccessions {
  readonly successions: readonly Succession[]
  readonly refusals: readonly (Required<SchemaPlace> & { readonly reason: Sentence })[]
}

/** Returns the columns of which another definition would read the stored bytes wrongly, and those that cannot be made anew. */
export function findSuccessions(before: CatalogSchema, target: CatalogSchema, { convert = {} }: SchemaMoves): FoundSuccessions {
  const successions: Succession[] = []
  const refusals: (Required<SchemaPlace> & { reason: Sentence })[] = []
  for (const [table, { columns }] of Object.entries(target.tables)) {
    for (const [column, { definition: is }] of Object.entries(columns)) {
      const stored = before.tables[table]?.columns[column]
      if (stored === undefined) continue
      const { definition: was } = stored
      const options = FIXED_OPTIONS.filter((option) => !isSame(optionOf(was, option), optionOf(is, option)))
      if (options.length === 0) continue
      const named = convert[`${table}.${column}`]
      const reason = refusalOf(before, { table, column, stored, is, options, named })
      const name = named ?? widening(was, is)
      if (reason === undefined) successions.push({ table, column, was, is, options, convert: name as ConverterName | undefined })
      else refusals.push({ table, column, reason })
    }
  }
  return { successions, refusals }
}

/** A column that changes, and the converter that was asked for. */
interface Changing extends Pick<Succession, 'table' | 'column' | 'is' | 'options'> {
  readonly stored: CatalogColumn
  readonly named: string | undefined
}

/** Returns why a column cannot be made anew; undefined if it can. */
function refusalOf(schema: CatalogSchema, changing: Changing): Sentence | undefined {
  const { table, column, stored, is, options, named } = changing
  const { definition: was, former } = stored
  const what = say`option ${words(options.join(', '))} of column ${column} of table ${table} cannot change`
  if (was.type === 'FILE' || is.type === 'FILE') return say`${what}: files are no values. Add another column.`
  if (isTransient(was) || isTransient(is))
    return say`${what}: its transient values are stored apart, and expire. Add another column.`
  if (former !== undefined) return say`${what}: its former tokens still resolve. End them first, with the move finish.`
  if (is.required === true && was.required !== true)
    return say`${what} together with required. Require it in a change of its own.`
  if (stored.indexes !== undefined && (was.type !== is.type || options.includes('encrypted')))
    return say`${what} while it has a sealed index. Drop the index first, in a change of its own.`
  if (!isSame(sealedKinds(was), sealedKinds(is)))
    return say`${what} together with its sealed index. Add or drop the index in a change of its own.`
  if (isRuled(schema, changing)) return say`${what}: a rule of the schema is about it. Leave it out of the rule first.`
  if (was.type !== is.type) return typeRefusal(what, changing)
  if (options.includes('scale')) return say`${what}: stored numbers have the digits of it. Add another column.`
  return named === undefined ? undefined : say`${what} with a converter, which is for another type.`
}

/** True if a rule that has cells of its own names the column. */
function isRuled({ rules }: CatalogSchema, { table, column }: Changing): boolean {
  const rulesByName = [...Object.entries(rules.uniqueTogether ?? {}), ...Object.entries(rules.retention ?? {})]
  if (rules.subjects !== undefined && JSON.stringify(rules.subjects).includes(`"${column}"`)) return true
  return rulesByName.some(([name, rule]) => `${name}.`.startsWith(`${table}.`) && JSON.stringify([name, rule]).includes(column))
}

/** Returns why values of one type do not become those of another; undefined if they do. */
function typeRefusal(what: Sentence, { stored: { definition: was }, is, named }: Changing): Sentence | undefined {
  if (tokenOf(was).kind !== undefined || tokenOf(is).kind !== undefined)
    return say`${what} while the column has tokens, which would be of the former type. Change its type without tokens, then add them.`
  const possible: readonly string[] = possibleConverters(was, is)
  const from = say`from ${words(was.type)} to ${words(is.type)}`
  if (possible.length === 0) return say`${what} ${from}: no value of one is a value of the other. Add another column.`
  if (named !== undefined && !possible.includes(named))
    return say`${what} ${from} by the converter ${words(named)}. Name ${words(possible.join(' or '))}.`
  if (named === undefined && widening(was, is) === undefined)
    return say`${what} ${from} by itself, because not every value can. Name the converter ${words(possible.join(' or '))} in the moves.`
  return undefined
}

/** Returns an option of a definition, or its default if it is absent. */
function optionOf(definition: ColumnDefinition, option: (typeof FIXED_OPTIONS)[number]): unknown {
  const given: unknown = Reflect.get(definition, option)
  if (option === 'encrypted') return given !== false
  if (option === 'normalize') return given ?? []
  // The lifetime of transient values and `stable` concern new writes only.
  if (option === 'token') return [tokenOf(definition).kind, tokenOf(definition).format]
  return given ?? false
}

/** Returns the schema with these columns as they are stored now. */
export function asStored(target: CatalogSchema, before: CatalogSchema, places: readonly Required<SchemaPlace>[]): CatalogSchema {
  return places.reduce((schema, { table, column }) => {
    const stored = before.tables[table]?.columns[column]
    return stored === undefined ? schema : withColumn(schema, { table, column }, () => stored)
  }, target)
}

/** Returns the schema while the change runs: each of these columns has its successor, which writers fill from now on. One that is no longer wanted is gone. */
export function withSuccessors(
  schema: CatalogSchema,
  successions: readonly Succession[],
  { keepsOthers = false }: { readonly keepsOthers?: boolean } = {},
): CatalogSchema {
  let next = schema
  const grown = new Map<string, number>()
  for (const [table, { columns }] of Object.entries(schema.tables)) {
    for (const [column, { successor }] of Object.entries(columns)) {
      if (
        successor === undefined ||
        keepsOthers ||
        successions.some((one) => one.table === table && one.column === column && isMadeBy(successor, one))
      )
        continue
      next = withColumn(next, { table, column }, ({ successor: _, ...one }) => one)
      next = withGone(next, { table, column }, [successor])
    }
  }
  for (const { table, column, is, convert } of successions) {
    const stored = next.tables[table]
    if (stored === undefined || stored.columns[column]?.successor !== undefined) continue
    const ordinal = nextOrdinal(stored)
    if (!grown.has(table)) grown.set(table, ordinal)
    const successor = { objectId: next.nextObjectId, ordinal, definition: is, ...(convert !== undefined && { convert }) }
    next = withColumn({ ...next, nextObjectId: next.nextObjectId + 1 }, { table, column }, (one) => ({ ...one, successor }))
  }
  for (const [table, before] of grown)
    next = withTable(next, table, (one) => ({ ...one, grownAt: [...(one.grownAt ?? []), before] }))
  return next
}

function isMadeBy({ definition, convert }: HiddenColumn, succession: Succession): boolean {
  return isSame(definition, succession.is) && convert === succession.convert
}

/** Returns the schema at the end of the change: successors have taken their places. Of a column with tokens the former ones still resolve. */
export function succeeded(schema: CatalogSchema, successions: readonly Succession[]): CatalogSchema {
  return successions.reduce((next, place) => {
    const column = next.tables[place.table]?.columns[place.column]
    if (column?.successor === undefined) return next
    const { successor, replaced = [], earlier = [], definition, objectId, ordinal, ...rest } = column
    const former = { objectId, ordinal, definition }
    const keepsFormer = tokenOf(definition).kind !== undefined
    const { convert: _, ...taken } = successor
    const swapped = withColumn(next, place, () => ({
      ...rest,
      ...taken,
      replaced: [...replaced, objectId],
      earlier: [definition, ...earlier.filter((one) => !isSame(one, taken.definition))].slice(0, MAX_EARLIER),
      ...(keepsFormer && { former }),
    }))
    return keepsFormer ? swapped : withGone(swapped, place, [former])
  }, schema)
}

/** Number of earlier definitions that are remembered: those of processes of so many releases of the application can open the vault. */
export const MAX_EARLIER = 4

/** Returns the schema without the former tokens of these columns. */
export function finished(schema: CatalogSchema, { finish = [] }: SchemaMoves): CatalogSchema {
  return finish.reduce((next, path) => {
    const { table, column = '' } = placeOf(path)
    const former = next.tables[table]?.columns[column]?.former
    if (former === undefined) return next
    const without = withColumn(next, { table, column }, ({ former: _, ...one }) => one)
    return withGone(without, { table, column }, [former])
  }, schema)
}

/** Returns the schema without what the moves erase. Its cells and rows are still to be erased. */
export function erased(schema: CatalogSchema, { drop = {} }: SchemaMoves): CatalogSchema {
  let next = schema
  for (const [path, fate] of Object.entries(drop)) {
    const { table: name, column } = placeOf(path)
    const table = next.tables[name]
    if (fate !== 'erase' || table === undefined) continue
    next = { ...next, erased: [...new Set([...(next.erased ?? []), path])] }
    if (column === undefined) {
      const { [name]: _, ...tables } = next.tables
      next = { ...next, tables, gone: [...(next.gone ?? []), goneTable(next, name, table)] }
      continue
    }
    const { [column]: one, ...columns } = table.columns
    if (one === undefined) continue
    next = withGone(next, { table: name, column }, [one, ...hiddenOf(one)])
    next = withTable(next, name, (changed) => ({ ...changed, columns }))
  }
  return next
}

function goneTable(schema: CatalogSchema, name: string, table: CatalogTable) {
  const columns = Object.values(table.columns).flatMap((one) => [one, ...hiddenOf(one)])
  return {
    table: name,
    name: layoutSchema({ ...schema, tables: { [name]: table } }).tables.get(name)?.physical.name ?? '',
    objectIds: [
      table.objectId,
      ...columns.map(({ objectId }) => objectId),
      ...Object.values(table.columns).flatMap(({ indexes = {} }) => Object.values(indexes)),
      ...(table.gone ?? []).map(({ objectId }) => objectId),
    ],
    holdsFiles: columns.some(({ definition }) => definition.type === 'FILE'),
  }
}

/** Notes columns as gone, with the physical columns that they have. They are of the column of this name, as it is stored. */
function withGone(
  schema: CatalogSchema,
  { table: name, column }: Required<SchemaPlace>,
  columns: readonly Pick<CatalogColumn, 'objectId' | 'ordinal' | 'definition' | 'indexes'>[],
): CatalogSchema {
  return withTable(schema, name, (table) => {
    const bornTable = table.formerly?.[0] ?? name
    const born = table.columns[column]?.formerly?.[0] ?? column
    const gone = columns.map((one): GoneColumn => {
      const { objectId, ordinal, definition, indexes } = one
      const only = { objectId, ordinal, definition, formerly: [born], ...(indexes !== undefined && { indexes }) }
      const alone = { ...table, gone: [], columns: { [column]: only } }
      const physical = layoutSchema({ ...schema, rules: {}, tables: { [name]: alone } }).tables.get(name)?.physical
      const cells = (physical?.columns ?? []).slice(1).map(({ name: cell, type }) => ({ name: cell, type }))
      return { objectId, ordinal, ...hashOf(one, bornTable, born), cells }
    })
    return { ...table, gone: [...(table.gone ?? []), ...gone] }
  })
}

function withColumn(
  schema: CatalogSchema,
  { table, column }: Required<SchemaPlace>,
  change: (column: CatalogColumn) => CatalogColumn,
): CatalogSchema {
  return withTable(schema, table, (one) => {
    const { [column]: stored } = one.columns
    return stored === undefined ? one : { ...one, columns: { ...one.columns, [column]: change(stored) } }
  })
}

function withTable(schema: CatalogSchema, name: string, change: (table: CatalogTable) => CatalogTable): CatalogSchema {
  const { [name]: table } = schema.tables
  return table === undefined ? schema : { ...schema, tables: { ...schema.tables, [name]: change(table) } }
}

/** True if both are equal as they are stored. */
export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Returns those of some indexes that are not among the needed ones. */
export function unneededBy(needed: readonly PhysicalIndex[], indexes: readonly PhysicalIndex[] = []): PhysicalIndex[] {
  return indexes.filter((index) => !needed.some((one) => isSame(one, index)))
}
