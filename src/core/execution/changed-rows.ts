/** The rows that requests of a batch will change. Source: docs/inside/batches.md. */
import { decodeRecordIds } from '../barrier/record-ids.ts'
import type { Action } from '../policy/statement.ts'
import type { Table } from '../schema/layout.ts'
import { groupBy } from '../util/lists.ts'
import type { SessionContext } from './context.ts'

/** Rows of one table. */
export interface ChangedRows {
  readonly table: Table
  readonly ids: readonly number[]
}

/** Returns the rows of the records that requests name, without those of tables in which the caller has no grant for the action. */
export function namedRows(
  { barrier, access }: Pick<SessionContext, 'barrier' | 'access'>,
  action: Action,
  requests: readonly { readonly table: Table; readonly id: string }[],
): ChangedRows[] {
  return [...groupBy(requests, ({ table }) => table)].flatMap(([table, own]) => {
    if (!access.table(table).possiblyMeets({ action, columns: [] })) return []
    const ids = own.map(({ id }) => id)
    return [{ table, ids: decodeRecordIds(barrier.ring, table, ids).filter((id) => id !== undefined) }]
  })
}
