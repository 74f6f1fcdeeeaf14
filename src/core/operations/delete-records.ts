/** Deletes records: the named ones, all or none, or every record of a table. */
import { readIds } from '../barrier/record-ids.ts'
import { VaultError } from '../errors.ts'
import { assertAllowed } from '../policy/decide.ts'
import { deleteAll, deleteRows } from '../stores/record-store.ts'
import type { OperationContext } from './context.ts'
import { listOf, recordsNotFound, tableOf, textsOf } from './context.ts'

const VERB = 'Delete'

/** What stands for every record of a table. */
export const ALL = '*'

/** Deletes every record of a table. */
export async function deleteAllRecords(context: OperationContext, tableName: string): Promise<{ ids: string[] }> {
  const table = tableOf(context, tableName, VERB)
  assertAllowed(context.caller, 'DELETE', table)
  await context.storage.transaction((storage) => deleteAll(storage, table))
  return { ids: [ALL] }
}

/**
 * Deletes and answers the ids in the order given. Throws `not_found` when an id names no record; then nothing is deleted. An
 * id is an id: '*' among ids is refused, for an id taken from a request must never empty a table.
 */
export async function deleteRecords(
  context: OperationContext,
  tableName: string,
  ids: readonly string[],
): Promise<{ ids: string[] }> {
  const table = tableOf(context, tableName, VERB)
  const texts = textsOf(listOf(context, ids, VERB, 'ids'))
  assertAllowed(context.caller, 'DELETE', table)
  if (texts.includes(ALL)) {
    throw new VaultError('invalid_request', `${VERB} failed. '*' is no id. To delete every record, give it in place of the list.`)
  }
  const positions = readIds(context.barrier.ring, table, texts)
  const missing = positions.flatMap((position, index) => (position === undefined ? [index] : []))
  if (missing.length > 0) throw recordsNotFound(table, VERB, texts, missing)
  const rows = [...new Set(positions.filter((position) => position !== undefined))]
  await context.storage.transaction(async (storage) => {
    const gone = new Set(await deleteRows(storage, table, rows))
    const absent = positions.flatMap((position, index) => (position === undefined || !gone.has(position) ? [index] : []))
    if (absent.length > 0) throw recordsNotFound(table, VERB, texts, absent)
  })
  return { ids: texts }
}
