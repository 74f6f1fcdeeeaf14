/** What a change of the schema does with sealed indexes: it refuses to touch one, so that none has the values of some records only. */
import { say } from '../errors.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import type { SchemaMoves, SchemaRefusal } from './schema-moves.ts'
import type { Succession } from './successions.ts'

/** Returns why sealed indexes stay as they are: they are of new tables, and of the values that their columns had from the first record on. */
export function sealedIndexesChanged(
  before: CatalogSchema,
  target: CatalogSchema,
  { drop = {} }: SchemaMoves,
  successions: readonly Succession[],
): SchemaRefusal[] {
  const isErased = (path: string): boolean => drop[path] === 'erase'
  return Object.entries(before.tables).flatMap(([table, { columns }]) => {
    const after = target.tables[table]?.columns ?? {}
    return Object.keys(after).flatMap((column) => {
      const isAnew = successions.some((one) => one.table === table && one.column === column)
      const was = columns[column]?.index
      const is = isErased(table) || isErased(`${table}.${column}`) ? undefined : after[column]?.index
      const isKept = was === is && !(isAnew && was !== undefined)
      if (isKept) return []
      return [
        {
          table,
          column,
          reason: say`the sealed index of column ${column} of table ${table} cannot be added to a table that exists, removed, or be of another type.`,
        },
      ]
    })
  })
}
