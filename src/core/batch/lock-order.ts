/**
 * The order in which batches lock what they change, where transactions run beside each other. Two that locked the same rows or unique values in different
 * orders would wait for each other. Source: docs/inside/batches.md.
 */
import { keyOfCell } from '../barrier/digest-values.ts'
import type { OperationContext } from '../execution/context.ts'
import type { Storage } from '../ports/storage.ts'
import type { Layout } from '../schema/layout.ts'
import { type Batch, savepointUnit } from '../unit-of-work/unit-of-work.ts'
import { groupBy } from '../util/lists.ts'
import type { Step } from './batch-step.ts'
import { groupsOf, partsOf } from './group-steps.ts'

/** Returns a function that locks the rows that the steps will change, as `lockRowsOf`. Called again, it does nothing more. */
export function lockOnce<Value>(context: OperationContext, storage: Storage, steps: readonly Step<Value>[]): () => Promise<void> {
  let locking: Promise<void> | undefined
  return () => {
    locking ??= lockRowsOf(context, storage, steps)
    return locking
  }
}

/** Locks the rows that the steps will change, table by table in the order of ids. */
export async function lockRowsOf<Value>(
  context: OperationContext,
  storage: Storage,
  steps: readonly Step<Value>[],
): Promise<void> {
  if (storage.lockRows === undefined) return
  const byTable = new Map<string, Set<number>>()
  const within = { ...context, unit: savepointUnit(storage) }
  for (const [runner, own] of groupBy(steps.filter(changesRow), (step) => step.runner)) {
    for (const { table, ids } of await runner.changedRows(within, own)) {
      const { name } = table.physical
      const locked = byTable.get(name) ?? new Set<number>()
      byTable.set(name, locked)
      for (const id of ids) locked.add(id)
    }
  }
  for (const name of [...byTable.keys()].sort()) await storage.lockRows(name, [...(byTable.get(name) ?? [])])
}

/** True for a step that can change a row that exists: one that names a record, or an upsert. */
function changesRow({ runner, group, record }: Step<unknown>): boolean {
  return runner.method === 'insert' ? group === undefined : runner.method !== 'get' && record !== undefined
}

/** True if the storage locks the rows of all steps at once as they are stored, because they run as one group. */
export function lockTogether(steps: readonly Step<unknown>[]): boolean {
  const changing = steps.filter(changesRow)
  if (changing.length < 2) return true
  if (steps.some(({ reference }) => reference !== undefined)) return false
  const [first] = partsOf(steps)
  return first?.length === steps.length && groupsOf(changing).length === 1
}

/** Returns the rows that several steps insert, table by table, in the order of their unique values. Their ids stay. */
export function inOrderOfValues({ tables }: Layout, batches: readonly Batch[]): Batch[] {
  const uniqueOf = new Map<string, readonly string[]>()
  for (const { physical } of tables.values())
    uniqueOf.set(
      physical.name,
      physical.indexes.flatMap(({ unique, columns }) => (unique ? columns : [])),
    )
  const inOrder = [...batches].sort((left, right) => (left.table < right.table ? -1 : 1))
  return inOrder.map(({ table, rows }) => {
    const unique = uniqueOf.get(table) ?? []
    if (unique.length === 0) return { table, rows }
    const keyed = rows.map((row) => ({ row, key: unique.map((column) => keyOfCell(row[column])).join(' ') }))
    keyed.sort((left, right) => (left.key < right.key ? -1 : 1))
    return { table, rows: keyed.map(({ row }) => row) }
  })
}
