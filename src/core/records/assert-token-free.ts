/** Refuses brought tokens that are taken without being stored: derived tokens of values that live. */
import { isSameValue } from '../barrier/digest-values.ts'
import { VaultError } from '../errors.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { StoreContext } from './writing-context.ts'
import { resolveDerived } from './resolve-tokens.ts'
import type { Writing } from './write-request.ts'

/** Throws `conflict` for a brought token that a live value derives already, unless it is brought for that same value. */
export async function assertUnderived(
  context: StoreContext,
  table: Table,
  { records, brought, verb, indexes }: Writing,
): Promise<void> {
  const asked = brought.flatMap((tokens, row) =>
    [...(tokens ?? [])].flatMap(([name, text]) => {
      const column = table.byName.get(name)
      return column === undefined ? [] : [{ row, column, text }]
    }),
  )
  const found = await resolveDerived(
    context,
    asked.map(({ text }) => text),
  )
  for (const [k, { row, column }] of asked.entries()) {
    const other = found[k]
    if (other === undefined) continue
    const value = records[row]?.[column.position]
    const isOwn = !(other instanceof VaultError) && other.column.scope === column.scope && isSameValue(column, other.value, value)
    if (!isOwn) throw tokenTaken(table, column, verb, indexes[row] ?? row)
  }
}

/** The answer to a brought token that stands for something else, wherever that shows. */
export function tokenTaken(table: Table, column: Pick<Column, 'name'>, verb: string, index: number): VaultError {
  return new VaultError(
    'conflict',
    `${verb} failed. The token brought for column ${column.name} of table ${table.name} already stands for something else (record ${index}). Bring another.`,
    { table: table.name, column: column.name, index },
  )
}
