/** Deletes records: the named ones, all or none, or every record of a table that the caller may delete. */
import { readIds } from '../barrier/record-ids.ts'
import { VaultError } from '../errors.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import type { Need, TableAccess } from '../policy/table-access.ts'
import type { Row, Storage } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { findVisible } from '../row-access/find-visible.ts'
import { judgeRows } from '../row-access/evaluate-access.ts'
import { deleteAll as deleteEvery, deleteRows } from '../records/record-store.ts'
import type { OperationContext } from '../execution/context.ts'
import { listOf, recordsNotFound, tableOf, textsOf } from '../execution/context.ts'
import { accessTo } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'

const VERB = 'Delete'

/** What stands for every record of a table. */
export const ALL = '*'

/** Rows that one step of a filtered '*' deletes. */
const SLICE = 1000

/** Inside a change. */
type Changing = OperationContext & { readonly unit: UnitOfWork<Storage> }

/** A record goes whole, so the whole of it must be granted. */
function needOf(table: Table): Need {
  return { action: 'DELETE', columns: table.columns }
}

/** Deletes every record of a table that is there for this caller. */
export const deleteAll: Operation<{ readonly table: string; readonly ids: readonly [typeof ALL] }, Table, { ids: string[] }> = {
  action: 'DELETE',
  resourceType: 'TABLE',
  verb: VERB,
  told: { table: 'name', ids: 'value' },
  parse({ table: name }, context) {
    const table = tableOf(context, name)
    context.story.about(table)
    return table
  },
  async execute(context, table) {
    const access = accessTo(context, table, 'DELETE')
    const everyRow = access.alwaysMeets(needOf(table))
    await context.unit.change(async (unit) => {
      await (everyRow ? deleteEvery(unit.storage, table) : deleteReached({ ...context, unit }, access))
      context.story.writes(table, [])
    })
    return { ids: [ALL] }
  },
}

/** Records of one table, by their ids. */
export interface DeleteInput {
  readonly table: string
  readonly ids: readonly string[]
}

interface Request {
  readonly table: Table
  readonly ids: string[]
}

/**
 * Deletes and answers the ids in the order given. Throws `not_found` when an id names no record; then nothing is deleted. An
 * id is an id: '*' among ids is refused, for an id taken from a request must never empty a table.
 */
export const deleteRecords: Operation<DeleteInput, Request, { ids: string[] }> = {
  action: 'DELETE',
  resourceType: 'RECORD',
  verb: VERB,
  told: { table: 'name', ids: 'value' },
  parse({ table: name, ids: given }, context) {
    const table = tableOf(context, name)
    context.story.about(table)
    const ids = textsOf(listOf(context, given, VERB, 'ids'))
    if (ids.includes(ALL)) {
      throw new VaultError(
        'invalid_request',
        `${VERB} failed. '*' is no id. To delete every record, give it in place of the list.`,
      )
    }
    return { table, ids }
  },
  async execute(context, { table, ids }) {
    const access = accessTo(context, table, 'DELETE')
    const positions = readIds(context.barrier.ring, table, ids)
    const rows = [...new Set(positions.filter((position) => position !== undefined))]
    await context.unit.change(async (unit) => {
      const reached = await reachedRows({ ...context, unit }, access, rows)
      const gone = new Set(await deleteRows(unit.storage, table, reached))
      const absent = positions.flatMap((position, index) => (position === undefined || !gone.has(position) ? [index] : []))
      if (absent.length > 0) throw recordsNotFound(table, VERB, ids, absent)
      context.story.writes(table, rows)
    })
    return { ids }
  },
}

/** Deletes the rows his grants reach, a slice at a time. */
async function deleteReached(context: Changing, access: TableAccess): Promise<void> {
  const { table } = access
  for (let after = 0; ; ) {
    const page = { order: 'up', after, limit: SLICE } as const
    const found = await findVisible(context, access, { needs: [needOf(table)], filter: { kind: 'every' }, page })
    const held = await holdReached(
      context,
      access,
      found.map(({ row }) => row),
    )
    await deleteRows(context.unit.storage, table, held)
    if (found.length < SLICE) return
    after = found.at(-1)?.row.id ?? after
  }
}

/** The rows among these that are there for him. */
async function reachedRows(context: Changing, access: TableAccess, rows: readonly number[]): Promise<readonly number[]> {
  const need = needOf(access.table)
  if (access.alwaysMeets(need)) return rows
  const found = await context.unit.storage.get(access.table.physical.name, rows)
  return holdReached(
    context,
    access,
    found.filter((row) => row !== undefined),
  )
}

/**
 * The rows among these that are there for him, held so that nobody changes them before they go: raising the version of a row
 * that still stands as it was judged locks it, and one that was changed meanwhile is judged again.
 */
async function holdReached(context: Changing, access: TableAccess, rows: readonly Row[]): Promise<number[]> {
  const { name } = access.table.physical
  const held: number[] = []
  let pending = rows
  while (pending.length > 0) {
    const grants = judgeRows(context, access, pending)
    const reached = pending.filter((_, index) => grants[index]?.meets(needOf(access.table)) === true)
    const patches = reached.map(({ id, version }) => ({ id, version, set: {} }))
    const isHeld = patches.length === 0 ? [] : await context.unit.storage.update(name, patches)
    held.push(...reached.flatMap(({ id }, index) => (isHeld[index] === true ? [id] : [])))
    const missed = reached.filter((_, index) => isHeld[index] !== true)
    const again =
      missed.length === 0
        ? []
        : await context.unit.storage.get(
            name,
            missed.map(({ id }) => id),
          )
    pending = again.filter((row) => row !== undefined)
  }
  return held
}
