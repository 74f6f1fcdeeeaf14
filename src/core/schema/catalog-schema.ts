/** The schema as it is stored: with object ids, ordinals and former names, and with the marks of a change that has not ended. */

import { type Fault, fault } from '../errors.ts'
import { MAX_OBJECT_IDS } from '../limits.ts'
import type { PhysicalColumn, PhysicalIndex } from '../ports/storage.ts'
import type { ColumnHash } from '../sealing/cell-layout.ts'
import { required } from '../util/lists.ts'
import { type ColumnDefinition, type IndexKind, isTransient, type SchemaDefinition, sealedKinds, tokenOf } from './column.ts'
import type { ConverterName } from './converters.ts'
import { type Renaming, renameRules } from './rename-rules.ts'
import { retentionOf } from './retention.ts'
import type { SchemaRules } from './schema-rules.ts'
import { keptTogether } from './unique-together.ts'

/** What a table or column in the catalog has beside its definition. */
interface Named {
  /**
   * The names that it had before, oldest first; absent if it was never renamed. The first is the one that marks in bodies and physical columns are made
   * with. A process whose schema still has one of them goes on under it.
   */
  readonly formerly?: readonly string[]
  /** True if the schema that was applied last leaves it out on purpose: it stays stored, and no opening warns of it. */
  readonly leftOut?: true
}

/** One column in the catalog. */
export interface CatalogColumn extends Named {
  /** Number of the column in pointers, unique in the vault. */
  readonly objectId: number
  /** Number of the column in sealed bodies, from 0, unique in its table. */
  readonly ordinal: number
  /** What readers and writers go by. */
  readonly definition: ColumnDefinition
  /**
   * Object ids of the sealed indexes that writers keep; absent without one. Readers go by the definition: while a change of the schema fills or ends an
   * index, it has the number alone.
   */
  readonly indexes?: { readonly [Kind in IndexKind]?: number }
  /** True while a change of the schema makes it required: writers must give a value, and older records can lack one. */
  readonly requiring?: true
  /** What takes its place when a change of the schema has filled it. Writers store the cells of both. */
  readonly successor?: HiddenColumn
  /** What had its place before, if that had other tokens: they resolve until the next change ends them. Writers store the cells of both. */
  readonly former?: HiddenColumn
  /** Object ids of what had its place before. */
  readonly replaced?: readonly number[]
  /** Definitions that it had before, newest first. A process that is opened with one of them has an older schema, and follows the stored one. */
  readonly earlier?: readonly ColumnDefinition[]
}

/** The stored side of a column, of which readers see nothing. Its values are those of the column that has it. */
export interface HiddenColumn extends Pick<CatalogColumn, 'objectId' | 'ordinal' | 'definition'> {
  /** What makes its values of those of the column. Default: they are the same. */
  readonly convert?: ConverterName
}

/** What is left of a column that a change of the schema has erased: bodies can have its cells until that has ended, and marks of other columns are made with it. */
export interface GoneColumn extends ColumnHash {
  readonly objectId: number
  readonly ordinal: number
  /** Its physical columns, which are still stored; absent when no record has a cell of it. */
  readonly cells?: readonly Pick<PhysicalColumn, 'name' | 'type'>[]
}

/** A table that a change of the schema has erased, and that is still stored. */
export interface GoneTable {
  /** The name that it had. */
  readonly table: string
  /** Its physical name. */
  readonly name: string
  /** Its object id, and those of its columns. */
  readonly objectIds: readonly number[]
  readonly holdsFiles: boolean
}

/** One table in the catalog. */
export interface CatalogTable extends Named {
  /** Number of the table in pointers and associated data, unique in the vault. */
  readonly objectId: number
  readonly columns: Readonly<Record<string, CatalogColumn>>
  /** How many columns the table had before each change that added some; absent if none did. Bodies have a mark for the columns of each change. */
  readonly grownAt?: readonly number[]
  /** Columns that were erased. */
  readonly gone?: readonly GoneColumn[]
  /** Physical columns that a change of the schema fills, or will end: writers store their cells, and nothing is looked up by them. */
  readonly filling?: readonly string[]
  /** Physical columns of which no writer keeps the cells: a change of the schema has ended them, and has not erased all. */
  readonly leftover?: readonly string[]
  /** Indexes that no process needs any more: a change of the schema has ended them, and has not dropped all. */
  readonly unneeded?: readonly PhysicalIndex[]
  /** True while a change of the schema seals the records of the table with keys of their subjects: writers do, and older records can have that of the vault. */
  readonly keying?: true
}

/** The schema as the catalog stores it. */
export interface CatalogSchema {
  /** The lowest object id that was never assigned. */
  readonly nextObjectId: number
  readonly tables: Readonly<Record<string, CatalogTable>>
  /** The rules that concern more than one column, as the process gave them that changed them last. */
  readonly rules: SchemaRules
  /** Tables that were erased, as long as they are stored. */
  readonly gone?: readonly GoneTable[]
  /** What changes of the schema have erased, as `table` or `table.column`: moves that name it again are made already. */
  readonly erased?: readonly string[]
  /** Rules that there were before, newest first. Source: `CatalogColumn.earlier`. */
  readonly earlierRules?: readonly SchemaRules[]
}

/** The schema of a new catalog. */
export const EMPTY_CATALOG_SCHEMA: CatalogSchema = { nextObjectId: 1, tables: {}, rules: {} }

/** Returns the stored name of what a schema calls so: a table, or a column of one. That is the same, or the newer name of what was called so, unless `own` has that beside it. */
export function storedName(
  stored: Readonly<Record<string, Named>>,
  name: string,
  own: Readonly<Record<string, unknown>>,
): string | undefined {
  if (Object.hasOwn(stored, name)) return name
  return Object.keys(stored).find((other) => stored[other]?.formerly?.includes(name) === true && !Object.hasOwn(own, other))
}

/**
 * Returns the schema to store, with object ids and ordinals: the known ones, and new ones for new tables and columns. Keeps known
 * tables and columns that the definition does not have, because another process may have a newer definition. Whether stored records fit the
 * definitions is not looked at. Throws `limit_exceeded` if there are not enough object ids.
 */
export function assignIds(definition: SchemaDefinition, known: CatalogSchema, rules: SchemaRules = known.rules): CatalogSchema {
  let nextObjectId = known.nextObjectId
  const tables: Record<string, CatalogTable> = { ...known.tables }
  for (const [name, columns] of Object.entries(definition)) {
    const table = storedName(known.tables, name, definition) ?? name
    const { leftOut: _, ...old } = known.tables[table] ?? { objectId: nextObjectId++, columns: {} }
    const assigned: Record<string, CatalogColumn> = { ...old.columns }
    const before = nextOrdinal(old)
    let ordinal = before
    for (const [own, after] of Object.entries(columns)) {
      const column = storedName(old.columns, own, columns) ?? own
      const { leftOut: _, ...was }: Omit<CatalogColumn, 'definition'> = assigned[column] ?? {
        objectId: nextObjectId++,
        ordinal: ordinal++,
      }
      const added = sealedKinds(after).filter((kind) => was.indexes?.[kind] === undefined)
      const indexes = { ...was.indexes, ...Object.fromEntries(added.map((kind) => [kind, nextObjectId++])) }
      assigned[column] = { ...was, definition: after, ...(added.length > 0 && { indexes }) }
    }
    const isGrown = before > 0 && ordinal > before
    const grownAt = isGrown ? [...(old.grownAt ?? []), before] : old.grownAt
    tables[table] = { ...old, columns: assigned, ...(grownAt === undefined ? {} : { grownAt }) }
  }
  if (nextObjectId > MAX_OBJECT_IDS) {
    throw fault(
      'limit_exceeded',
    )`Cannot open the vault: its tables and columns exceed the limit of ${MAX_OBJECT_IDS}. Use a second vault.`
  }
  const { uniqueTogether, ...others } = rules
  const together = keptTogether(definition, known.rules.uniqueTogether, uniqueTogether)
  return { ...known, nextObjectId, tables, rules: together === undefined ? others : { ...others, uniqueTogether: together } }
}

/** Returns the ordinal of the next column of a table. */
export function nextOrdinal({ columns, gone = [] }: Pick<CatalogTable, 'columns' | 'gone'>): number {
  const all = [...Object.values(columns).flatMap((column) => [column, ...hiddenOf(column)]), ...gone]
  return all.reduce((most, { ordinal }) => Math.max(most, ordinal + 1), 0)
}

/** Returns the hidden columns of a column. */
export function hiddenOf({ successor, former }: Pick<CatalogColumn, 'successor' | 'former'>): readonly HiddenColumn[] {
  return [successor, former].filter((hidden) => hidden !== undefined)
}

/** Returns a stored schema as a definition, as the processes that changed it last gave it. */
export function definitionOf({ tables }: Pick<CatalogSchema, 'tables'>): SchemaDefinition {
  return Object.fromEntries(
    Object.entries(tables).map(([table, { columns }]) => [
      table,
      Object.fromEntries(Object.entries(columns).map(([column, { definition }]) => [column, definition])),
    ]),
  )
}

/**
 * Returns the part of a stored schema that a definition has, in the order and with the names of the definition. `before` is that part as this process knew
 * it last: a table or column is the one with the same object id, whatever it is called now, and one that is gone stays as it was.
 */
export function knownPart(definition: SchemaDefinition, stored: CatalogSchema, before?: CatalogSchema): CatalogSchema {
  const tables: Record<string, CatalogTable> = {}
  for (const [name, columns] of Object.entries(definition)) {
    const last = before?.tables[name]
    const table = required(find(stored.tables, name, { own: definition, last }), 'A table of the stored schema')
    const own = Object.keys(columns).map((column) => {
      const found = find(table.columns, column, { own: columns, last: last?.columns[column] })
      return [column, required(found, 'A stored column')] as const
    })
    tables[name] = { ...table, columns: Object.fromEntries(own) }
  }
  return { nextObjectId: stored.nextObjectId, tables, rules: renameRules(stored.rules, renamingOf(tables, stored)) }
}

/** Returns what another list of the same tables, or of some of them, calls its tables and columns. */
export function renamingOf(other: CatalogSchema['tables'], stored: Pick<CatalogSchema, 'tables'>): Renaming {
  const names = new Map(Object.entries(other).map(([name, { objectId }]) => [objectId, name]))
  return (table, column) => {
    const name = names.get(stored.tables[table]?.objectId ?? 0) ?? table
    if (column === undefined) return name
    const objectId = stored.tables[table]?.columns[column]?.objectId
    const own = Object.entries(other[name]?.columns ?? {}).find(([, one]) => one.objectId === objectId)
    return own?.[0] ?? column
  }
}

/** Returns what a definition calls so: by its object id where it is known, else by its name. */
function find<T extends Named & Pick<CatalogColumn, 'objectId' | 'replaced'>>(
  stored: Readonly<Record<string, T>>,
  name: string,
  { own, last }: { readonly own: Readonly<Record<string, unknown>>; readonly last: T | undefined },
): T | undefined {
  const isLast = ({ objectId, replaced }: T) => objectId === last?.objectId || replaced?.includes(last?.objectId ?? 0) === true
  const known = last === undefined ? undefined : Object.values(stored).find(isLast)
  const key = known === undefined ? storedName(stored, name, own) : undefined
  return known ?? (key === undefined ? last : stored[key])
}

/**
 * Returns why a process that knows this part of the stored schema must not write records, by table: a column is required that the part does not have, or
 * one that it has is gone. Tables without a reason are absent.
 */
export function findOutdatedTables(part: CatalogSchema, stored: CatalogSchema): ReadonlyMap<string, Fault> {
  const outdated = new Map<string, Fault>()
  const storedTables = new Map(Object.values(stored.tables).map((table) => [table.objectId, table]))
  for (const [name, own] of Object.entries(part.tables)) {
    const table = storedTables.get(own.objectId)
    const reason = table === undefined ? goneFault(name) : (outdatedFault(name, own, table) ?? uncountedFault(name, own, part))
    if (reason !== undefined) outdated.set(name, reason)
  }
  return outdated
}

function outdatedFault(table: string, own: CatalogTable, stored: CatalogTable): Fault | undefined {
  const known = new Set(Object.values(own.columns).map(({ objectId }) => objectId))
  const existing = new Set(Object.values(stored.columns).map(({ objectId }) => objectId))
  const gone = Object.entries(own.columns).find(([, { objectId }]) => !existing.has(objectId))
  if (gone !== undefined) return goneFault(table, gone[0])
  for (const [column, one] of Object.entries(stored.columns)) {
    if (known.has(one.objectId) || !isRequired(one)) continue
    return fault('failed_precondition', {
      table,
      column,
    })`In the stored schema column ${column} of table ${table} is required, and the schema of this process leaves it out. Restart the process with a schema that has it.`
  }
  return undefined
}

/** A rule of retention can have two columns of which the process does not know one, so that it would store no time or a wrong one. */
function uncountedFault(table: string, own: CatalogTable, { rules }: CatalogSchema): Fault | undefined {
  const rule = retentionOf(rules.retention, table).find(
    ({ from, column = from }) => from !== undefined && [from, column].some((one = '') => own.columns[one] === undefined),
  )
  if (rule === undefined) return undefined
  return fault('failed_precondition', {
    table,
  })`The stored schema is newer than the one of this process: a rule of retention of table ${table} counts from a column that it leaves out. Restart the process with the new schema.`
}

/** Returns the error of a process for what a change of the schema has erased. */
export function goneFault(table: string, column?: string): Fault {
  if (column === undefined)
    return fault('failed_precondition', {
      table,
    })`Table ${table} was erased by a change of the schema. Restart the process with a schema that does not have it.`
  return fault('failed_precondition', {
    table,
    column,
  })`Column ${column} of table ${table} was erased by a change of the schema. Restart the process with a schema that does not have it.`
}

/** True if writers must give a value. */
export function isRequired({ definition, requiring }: Pick<CatalogColumn, 'definition' | 'requiring'>): boolean {
  return definition.required === true || requiring === true
}

/** Returns the object ids of the columns of a table with tokens that are in the stored schema, and not in the part that this process knows. */
export function hiddenTokenIds(part: CatalogSchema, stored: CatalogSchema, table: string): number[] {
  const own = part.tables[table]
  const known = new Set(Object.values(own?.columns ?? {}).map(({ objectId }) => objectId))
  const found = Object.values(stored.tables).find(({ objectId }) => objectId === own?.objectId)
  return Object.values(found?.columns ?? {})
    .filter(({ objectId }) => !known.has(objectId))
    .flatMap((column) => [column, ...hiddenOf(column)])
    .flatMap(({ objectId, definition: is }) => (tokenOf(is).kind !== undefined && !isTransient(is) ? [objectId] : []))
}
