/** Deletes records: the named ones, all or none, or every record of a table. */
import { readIds } from '../barrier/mint-pointers.ts'
import { VaultError } from '../errors.ts'
import { assertAllowed } from '../policy/decide.ts'
import type { OperationContext } from './context.ts'
import { assertList, recordsNotFound, tableOf } from './context.ts'

const VERB = 'Delete'

/** Stands for every record of a table. */
const ALL = '*'

/** Deletes and answers the ids in the order given, or `['*']` for all. Throws `not_found` when an id names no record; then nothing is deleted. */
export async function deleteRecords(
  context: OperationContext,
  tableName: string,
  ids: readonly string[] | '*',
): Promise<{ ids: string[] }> {
  const table = tableOf(context, tableName, VERB)
  const list: unknown = ids === ALL ? [ALL] : ids
  assertList(context, list, VERB, 'ids')
  assertAllowed(context.caller, 'DELETE', table)
  const texts = list.map((id) => (typeof id === 'string' ? id : ''))
  if (texts.includes(ALL)) {
    if (texts.length > 1)
      throw new VaultError('invalid_request', `${VERB} failed. '*' deletes every record and stands alone. Give it, or ids.`)
    await context.storage.delete(table.physical.name, { filter: { kind: 'every' } })
    return { ids: [ALL] }
  }
  const positions = readIds(context.barrier.ring, table, texts)
  const missing = positions.flatMap((position, index) => (position === undefined ? [index] : []))
  if (missing.length > 0) throw recordsNotFound(table, VERB, texts, missing)
  const rows = [...new Set(positions.filter((position) => position !== undefined))]
  await context.storage.transaction(async (storage) => {
    const gone = new Set(await storage.delete(table.physical.name, { ids: rows }))
    const absent = positions.flatMap((position, index) => (position === undefined || !gone.has(position) ? [index] : []))
    if (absent.length > 0) throw recordsNotFound(table, VERB, texts, absent)
  })
  return { ids: texts }
}
