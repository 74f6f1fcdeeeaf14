/** Checks the sealed indexes of a table that are in use: which these are, and what they have, can change meanwhile. */
import { UNKNOWN_KEY } from '../barrier/barrier.ts'
import { isVaultError } from '../errors.ts'
import type { Job } from '../maintenance/job.ts'
import { present } from '../util/lists.ts'
import { checkIndex, type IndexFinding } from './check-index.ts'
import { tableNow, type Verifying } from './check-records.ts'
import type { RecordFindings } from './record-findings.ts'
import type { IndexPlace } from './row-keys.ts'

/** Number of times that an index is checked if other processes change the catalog meanwhile. */
const MAX_CHECKS = 10

/** Checks the indexes of a table. One that is being filled is not checked, and one during each of whose checks the catalog changes is not reported. */
export async function checkIndexes(
  context: Verifying,
  objectId: number,
  { findings, job }: { readonly findings: RecordFindings; readonly job: Job },
): Promise<void> {
  for (const { index } of placesIn(context, objectId)) {
    const placeNow = () => placesIn(context, objectId).find((place) => place.index.objectId === index.objectId)
    for (let checks = 0; checks < MAX_CHECKS; checks++) {
      const place = placeNow()
      if (place === undefined) break
      const { generation } = context.catalog.keys
      const found = await findingsOf(context, place, job)
      // With another schema, an index has the keys of other values, or has ended.
      if (found.length > 0 && !(await context.catalog.isCurrent(context.storage, generation))) {
        await context.catalog.reload(context.storage)
        continue
      }
      for (const { kind, row } of found) findings.add(place.table, { kind, column: place.column }, row)
      break
    }
  }
}

/** Returns the indexes of a table as the schema has them now. */
function placesIn(context: Verifying, objectId: number): readonly IndexPlace[] {
  const table = tableNow(context, objectId)
  if (table === undefined) return []
  return table.columns.flatMap((column) => present([column.index, column.contains]).map((index) => ({ table, column, index })))
}

async function findingsOf(context: Verifying, place: IndexPlace, job: Job): Promise<readonly IndexFinding[]> {
  try {
    return await checkIndex(context, place, job)
  } catch (error) {
    if (isVaultError(error, 'data_loss')) return [{ kind: 'unreadable_index' }]
    if (error !== UNKNOWN_KEY) throw error
  }
  // Its key may have been made meanwhile. If it is unknown then too, what names it was changed.
  await context.catalog.reload(context.storage)
  const { entropy, vault, ring, subjectKeys } = context.barrier
  return findingsOf({ ...context, barrier: { entropy, vault, ring, subjectKeys } }, place, job)
}
