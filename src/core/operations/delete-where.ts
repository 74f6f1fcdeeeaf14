/** Delete where: deletes the records with given values in a look-up column, all or none, in one transaction. */
import { assertVersions } from '../barrier/record-errors.ts'
import { type DeleteOptions, parseFlag, parseTable } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import {
  assertChangeable,
  findChangeable,
  type Lookup,
  parseWhere,
  requireChangeAccess,
  type Where,
} from '../execution/find-records.ts'
import type { Operation } from '../execution/operation.ts'
import { removeFilesOfDeleted } from '../file-store/remove-files.ts'
import type { Row, Storage } from '../ports/storage.ts'
import { attemptChange, STALE } from '../records/attempt-change.ts'
import { deleteRows } from '../records/record-store.ts'
import type { Table } from '../schema/layout.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { assertOptions } from '../util/options.ts'

/** Input of a deletion by the value of a column. */
export interface DeleteWhereInput {
  readonly table: string
  readonly where: Where
  readonly options?: DeleteOptions
}

/** A parsed request, before grants are checked. */
export interface DeleteWhereRequest {
  readonly table: Table
  readonly lookup: Lookup
  readonly transients: boolean
}

/**
 * Deletes the records that a read by the column returns, and returns their ids. None is no error. Throws like that read, `limit_exceeded`
 * for more than `limits.maxRecords`, and `not_found` for one that the caller can read and not delete; nothing is deleted then.
 */
export const deleteWhere: Operation<DeleteWhereInput, DeleteWhereRequest, { ids: string[] }> = {
  action: 'DELETE',
  resourceType: 'RECORD',
  verb: 'Delete',
  members: ['table', 'where', 'options'],
  recorded: { table: 'name', where: 'lookup', transients: 'flag' },
  parse({ table: name, where, options = {} }, context) {
    const table = parseTable(context, name)
    const lookup = parseWhere(context, where)
    assertOptions<DeleteOptions>(options, ['transients'])
    return { table, lookup, transients: parseFlag(options.transients, 'transients') }
  },
  async execute(context, request) {
    const { table } = request
    const changing = { table, scheduler: context.scheduler }
    const ids = await attemptChange(context.unit, changing, (unit) => deleteFound(unit, context, request))
    await removeFilesOfDeleted(context, [table])
    return { ids }
  },
  once: { removesFiles: true },
}

/** One attempt. Throws STALE if another caller changed one of the records meanwhile. */
async function deleteFound(
  unit: UnitOfWork,
  context: OperationContext,
  { table, lookup, transients }: DeleteWhereRequest,
): Promise<string[]> {
  const access = requireChangeAccess(context, table, 'DELETE')
  const found = await findChangeable({ ...context, unit }, access, lookup)
  assertChangeable(access, found, { action: 'DELETE', columns: table.columns })
  const rows = found.rows.map(({ row }) => row)
  assertVersions(context.barrier, table, rows)
  await unit.change(async ({ storage }) => {
    await lock(storage, table, rows)
    const deleted = await deleteRows(storage, context, { table, rows: rows.map(({ id }) => id), transients })
    context.event.setWrittenRows(table, deleted)
  })
  return [...found.ids]
}

/** Increments the versions, so that no other caller gives a record another value before it is deleted. */
async function lock(storage: Storage, table: Table, rows: readonly Row[]): Promise<void> {
  const patches = rows.map(({ id, version }) => ({ id, version, set: {} }))
  if (patches.length > 0 && (await storage.update(table.physical.name, patches)).includes(false)) throw STALE
}
