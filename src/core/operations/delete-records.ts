/** Delete: the named records, all or none, or every record of a table that the caller can delete. */
import { assertVersions } from '../barrier/record-errors.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import { fault } from '../errors.ts'
import { type DeleteOptions, parseFlag, parseList, parseTable, recordsNotFound, toIds } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import { requireAccess } from '../execution/grants.ts'
import { dividedRows, namedRows, type Operation } from '../execution/operation.ts'
import { removeFilesOfDeleted } from '../file-store/remove-files.ts'
import { createPace } from '../pace/pace.ts'
import type { RequiredGrant, TableAccess } from '../policy/table-access.ts'
import type { Row, Storage } from '../ports/storage.ts'
import { reasonsOf, STALE } from '../records/attempt-change.ts'
import { assertVersion, parseIfVersion, type RequiredByRow, requiredByRow } from '../records/change-store.ts'
import { deleteEveryRow, deleteRows, type WrittenRows } from '../records/record-store.ts'
import { evaluateAccessInSlices } from '../row-access/evaluate-access.ts'
import { findVisible } from '../row-access/find-visible.ts'
import type { Table } from '../schema/layout.ts'
import { attempt } from '../util/attempt.ts'
import { at } from '../util/lists.ts'
import { assertOptions } from '../util/options.ts'

/** Selects every record of a table, in place of ids. */
export const ALL = '*'

/** Returns the grant to delete a record. It includes all columns, because a record is deleted as a whole. */
function needOf(table: Table): RequiredGrant {
  return { action: 'DELETE', columns: table.columns }
}

/** Input of a deletion. */
export interface DeleteInput {
  readonly table: string
  /** Ids of records, each with the version that it must have if that matters, or `['*']` for every record of the table. */
  readonly ids: readonly (string | VersionedId)[]
  readonly options?: DeleteOptions
}

/** The id of a record, and the version of an earlier read: the deletion is `aborted` if the record was written since. */
export interface VersionedId {
  readonly id: string
  readonly ifVersion: string
}

/** Ids of records, and the version that each must have, in order. */
interface Named {
  readonly ids: readonly string[]
  readonly ifVersions: readonly (string | undefined)[]
}

/** A parsed request, before grants are checked. */
export interface DeleteRequest {
  readonly table: Table
  readonly named: Named | typeof ALL
  readonly transients: boolean
}

/**
 * Deletes records by their ids, all or none; or, with `['*']`, every record of the table that is visible to the caller. Throws `not_found`
 * with the positions of ids without a record, and `invalid_request` for '*' beside other ids.
 */
export const deleteRecords: Operation<DeleteInput, DeleteRequest, { ids: string[] }> = {
  action: 'DELETE',
  resourceType: 'RECORD',
  verb: 'Delete',
  members: ['table', 'ids', 'options'],
  recorded: { table: 'name', ids: 'value', transients: 'flag' },
  parse({ table: name, ids: given, options = {} }, context) {
    // A version that had no effect would delete what another caller has written.
    assertOptions<DeleteOptions>(options, ['transients'], { note: 'Pass a version with its id: { id, ifVersion }.' })
    const transients = parseFlag(options.transients, 'transients')
    const isWhole = Array.isArray(given) && given.length === 1 && given[0] === ALL
    if (isWhole) context.event.setResourceType('TABLE')
    const table = parseTable(context, name)
    if (isWhole) return { table, named: ALL, transients }
    const named = parseNamed(parseList(context, given, 'ids'))
    if (named.ids.includes(ALL))
      throw fault('invalid_request')`"*" is not a record id. To delete all records, pass ["*"] without other ids.`
    return { table, named, transients }
  },
  async execute(context, { table, named, transients }) {
    if (named === ALL) await deleteWhole(context, { table, transients })
    else await deleteByIds(context, { table, transients, ...named })
    await removeFilesOfDeleted(context, [table])
    return { ids: named === ALL ? [ALL] : [...named.ids] }
  },
  once: { removesFiles: true },
}

/** Returns the items of a list of ids, some of which can have a version. */
function parseNamed(items: readonly unknown[]): Named {
  const members = items.map((item): { readonly id: unknown; readonly ifVersion?: unknown } => {
    if (typeof item !== 'object' || item === null || !('id' in item)) return { id: item }
    assertOptions<VersionedId>(item, ['id', 'ifVersion'])
    return item
  })
  return { ids: toIds(members.map(({ id }) => id)), ifVersions: members.map(({ ifVersion }) => parseIfVersion(ifVersion)) }
}

/** Options of the deletion of one record. */
export interface DeleteOneOptions extends DeleteOptions {
  /** The version of an earlier read: the deletion is `aborted` if the record was written since. Default: it is deleted in any case. */
  readonly ifVersion?: string
}

/** Input of the deletion of one record. */
export interface DeleteOneInput {
  readonly table: string
  readonly id: string
  readonly options?: DeleteOneOptions
}

/** A parsed request to delete one record. */
export interface DeleteOneRequest {
  readonly table: Table
  readonly id: string
  readonly ifVersion: string | undefined
  readonly transients: boolean
}

/** Deletes one record. Throws `not_found`. '*' is refused, so that an id from a path can never empty a table. */
export const deleteOne: Operation<DeleteOneInput, DeleteOneRequest, { id: string; deleted: true }> = {
  action: 'DELETE',
  resourceType: 'RECORD',
  verb: 'Delete',
  members: ['table', 'id', 'options'],
  recorded: { table: 'name', id: 'value', ifVersion: 'value', transients: 'flag' },
  parse({ table: name, id: given, options = {} }, context) {
    const table = parseTable(context, name)
    assertOptions<DeleteOneOptions>(options, ['ifVersion', 'transients'])
    if (given === ALL) throw fault('invalid_request')`"*" is not the id of one record.`
    const transients = parseFlag(options.transients, 'transients')
    return { table, id: at(toIds([given]), 0), ifVersion: parseIfVersion(options.ifVersion), transients }
  },
  async execute(context, { table, id, ifVersion, transients }) {
    await deleteByIds(context, { table, ids: [id], ifVersions: [ifVersion], transients })
    await removeFilesOfDeleted(context, [table])
    return { id, deleted: true }
  },
  once: { removesFiles: true },
  asOne: {
    keys: { batch: ({ table, transients }) => (transients ? `${table.name} transients` : table.name) },
    changes: async (context, requests) => namedRows(context, 'DELETE', requests),
    async execute(context, requests, events) {
      const { table, transients } = at(requests, 0)
      const named = { ids: requests.map(({ id }) => id), ifVersions: requests.map(({ ifVersion }) => ifVersion) }
      await deleteByIds({ ...context, event: dividedRows(events) }, { table, transients, ...named })
      return requests.map(({ id }) => ({ id, deleted: true }))
    },
  },
}

/** Rows from which on a table is emptied with turns of the event loop. Fewer take some tenths of a second. */
const MANY_ROWS = 5000

/** Deletes every record of a table that is visible to the caller. */
async function deleteWhole(context: OperationContext, { table, transients }: Omit<DeleteRequest, 'named'>): Promise<void> {
  const access = requireAccess(context, table, 'DELETE')
  const takesTurns = await hasManyRows(context, table)
  await context.unit.change(
    async ({ storage }) => {
      if (access.alwaysMeets(needOf(table)))
        await deleteEveryRow(storage, context, { table, pace: createPace(context), transients })
      else await deleteVisible(storage, context, access, transients)
      context.event.setWrittenRows(table, [])
    },
    { takesTurns },
  )
}

async function hasManyRows({ unit }: OperationContext, table: Table): Promise<boolean> {
  const page = { order: 'asc', after: 0, limit: MANY_ROWS, columns: [] } as const
  return (await unit.storage.find(table.physical.name, { kind: 'all' }, page)).length === MANY_ROWS
}

/** Deletes the records of these ids, all or none. */
async function deleteByIds(
  context: OperationContext<WrittenRows>,
  { table, ids, ifVersions, transients }: Named & Omit<DeleteRequest, 'named'>,
): Promise<void> {
  const access = requireAccess(context, table, 'DELETE')
  const { ring } = context.barrier
  const decoded = decodeRecordIds(ring, table, ids)
  const named = decoded.map((row, index) => ({ row, ifVersion: ifVersions[index], index: ids.length > 1 ? index : undefined }))
  const versions = requiredByRow(ring, table, named)
  const rows = [...new Set(decoded.filter((row) => row !== undefined))]
  await context.unit.change(async ({ storage }) => {
    const visible = await lockVisibleRows(storage, context, { access, rows, versions })
    const deleted = new Set(await deleteRows(storage, context, { table, rows: visible, transients }))
    const absent = decoded.flatMap((row, index) => (row === undefined || !deleted.has(row) ? [index] : []))
    if (absent.length > 0) throw recordsNotFound(table, ids, absent)
    context.event.setWrittenRows(table, rows)
  })
}

/** Deletes the rows visible to the caller, a slice at a time. */
async function deleteVisible(
  storage: Storage,
  context: OperationContext,
  access: TableAccess,
  transients: boolean,
): Promise<void> {
  const { table } = access
  const needs = [needOf(table)]
  const pace = createPace(context)
  for (let after = 0; ; ) {
    const limit = pace.size()
    const page = { order: 'asc', after, limit } as const
    const found = await findVisible(storage, context, { access, needs, filter: { kind: 'all' }, page })
    const rows = found.map(({ row }) => row)
    const locked = await lockRows(storage, context, { access, rows, versions: NONE })
    await deleteRows(storage, context, { table, rows: locked, transients })
    const last = rows.at(-1)
    if (last === undefined || rows.length < limit) return
    await pace.turn()
    after = last.id
  }
}

/** Versions that no row must have. */
const NONE: RequiredByRow = new Map()

/** Returns the rows that are visible to the caller. Locks them if that, or whether they are deleted, depends on what is stored. */
async function lockVisibleRows(
  storage: Storage,
  context: OperationContext<WrittenRows>,
  {
    access,
    rows,
    versions,
  }: { readonly access: TableAccess; readonly rows: readonly number[]; readonly versions: RequiredByRow },
): Promise<readonly number[]> {
  if (versions.size === 0 && access.alwaysMeets(needOf(access.table))) return rows
  const found = await storage.get(access.table.physical.name, rows)
  return lockRows(storage, context, { access, rows: found.filter((row) => row !== undefined), versions })
}

/**
 * Locks the rows that are visible to the caller, and returns their ids. An empty patch increments the version, so that no other
 * writer changes a row before it is deleted. A row that changed meanwhile is read and evaluated again. Throws `aborted` for one without its version.
 */
async function lockRows(
  storage: Storage,
  { barrier, scheduler }: Pick<OperationContext, 'barrier' | 'scheduler'>,
  { access, rows, versions }: { readonly access: TableAccess; readonly rows: readonly Row[]; readonly versions: RequiredByRow },
): Promise<number[]> {
  const { name } = access.table.physical
  const need = needOf(access.table)
  const locked: number[] = []
  let pending = rows
  await attempt(reasonsOf({ table: access.table, scheduler }), async () => {
    const evaluated = await evaluateAccessInSlices({ barrier, scheduler }, access, pending)
    const visible = evaluated.flatMap((one) => (one.access.meets(need) ? [one.row] : []))
    assertVersions(barrier, access.table, visible)
    for (const row of visible) assertVersion(access.table, row, versions.get(row.id))
    const patches = visible.map(({ id, version }) => ({ id, version, set: {} }))
    const isLocked = patches.length === 0 ? [] : await storage.update(name, patches)
    for (const [index, { id }] of visible.entries()) if (isLocked[index] === true) locked.push(id)
    const changed = visible.flatMap(({ id }, index) => (isLocked[index] === true ? [] : [id]))
    const again = changed.length === 0 ? [] : await storage.get(name, changed)
    pending = again.filter((row) => row !== undefined)
    if (pending.length > 0) throw STALE
  })
  return locked
}
