/** Delete file: takes the file from its record, and removes its content. */
import type { OperationContext } from '../execution/context.ts'
import {
  type FileInput,
  type FileRequest,
  fileIn,
  fileValues,
  noFile,
  parseFileInput,
  RECORDED_FILE,
  recordRow,
  requireFileColumn,
  requireUpdatable,
} from '../execution/file-columns.ts'
import { requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { discardFile, removeFiles } from '../file-store/remove-files.ts'
import { attemptChange } from '../records/attempt-change.ts'
import { storeChanges } from '../records/record-store.ts'
import { assertNotHeld } from '../retention/holds.ts'
import { nowMs } from '../util/time.ts'

/** Deletes a file. Needs UPDATE on its column. Throws `not_found` if there is no record or no file, and `failed_precondition` for a record under legal hold. */
export const deleteFile: Operation<FileInput, FileRequest, { id: string; deleted: true }> = {
  action: 'DELETE_FILE',
  resourceType: 'FILE',
  verb: 'Delete file',
  members: ['table', 'id', 'column'],
  recorded: RECORDED_FILE,
  parse: parseFileInput,
  async execute(context, request) {
    const file = await takeFile(context, request)
    await removeQuietly(context, file)
    return { id: request.id, deleted: true }
  },
  once: { removesFiles: true },
}

/** Takes the file from its record. Returns the row id of the file. */
function takeFile(context: OperationContext, { table, id, column: name }: FileRequest): Promise<number> {
  const access = requireAccess(context, table, 'UPDATE')
  const column = requireFileColumn(context, access, { name, action: 'UPDATE' })
  const values = fileValues(table, column, null)
  return attemptChange(context.unit, { table, scheduler: context.scheduler }, (outer) =>
    outer.change(async (unit) => {
      const found = await recordRow(context, unit.storage, { table, id })
      const row = requireUpdatable(context, access, { id, row: found, writes: [values] })
      const stored = fileIn(context, table, column, row)
      if (stored === undefined) throw noFile(table, column)
      await assertNotHeld(unit.storage, context, { table, rows: [row.id] })
      await storeChanges(unit, context, { table, rows: [row], records: [values], supplied: [undefined], indexes: [undefined] })
      await discardFile(unit.storage, stored.file, nowMs(context))
      return stored.file
    }),
  )
}

/** Removes the content now. In a transaction, which may roll back, and after an error, the purge does it later. */
async function removeQuietly({ files, log }: OperationContext, file: number): Promise<void> {
  if (files.isInTransaction) return
  try {
    await removeFiles(files, [file])
  } catch {
    log?.warn({ file }, 'content of a deleted file not removed yet')
  }
}
