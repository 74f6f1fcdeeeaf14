/** Where a change of the schema is: the place from which its job goes on, and the marks of tables that it takes away. */
import type { CatalogState } from '../catalog/catalog-entries.ts'
import { type Fault, fault, words } from '../errors.ts'
import type { Job } from '../maintenance/job.ts'
import type { Storage } from '../ports/storage.ts'
import type { CatalogTable } from '../schema/catalog-schema.ts'
import { KEPT, type Table } from '../schema/layout.ts'
import type { SchemaTarget } from './change-schema.ts'
import type { FillCounts } from './fill-rows.ts'
import type { RowProblem } from './inspect-rows.ts'
import type { Refusal, TableChange } from './next-schema.ts'
import { refusalOf } from './plan-change.ts'
import type { SucceedCounts } from './succeed-rows.ts'

/** What is about one table. */
export interface OfTable {
  readonly table: Table
}

/** What has been counted at the beginning. */
export const NO_COUNTS = (): FillCounts & SucceedCounts => ({ missing: {}, keyless: {}, unfit: {}, equal: {} })

/** Returns a table without the marks of a change. What it has filled is left over; times of retention are still to be filled. */
export function withoutMarks({ filling = [], leftover = [], columns, ...table }: CatalogTable): CatalogTable {
  const times = filling.filter((cell) => cell.startsWith(KEPT))
  const left = [...leftover, ...filling.filter((cell) => !cell.startsWith(KEPT))]
  const unmarked = Object.entries(columns).map(([name, { requiring: _, ...column }]) => [name, column])
  return {
    ...table,
    columns: Object.fromEntries(unmarked),
    ...(times.length > 0 && { filling: times }),
    ...(left.length > 0 && { leftover: left }),
  }
}

/** Returns a table of which nothing is left to be erased. */
export function withoutCells({ leftover: _, gone, ...table }: CatalogTable): CatalogTable {
  return { ...table, ...(gone !== undefined && { gone: gone.map(({ cells: _, ...one }) => one) }) }
}

/** Returns where an earlier run of this change ended. */
export function placeIn({ place }: Job, { key }: SchemaTarget, phase: string, changes: readonly OfTable[]) {
  const index = changes.findIndex(({ table }) => table.physical.name === place?.table)
  const isPlace = place?.key === key && place.phase === phase && index >= 0
  if (!isPlace) return { index: 0, after: 0, counts: NO_COUNTS() }
  // It was authenticated, so it is what a pass wrote.
  return {
    index,
    after: Number(place.after),
    counts: (place.counts === undefined ? NO_COUNTS() : JSON.parse(String(place.counts))) as FillCounts & SucceedCounts,
  }
}

export function listed(kind: RowProblem['kind'], counts: Readonly<Record<string, number>>): RowProblem[] {
  return Object.entries(counts).map(([column, rows]) => ({ kind, column, rows }))
}

/** Throws while there are legal holds, if the moves erase: what they hold must stay. */
export function assertNotHeld({ holds }: CatalogState, target: SchemaTarget): void {
  if (holds === 0 || !Object.values(target.moves.drop ?? {}).includes('erase')) return
  throw fault(
    'failed_precondition',
  )`There are ${holds} legal holds, and what they hold cannot be erased. Keep the table or column, or end them with vault.holds.lift.`
}

/** True if the moves erase what readers still see until they know of it. */
export function erasesSeen({ moves: { drop = {}, finish = [] } }: SchemaTarget): boolean {
  return finish.length > 0 || Object.values(drop).includes('erase')
}

export function rotating(): Fault {
  return fault(
    'failed_precondition',
  )`Look-up keys are being rotated, and digests of two keys are not compared. Call rotateLookups, which goes on, then this again.`
}

export function refusal({ table, column, reason }: Refusal): Fault {
  return fault('failed_precondition', column === undefined ? { table } : { table, column })`${words(reason)}`
}

/** Throws for a new required column of a table with records. */
export async function assertNoRows(storage: Storage, changes: readonly TableChange[]): Promise<void> {
  for (const change of changes) {
    const [column] = change.requiresNew
    if (column === undefined) continue
    const [rows] = await storage.aggregate(change.table.physical.name, { kind: 'all' }, [{ kind: 'count' }])
    if (Number(rows) > 0) throw refusal(refusalOf(change, { kind: 'new', column: column.name, rows: Number(rows) }))
  }
}
