/** A storage conflict in the words of the schema: which column, never which value. */
import { isVaultError, VaultError } from '../errors.ts'
import type { Table } from '../schema/layout.ts'

/** A unique conflict named by table, column and record; any other error as it is. `indexes` gives each row its record's place in the request. */
export function explainConflict(error: unknown, table: Table, verb: string, indexes: readonly number[]): unknown {
  if (!isVaultError(error, 'conflict')) return error
  const column = conflictColumn(error, table)
  const position = error.details[0]?.index
  const index = position === undefined ? undefined : (indexes[position] ?? position)
  return valueTaken(table, column === undefined ? undefined : { name: column }, { verb, index })
}

/** The answer to a unique value that is already there, wherever that shows. */
export function valueTaken(
  table: Table,
  column: { readonly name: string } | undefined,
  { verb, index }: { readonly verb: string; readonly index: number | undefined },
): VaultError {
  const which = index === undefined ? '' : ` (record ${index})`
  return new VaultError(
    'conflict',
    `${verb} failed. Another record of table ${table.name} already holds this value of unique column ${column?.name ?? 'id'}${which}. Send another value, or upsert.`,
    { table: table.name, ...(column === undefined ? {} : { column: column.name }), ...(index === undefined ? {} : { index }) },
  )
}

/** The column whose uniqueness a storage conflict is about. */
export function conflictColumn(error: VaultError, table: Table): string | undefined {
  return table.byPhysical.get(error.details[0]?.columns?.[0] ?? '')?.name
}
