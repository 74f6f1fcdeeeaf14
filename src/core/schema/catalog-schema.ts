/** Assigns object ids and ordinals to tables and columns, and checks whether a changed schema fits what is stored. */
import { type Fault, fault, type Sentence, say } from '../errors.ts'
import { MAX_OBJECT_IDS } from '../limits.ts'
import type { ColumnDefinition, SchemaDefinition } from './column.ts'
import { tokenOf } from './column.ts'

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
}

/** The schema as the catalog stores it. */
export interface CatalogSchema {
  /** The lowest object id that was never assigned. */
  readonly nextObjectId: number
  readonly tables: Readonly<Record<string, CatalogTable>>
}

/** The schema of a new catalog. */
export const EMPTY_CATALOG_SCHEMA: CatalogSchema = { nextObjectId: 1, tables: {} }

/** Options that decide what stored bytes mean. They cannot change on an existing column. */
const FIXED_OPTIONS = ['type', 'encrypted', 'token', 'columnGroup', 'normalize'] as const
/** Options that can be added later, but not removed: their index or digests would remain. */
const GROWING_OPTIONS = ['unique', 'searchable', 'index'] as const

/**
 * Returns the schema with object ids and ordinals: the known ones, and new ones for new tables and columns. Throws
 * `failed_precondition`, with table and column in the details, for a change that does not fit stored data, and `limit_exceeded`
 * if there are not enough object ids.
 */
export function assignIds(definition: SchemaDefinition, known: CatalogSchema): CatalogSchema {
  let nextObjectId = known.nextObjectId
  assertNothingDropped(definition, known)
  const tables: Record<string, CatalogTable> = {}
  for (const [table, columns] of Object.entries(definition)) {
    const old = known.tables[table]
    const objectId = old?.objectId ?? nextObjectId++
    let ordinal = Object.keys(old?.columns ?? {}).length
    const assigned: Record<string, CatalogColumn> = {}
    for (const [column, after] of Object.entries(columns)) {
      const before = old?.columns[column]
      if (before !== undefined) assertCompatible({ table, column, before: before.definition, after })
      assigned[column] = {
        objectId: before?.objectId ?? nextObjectId++,
        ordinal: before?.ordinal ?? ordinal++,
        definition: after,
      }
    }
    tables[table] = { objectId, columns: assigned }
  }
  if (nextObjectId > MAX_OBJECT_IDS) {
    throw fault(
      'limit_exceeded',
    )`Cannot open the vault: its tables and columns exceed the limit of ${MAX_OBJECT_IDS}. Use a second vault.`
  }
  return { nextObjectId, tables }
}

/** Throws `failed_precondition` for a known table or column that the schema does not define. */
function assertNothingDropped(definition: SchemaDefinition, known: CatalogSchema): void {
  for (const [table, { columns }] of Object.entries(known.tables)) {
    const kept = definition[table]
    if (kept === undefined) {
      const reason = say`table ${table} is missing from the schema. Tables cannot be dropped; restore its definition.`
      throw cannotOpen(reason, { table })
    }
    for (const column of Object.keys(columns)) {
      if (kept[column] !== undefined) continue
      const reason = say`column ${column} of table ${table} is missing from the schema. Columns cannot be dropped; restore its definition.`
      throw cannotOpen(reason, { table, column })
    }
  }
}

/** The definition of one column before and after a change of the schema. */
interface ColumnChange {
  readonly table: string
  readonly column: string
  readonly before: ColumnDefinition
  readonly after: ColumnDefinition
}

/** Throws `failed_precondition` for a change of an option that stored data depends on. */
function assertCompatible({ table, column, before, after }: ColumnChange): void {
  for (const option of FIXED_OPTIONS) {
    if (JSON.stringify(optionOf(before, option)) === JSON.stringify(optionOf(after, option))) continue
    const reason = say`option ${option} of column ${column} of table ${table} cannot change, because stored data depends on it. Restore it.`
    throw cannotOpen(reason, { table, column })
  }
  for (const option of GROWING_OPTIONS) {
    if (optionOf(before, option) !== true || optionOf(after, option) === true) continue
    throw cannotOpen(say`option ${option} of column ${column} of table ${table} cannot be removed. Restore it.`, {
      table,
      column,
    })
  }
}

/** Returns an option of a definition, or its default if it is absent. */
function optionOf(
  definition: ColumnDefinition,
  option: (typeof FIXED_OPTIONS)[number] | (typeof GROWING_OPTIONS)[number],
): unknown {
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
