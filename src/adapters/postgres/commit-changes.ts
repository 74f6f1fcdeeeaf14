/** The `commit` and `getAndCommit` of the storage port: one statement that commits by itself, where the changes fit into one. */
import type { Changes, Row, Storage } from '../../core/ports/storage.ts'
import { commitInTransaction } from '../sql/nested-transaction.ts'
import type { TableShapes } from '../sql/table-shapes.ts'
import { isDivisionByZero, mapPostgresError, tableOf } from './postgres-errors.ts'
import { toRow } from './read-rows.ts'
import type { CommitParts } from './row-queries.ts'
import { type QueryBuilders, toSlices, uniqueColumnsOf } from './row-work.ts'
import type { Executor } from './transaction-executor.ts'

/** Stores all changes or none. Returns false if a patch does not apply. `storage` is the one of the executor. */
export async function commitChanges(
  { builders, shapes, storage }: CommitContext,
  executor: Executor,
  changes: Changes,
): Promise<boolean> {
  const { commitAlone } = executor
  const parts = commitAlone === undefined ? undefined : partsOf(shapes, changes)
  if (commitAlone === undefined || parts === undefined) return commitInTransaction(storage, changes)
  if (parts.update === undefined && parts.inserts.length === 0) return true
  try {
    await commitAlone(builders.queries.commit(parts))
    return true
  } catch (error) {
    if (isDivisionByZero(error)) return false
    throw mapCommitError(error, parts)
  }
}

/** Stores all changes if a row exists, and returns it. Undefined without it, and false if a patch does not apply or the changes are too many. */
export async function getAndCommit(
  { builders, shapes }: Pick<CommitContext, 'builders' | 'shapes'>,
  { commitAlone }: Executor,
  { table, id, changes }: { readonly table: string; readonly id: number; readonly changes: Changes },
): Promise<Row | undefined | false> {
  const shape = shapes.of(table)
  const parts = partsOf(shapes, changes)
  if (commitAlone === undefined || parts === undefined) return false
  if (!Number.isSafeInteger(id)) return undefined
  try {
    const [raw] = await commitAlone(builders.queries.commit({ ...parts, read: { shape, id } }))
    return raw === undefined ? undefined : toRow(shape, raw)
  } catch (error) {
    if (isDivisionByZero(error)) return false
    throw mapCommitError(error, parts)
  }
}

/** The storage of the executor, and what its methods share. */
export interface CommitContext {
  readonly builders: QueryBuilders
  readonly shapes: TableShapes
  readonly storage: Pick<Storage, 'transaction'>
}

/** Returns the changes as parts of one statement; undefined if they are too many, or too long for one message. */
function partsOf(shapes: TableShapes, { updates, inserts }: Changes): CommitParts | undefined {
  const patched = updates.flatMap(({ table, patches }) => patches.map((patch) => ({ shape: shapes.of(table), patch })))
  const inserted = inserts.map(({ table, rows }) => ({ shape: shapes.of(table), rows })).filter(({ rows }) => rows.length > 0)
  if (patched.length > 1 || inserted.some(({ shape, rows }) => toSlices(shape, rows).length > 1)) return undefined
  return { update: patched[0], inserts: inserted }
}

/** Names the table that the error is about, and the row if the server says which. */
function mapCommitError(error: unknown, { update, inserts }: CommitParts): unknown {
  const shapes = [...inserts.map(({ shape }) => shape), ...(update === undefined ? [] : [update.shape])]
  const name = tableOf(
    error,
    shapes.map((shape) => shape.name),
  )
  const inserted = inserts.find(({ shape }) => shape.name === name)
  const shape = inserted?.shape ?? (update?.shape.name === name ? update?.shape : undefined)
  if (shape === undefined) return mapPostgresError(error, {})
  const written = inserted?.rows ?? (update === undefined ? [] : [update.patch.set])
  return mapPostgresError(error, { shape, written, uniqueColumns: uniqueColumnsOf(shape) })
}
