/** Which ordinals the tables and columns of a vault were given, once and for all, and whether a changed schema may be opened. */
import { VaultError } from '../errors.ts'
import { MOST_SPACES } from '../limits.ts'
import type { ColumnDefinition, SchemaDefinition } from './column.ts'
import { tokenOf } from './column.ts'

/** One column as the catalog remembers it. `space` addresses it in pointers, `ordinal` in sealed bodies. */
export interface AllottedColumn {
  readonly space: number
  readonly ordinal: number
  readonly definition: ColumnDefinition
}

/** One table as the catalog remembers it. */
export interface AllottedTable {
  readonly space: number
  readonly columns: Readonly<Record<string, AllottedColumn>>
}

/** Everything the catalog remembers of a schema. `nextSpace` was never given to anything. */
export interface Allotment {
  readonly nextSpace: number
  readonly tables: Readonly<Record<string, AllottedTable>>
}

/** What a new vault begins with. */
export const EMPTY_ALLOTMENT: Allotment = { nextSpace: 1, tables: {} }

/** Options that decide what stored bytes mean; changing one on a column that exists would orphan what is stored. */
const FIXED_OPTIONS = ['type', 'encrypted', 'token', 'columnGroup', 'normalise'] as const
/** Options that may be taken up later but not given up, for their index or digest would stay behind. */
const GROWING_OPTIONS = ['unique', 'searchable', 'index'] as const

/**
 * Gives ordinals to what is new and keeps those of what is known. Throws `VaultError('failed_precondition')` naming the column
 * for a change that would lose, retype or weaken something stored.
 */
export function allotSchema(definition: SchemaDefinition, known: Allotment): Allotment {
  let nextSpace = known.nextSpace
  for (const table of Object.keys(known.tables)) {
    if (definition[table] === undefined)
      throw refused(`table ${table} is missing from the schema, and dropping a table is no schema change`, table)
  }
  const tables: Record<string, AllottedTable> = {}
  for (const [table, columns] of Object.entries(definition)) {
    const old = known.tables[table]
    for (const column of Object.keys(old?.columns ?? {})) {
      if (columns[column] === undefined)
        throw refused(
          `column ${column} of table ${table} is missing from the schema, and dropping a column is no schema change`,
          table,
          column,
        )
    }
    const space = old?.space ?? nextSpace++
    let ordinal = Object.keys(old?.columns ?? {}).length
    const allotted: Record<string, AllottedColumn> = {}
    for (const [column, wanted] of Object.entries(columns)) {
      const was = old?.columns[column]
      if (was !== undefined) assertCompatible(table, column, was.definition, wanted)
      allotted[column] = { space: was?.space ?? nextSpace++, ordinal: was?.ordinal ?? ordinal++, definition: wanted }
    }
    tables[table] = { space, columns: allotted }
  }
  if (nextSpace > MOST_SPACES) {
    throw new VaultError(
      'limit_exceeded',
      `Schema refused. A vault has room for ${MOST_SPACES} tables and columns over its life.`,
    )
  }
  return { nextSpace, tables }
}

function assertCompatible(table: string, column: string, was: ColumnDefinition, wanted: ColumnDefinition): void {
  for (const option of FIXED_OPTIONS) {
    if (JSON.stringify(optionOf(was, option)) !== JSON.stringify(optionOf(wanted, option))) {
      throw refused(`column ${column} of table ${table} changes its ${option}, which what is stored depends on`, table, column)
    }
  }
  for (const option of GROWING_OPTIONS) {
    if (optionOf(was, option) === true && optionOf(wanted, option) !== true) {
      throw refused(`column ${column} of table ${table} gives up ${option}, which would leave its index behind`, table, column)
    }
  }
}

/** An option with its default filled in, so that leaving it out equals saying it. */
function optionOf(
  definition: ColumnDefinition,
  option: (typeof FIXED_OPTIONS)[number] | (typeof GROWING_OPTIONS)[number],
): unknown {
  const given: unknown = Reflect.get(definition, option)
  if (option === 'encrypted') return given !== false
  if (option === 'normalise') return given ?? []
  // How long a transient value lives and whether a token is stable concern new writes alone.
  if (option === 'token') return [tokenOf(definition).kind, tokenOf(definition).format]
  return given ?? false
}

function refused(what: string, table: string, column?: string): VaultError {
  return new VaultError(
    'failed_precondition',
    `The vault was not opened, and nothing was written: ${what}. Put it back, or move the records to a new column.`,
    {
      table,
      ...(column === undefined ? {} : { column }),
    },
  )
}
