/** The end of a change of the schema: what no process reads is erased, dropped and forgotten. */
import type { Job } from '../maintenance/job.ts'
import { LOCK_MS, lockTries } from '../rotation/rotate-keys.ts'
import type { CatalogTable } from '../schema/catalog-schema.ts'
import { indexOfCell } from '../schema/column-layout.ts'
import { dropIndexes } from '../sealed-index/merge-due.ts'
import { attempt } from '../util/attempt.ts'
import { nowMs } from '../util/time.ts'
import { cellPasses, tablePass } from './erase-gone.ts'
import { erasePass } from './fill-rows.ts'
import { endingTables, OLDER_READERS } from './reader-waits.ts'
import { type SchemaChangePorts, type SchemaTarget, storeWay, tablesToPass, wayTo } from './store-way.ts'

/** Erases the cells and tables that ended, from where an earlier run ended, and forgets that there were any. */
export async function eraseAll(ports: SchemaChangePorts, job: Job, target: SchemaTarget): Promise<void> {
  const { storage, catalog } = ports
  const { schema } = catalog.state
  const changes = endingTables(schema)
  const goneTables = schema.gone ?? []
  if (changes.length === 0 && goneTables.length === 0) return
  // What says which rows an index has says nothing without it, and goes with its physical column.
  const emptied = ({ cells }: (typeof changes)[number]) => cells.filter(({ name }) => indexOfCell(name) === undefined)
  const passed = changes.filter((change) => change.gone.length + emptied(change).length > 0)
  for (const { change, after, placeAt } of tablesToPass(job, target, { phase: 'erase', changes: passed })) {
    const { cells } = change
    const { physical } = change.table
    const table = { ...change.table, physical: { ...physical, columns: [...physical.columns, ...cells] } }
    await storage.prepare([table.physical])
    const names = emptied(change).map(({ name }) => name)
    await job.pass(erasePass(ports, job, { table, cells: names, after, placeAt }))
  }
  for (const table of goneTables) {
    await storage.prepare([{ name: table.name, columns: [], indexes: [] }])
    await job.pass(tablePass(storage, table, nowMs(ports)))
  }
  const objectIds = [
    ...changes.flatMap(({ gone }) => gone),
    ...goneTables.flatMap((table) => table.objectIds.map((objectId) => ({ objectId }))),
  ]
  for (const pass of cellPasses(
    storage,
    objectIds.map(({ objectId }) => objectId),
  ))
    await job.pass(pass)
  // Readers go by an index, and list a column, for as long as they do not know that it ended. This process knew the columns again while it erased them.
  await storage.prepare(changes.map(({ table }) => table.physical))
  if (changes.length > 0) await job.wait(target.settleMs, OLDER_READERS)
  const spaces = [
    ...changes.flatMap(({ cells }) => cells.flatMap(({ name }) => indexOfCell(name) ?? [])),
    ...goneTables.flatMap((table) => table.objectIds),
  ]
  if (spaces.length > 0) await dropIndexes({ storage, between: () => job.advance({ rows: 0 }) }, spaces)
  await attempt([lockTries(job, 'applySchemaChange')], () =>
    storage.drop(
      [
        { kind: 'tables', tables: goneTables.map(({ name }) => name) },
        ...changes.flatMap(({ table: { physical }, unneeded }) =>
          unneeded.map((index) => ({ kind: 'index', table: physical.name, index }) as const),
        ),
        ...changes.map(
          ({ table: { physical }, cells }) =>
            ({ kind: 'columns', table: physical.name, columns: cells.map(({ name }) => name) }) as const,
        ),
      ],
      { waitMs: LOCK_MS },
    ),
  )
  await storeWay(ports, job, async () => {
    const way = wayTo(catalog, target)
    const { gone: _, ...rest } = way.ended
    const cleared = Object.entries(way.ended.tables).map(([name, table]) => [name, withoutCells(table)])
    return { way, schema: { ...rest, tables: Object.fromEntries(cleared) }, locked: [] }
  })
}

/** Returns a table of which nothing is left to be erased. */
function withoutCells({ leftover: _, unneeded: __, gone, ...table }: CatalogTable): CatalogTable {
  return { ...table, ...(gone !== undefined && { gone: gone.map(({ cells: _, ...one }) => one) }) }
}
