/** Assigns object ids and ordinals to tables and columns, and checks whether a changed schema fits what is stored. */

import { type Fault, fault, type Sentence, say, words } from '../errors.ts'
import { MAX_OBJECT_IDS } from '../limits.ts'
import { tokenKinds } from '../tokens/token-kinds.ts'
import { required } from '../util/lists.ts'
import { type ColumnDefinition, type SchemaDefinition, tokenOf } from './column.ts'
import { retentionOf } from './retention.ts'
import type { SchemaRules } from './schema-rules.ts'
import { keptTogether } from './unique-together.ts'

/** One column in the catalog. */
export interface CatalogColumn {
  /** Number of the column in pointers, unique in the vault. */
  readonly objectId: number
  /** Number of the column in sealed bodies, from 0, unique in its table. */
  readonly ordinal: number
  readonly definition: ColumnDefinition
}

/** One table in the catalog. */
export interface CatalogTable {
  /** Number of the table in pointers and associated data, unique in the vault. */
  readonly objectId: number
  readonly columns: Readonly<Record<string, CatalogColumn>>
  /** How many columns the table had before each change that added some; absent if none did. Bodies have a mark for the columns of each change. */
  readonly grownAt?: readonly number[]
}

/** The schema as the catalog stores it. */
export interface CatalogSchema {
  /** The lowest object id that was never assigned. */
  readonly nextObjectId: number
  readonly tables: Readonly<Record<string, CatalogTable>>
  /** The rules that concern more than one column, as the process gave them that changed them last. */
  readonly rules: SchemaRules
}

/** The schema of a new catalog. */
export const EMPTY_CATALOG_SCHEMA: CatalogSchema = { nextObjectId: 1, tables: {}, rules: {} }

/** Options that decide what stored bytes mean. They cannot change on an existing column. */
const FIXED_OPTIONS = ['type', 'encrypted', 'token', 'columnGroup', 'normalize'] as const
/** Options that can be added later, but not removed: their index or digests would remain. */
const GROWING_OPTIONS = ['unique', 'searchable', 'index'] as const

/**
 * Returns the schema to store, with object ids and ordinals: the known ones, and new ones for new tables and columns. Keeps known
 * tables and columns that the definition does not have, because another process may have a newer definition. Throws
 * `failed_precondition`, with table and column in the details, for a change that does not fit stored data, and `limit_exceeded`
 * if there are not enough object ids.
 */
export function assignIds(definition: SchemaDefinition, known: CatalogSchema, rules: SchemaRules = known.rules): CatalogSchema {
  let nextObjectId = known.nextObjectId
  const tables: Record<string, CatalogTable> = { ...known.tables }
  for (const [table, columns] of Object.entries(definition)) {
    const old = known.tables[table]
    const objectId = old?.objectId ?? nextObjectId++
    const assigned: Record<string, CatalogColumn> = { ...old?.columns }
    const before = Object.keys(assigned).length
    let ordinal = before
    for (const [column, after] of Object.entries(columns)) {
      const was = old?.columns[column]
      if (was !== undefined) assertCompatible({ table, column, before: was.definition, after })
      assigned[column] = {
        objectId: was?.objectId ?? nextObjectId++,
        ordinal: was?.ordinal ?? ordinal++,
        definition: after,
      }
    }
    const isGrown = before > 0 && ordinal > before
    const grownAt = isGrown ? [...(old?.grownAt ?? []), before] : old?.grownAt
    tables[table] = { objectId, columns: assigned, ...(grownAt === undefined ? {} : { grownAt }) }
  }
  if (nextObjectId > MAX_OBJECT_IDS) {
    throw fault(
      'limit_exceeded',
    )`Cannot open the vault: its tables and columns exceed the limit of ${MAX_OBJECT_IDS}. Use a second vault.`
  }
  const { uniqueTogether, ...others } = rules
  const together = keptTogether(definition, known.rules.uniqueTogether, uniqueTogether)
  return { nextObjectId, tables, rules: together === undefined ? others : { ...others, uniqueTogether: together } }
}

/** Returns a stored schema as a definition, as the processes that changed it last gave it. */
export function definitionOf({ tables }: CatalogSchema): SchemaDefinition {
  return Object.fromEntries(
    Object.entries(tables).map(([table, { columns }]) => [
      table,
      Object.fromEntries(Object.entries(columns).map(([column, { definition }]) => [column, definition])),
    ]),
  )
}

/** Returns the part of a stored schema that a definition has, in the order of the definition. */
export function knownPart(definition: SchemaDefinition, stored: CatalogSchema): CatalogSchema {
  const tables: Record<string, CatalogTable> = {}
  for (const [name, columns] of Object.entries(definition)) {
    const table = required(stored.tables[name], 'A table of the stored schema')
    const own = Object.keys(columns).map((column) => [column, required(table.columns[column], 'A stored column')] as const)
    tables[name] = { objectId: table.objectId, columns: Object.fromEntries(own) }
  }
  return { nextObjectId: stored.nextObjectId, tables, rules: stored.rules }
}

/** Rules of a column that a process must know to write records. */
const WRITE_RULES = ['required', 'unique', 'searchable'] as const

/**
 * Returns why a process with this definition and these rules must not write records, by table: a column is required, unique or searchable in the
 * stored schema and not in the definition, or a rule of retention counts from another time, so that the process would write no value, no digest, or a
 * wrong time. Tables without a reason are absent.
 */
export function findOutdatedTables(
  definition: SchemaDefinition,
  stored: CatalogSchema,
  rules: SchemaRules = stored.rules,
): ReadonlyMap<string, Fault> {
  const outdated = new Map<string, Fault>()
  for (const [table, columns] of Object.entries(definition)) {
    const known = new Map(retentionOf(rules.retention, table).map(({ rule, from }) => [rule, from ?? '']))
    for (const { rule, from = '', column } of retentionOf(stored.rules.retention, table)) {
      if (known.get(rule) === from) continue
      const detail = { table, ...(column !== undefined && { column }) }
      outdated.set(
        table,
        fault(
          'failed_precondition',
          detail,
        )`The stored schema is newer than the one of this process: it has another rule of retention for table ${table}. Restart the process with the new schema.`,
      )
    }
    for (const [column, { definition: is }] of Object.entries(stored.tables[table]?.columns ?? {})) {
      const own = columns[column]
      const rule = WRITE_RULES.find((one) => is[one] === true && own?.[one] !== true)
      if (rule === undefined || outdated.has(table)) continue
      const subject = say`column ${column} of table ${table} is ${words(rule)}`
      const reason =
        own === undefined
          ? say`In the stored schema ${subject}, and the schema of this process leaves it out. Restart the process with a schema that has it.`
          : say`The stored schema is newer than the one of this process: ${subject}. Restart the process with the new schema.`
      outdated.set(table, fault('failed_precondition', { table, column })`${reason}`)
    }
  }
  return outdated
}

/** Returns the object ids of the columns of a table with tokens that are in the stored schema and not in the definition. */
export function hiddenTokenIds(definition: SchemaDefinition, stored: CatalogSchema, table: string): number[] {
  return Object.entries(stored.tables[table]?.columns ?? {}).flatMap(([column, { objectId, definition: is }]) =>
    definition[table]?.[column] === undefined && keepsTokens(is) ? [objectId] : [],
  )
}

function keepsTokens(definition: ColumnDefinition): boolean {
  const { kind } = tokenOf(definition)
  return kind !== undefined && !tokenKinds[kind].expires
}

/** The definition of one column before and after a change of the schema. */
export interface ColumnChange {
  readonly table: string
  readonly column: string
  readonly before: ColumnDefinition
  readonly after: ColumnDefinition
}

/** Throws `failed_precondition` for a change of an option that stored data depends on. */
function assertCompatible(change: ColumnChange): void {
  const [first] = findIncompatible(change)
  if (first !== undefined) throw cannotOpen(first.reason, { table: change.table, column: change.column })
}

/** Returns the options of a column that cannot change as they do, and why. */
export function findIncompatible({ table, column, before, after }: ColumnChange): {
  readonly option: FixedOption
  readonly reason: Sentence
}[] {
  const fixed = FIXED_OPTIONS.filter(
    (option) => JSON.stringify(optionOf(before, option)) !== JSON.stringify(optionOf(after, option)),
  ).map((option) => ({
    option,
    reason: say`option ${option} of column ${column} of table ${table} cannot change, because stored data depends on it. Restore it.`,
  }))
  const growing = GROWING_OPTIONS.filter((option) => optionOf(before, option) === true && optionOf(after, option) !== true).map(
    (option) => ({
      option,
      reason: say`option ${option} of column ${column} of table ${table} cannot be removed. Restore it.`,
    }),
  )
  return [...fixed, ...growing]
}

/** An option of a column with rules for how it changes. */
type FixedOption = (typeof FIXED_OPTIONS)[number] | (typeof GROWING_OPTIONS)[number]

/** Returns an option of a definition, or its default if it is absent. */
function optionOf(definition: ColumnDefinition, option: FixedOption): unknown {
  const given: unknown = Reflect.get(definition, option)
  if (option === 'encrypted') return given !== false
  if (option === 'normalize') return given ?? []
  // The lifetime of transient values and `stable` concern new writes only.
  if (option === 'token') return [tokenOf(definition).kind, tokenOf(definition).format]
  return given ?? false
}

function cannotOpen(reason: Sentence, detail: { readonly table: string; readonly column?: string }): Fault {
  return fault('failed_precondition', detail)`Cannot open the vault: ${reason}`
}
