/** Finds the subjects that records belong to, upwards along the relations of the schema, by ids and look-up columns. */
import { allLookupCells, keyOfCell } from '../barrier/digest-values.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import { columnValues } from '../barrier/reveal.ts'
import { fault } from '../errors.ts'
import { eachPage } from '../pace/pace.ts'
import type { StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { originOf, type SubjectDefinition, type SubjectRelation } from '../schema/subjects.ts'
import { present, required } from '../util/lists.ts'

/** The rows of one table that lead to others: each with the rows of the first table that it was reached from. */
type Origins = Map<number, Set<number>>

/** More steps than a schema allows: it has no cycle. */
const MAX_STEPS = 16

/**
 * Returns the rows of the table of a subject that these rows belong to, each with those rows. Throws `failed_precondition` if the schema of this process
 * lacks a relation of the stored one: what a record belongs to would be unknown.
 */
export async function subjectsOfRows(
  storage: StorageReads,
  context: Pick<ReadingContext, 'barrier' | 'layout'>,
  subject: SubjectDefinition,
  { table, rows }: { readonly table: Table; readonly rows: readonly number[] },
): Promise<Origins> {
  const roots: Origins = new Map()
  let level = new Map([[table.name, new Map(rows.map((row) => [row, new Set([row])]))]])
  for (let step = 0; step < MAX_STEPS && level.size > 0; step++) {
    merge(roots, level.get(subject.table) ?? new Map())
    const next = new Map<string, Origins>()
    for (const relation of subject.relations ?? []) {
      const own = level.get(relation.table)
      if (own === undefined) continue
      const { parent, rowsOf } = await parentsOf(storage, context, relation, [...own.keys()])
      const reached = next.get(parent) ?? new Map()
      for (const [child, parents] of rowsOf) {
        for (const row of parents) merge(reached, new Map([[row, required(own.get(child))]]))
      }
      if (reached.size > 0) next.set(parent, reached)
    }
    level = next
  }
  return roots
}

function merge(into: Origins, from: Origins): void {
  for (const [row, origins] of from) {
    const known = into.get(row)
    if (known === undefined) into.set(row, new Set(origins))
    else for (const origin of origins) known.add(origin)
  }
}

/** The table that a relation leads to, and the rows there of each row. */
interface Parents {
  readonly parent: string
  readonly rowsOf: ReadonlyMap<number, readonly number[]>
}

async function parentsOf(
  storage: StorageReads,
  { barrier, layout: { tables } }: Pick<ReadingContext, 'barrier' | 'layout'>,
  relation: SubjectRelation,
  rows: readonly number[],
): Promise<Parents> {
  const child = known(tables.get(relation.table), relation.table)
  const stored = present(await storage.get(child.physical.name, rows))
  const values = columnValues(barrier, child, known(child.byName.get(relation.column), child.name), stored)
  const held = stored.flatMap(({ id }, index) => (values[index] === null ? [] : [{ id, value: values[index] }]))
  const origin = originOf(relation)
  const parent = known(tables.get(origin.table), origin.table)
  if (origin.column === undefined) {
    const ids = decodeRecordIds(
      barrier.ring,
      parent,
      held.map(({ value }) => String(value)),
    )
    return { parent: parent.name, rowsOf: new Map(held.map(({ id }, index) => [id, present([ids[index]])])) }
  }
  const column = known(parent.byName.get(origin.column), parent.name)
  return { parent: parent.name, rowsOf: await equalRows(storage, { barrier }, { parent, column, held }) }
}

/** Values of rows, and the column that has the same ones. */
interface Equality {
  readonly parent: Table
  readonly column: Column
  readonly held: readonly { readonly id: number; readonly value: unknown }[]
}

/** Returns the rows that have the value of each row in a look-up column. */
async function equalRows(
  storage: StorageReads,
  { barrier: { ring } }: Pick<ReadingContext, 'barrier'>,
  { parent, column, held }: Equality,
): Promise<ReadonlyMap<number, readonly number[]>> {
  const lookup = known(column.lookup, parent.name)
  const found = new Map<number, number[]>(held.map(({ id }) => [id, []]))
  const idsByCell = new Map<string, number[]>()
  const cells = held.flatMap(({ id, value }) => {
    const own = allLookupCells(ring, column, [value])
    for (const cell of own) idsByCell.set(keyOfCell(cell), [...(idsByCell.get(keyOfCell(cell)) ?? []), id])
    return own
  })
  if (cells.length === 0) return found
  const filter = { kind: 'in', column: lookup, values: cells } as const
  for await (const rows of eachPage(storage, parent.physical.name, { filter, columns: [lookup] })) {
    for (const row of rows) for (const id of idsByCell.get(keyOfCell(row[lookup])) ?? []) required(found.get(id)).push(row.id)
  }
  return found
}

function known<T>(found: T | undefined, table: string): T {
  if (found !== undefined) return found
  throw fault('failed_precondition', {
    table,
  })`Legal holds cannot be checked: the schema of this process lacks what a subject of the stored one names in table ${table}. Restart the process with the new schema.`
}
