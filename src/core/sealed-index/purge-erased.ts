/** Takes the keys of erased rows out of sealed indexes: the slow half of erasing, which notes in the database say is due. */
import { ERASED } from '../index-runs/erased-rows.ts'
import type { Filter, StorageReads } from '../ports/storage.ts'
import { INDEX_RUNS } from '../schema/system-tables.ts'
import { beginningAgain, readHeads } from './index-rows.ts'
import { compactIndexes, type IndexedTable } from './merge-due.ts'
import type { MergePorts } from './merge-runs.ts'

const NOTES: Filter = { kind: 'compare', column: 'space', operator: '=', value: ERASED }
/** Notes that are dealt with at once, at most. */
const MAX_NOTES = 1000

/** True if something was erased whose keys are still in indexes. One small read. */
export async function hasErased(storage: Pick<StorageReads, 'find'>): Promise<boolean> {
  return (await storage.find(INDEX_RUNS.name, NOTES, { order: 'asc', limit: 1, columns: [] })).length > 0
}

/**
 * Takes the keys of all erased rows out of the indexes of these tables, each of which is one run then. `isGone` says of an object id that no table has it any
 * more. Killed, it begins again: a note goes last. Throws `aborted` if other processes kept merging them.
 */
export async function purgeErased(
  ports: MergePorts,
  tables: readonly IndexedTable[],
  isGone: (objectId: number) => boolean,
): Promise<void> {
  const pace = { worked: () => ports.between(0) }
  for (;;) {
    const read = () => readHeads(ports, ports.cache, { spaces: [ERASED], limit: MAX_NOTES, pace })
    const { heads, areAll } = await beginningAgain(read)
    const notes = heads.flatMap((head) => (head.kind === 'erased' ? [head] : []))
    let done = 0
    for (const objectId of new Set(notes.map(({ table }) => table))) {
      const table = tables.find((one) => one.objectId === objectId)
      // A table that only other processes know is theirs.
      if (table === undefined && !isGone(objectId)) continue
      const own = notes.filter((note) => note.table === objectId)
      if (table !== undefined) await compactIndexes(ports, table, { without: new Set(own.flatMap(({ rows }) => rows)) })
      done += own.length
      await ports.storage.delete(INDEX_RUNS.name, { ids: own.map(({ id }) => id) })
    }
    if (areAll || done === 0) return
  }
}
