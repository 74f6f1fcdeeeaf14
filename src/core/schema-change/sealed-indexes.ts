/** What a change of the schema does with sealed indexes: nothing, so that none has the values of some records only. `successions.ts` refuses to make an indexed column anew. */
import { say } from '../errors.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import type { SchemaMoves, SchemaRefusal } from './schema-moves.ts'

/** Returns why the sealed indexes of tables that exist stay as they are: they have the values of their columns from the first record on. */
export function sealedIndexesChanged(
  before: CatalogSchema,
  target: CatalogSchema,
  { drop = {} }: SchemaMoves,
): readonly SchemaRefusal[] {
  const isErased = (path: string): boolean => drop[path] === 'erase'
  return Object.entries(before.tables).flatMap(([table, { columns }]) =>
    Object.entries(target.tables[table]?.columns ?? {}).flatMap(([column, { index }]) => {
      const is = isErased(table) || isErased(`${table}.${column}`) ? undefined : index
      const was = columns[column]?.index
      if (is === was) return []
      const what = say`the sealed index of column ${column} of table ${table}`
      const reason =
        was === undefined
          ? say`${what} cannot be added, because the table exists. Leave it out.`
          : say`${what} cannot be removed. Keep the column and its index.`
      return [{ table, column, reason }]
    }),
  )
}
