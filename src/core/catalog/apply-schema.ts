/** Applies the schema that a vault is opened with: adds tables and columns, refuses changes that would lose or weaken data, and fills new digests. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent } from '../barrier/digest-values.ts'
import { columnValues } from '../barrier/reveal.ts'
import type { Fault } from '../errors.ts'
import { fault } from '../errors.ts'
import { eachPage } from '../maintenance/each-page.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { PhysicalTable, Storage } from '../ports/storage.ts'
import { assignIds } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { Column, Layout, Table } from '../schema/layout.ts'
import { layoutSchema } from '../schema/layout.ts'
import { SYSTEM_TABLES } from '../schema/system-tables.ts'
import { keyOfBytes } from '../util/bytes.ts'
import { fillDigests } from './fill-digests.ts'
import type { Catalog } from './open-catalog.ts'

/** Thrown if another process changed the catalog meanwhile: it must be opened again. */
export const CATALOG_CHANGED = new Error('another process changed the catalog')

/** The catalog as it was opened, and the schema the vault is opened with. */
export interface SchemaChange {
  readonly catalog: Pick<Catalog, 'schema' | 'store'>
  readonly definition: SchemaDefinition
  readonly scheduler: Scheduler
}

/**
 * Returns the layout of the schema, after its tables were prepared. Throws `failed_precondition` that names the column that cannot
 * change, and CATALOG_CHANGED if another process changed the catalog first. The row of the catalog changes in one transaction with
 * new digests, and before them: if several processes open at once, one fills the digests and the others wait.
 */
export async function applySchema(
  storage: Storage,
  barrier: Barrier,
  { catalog, definition, scheduler }: SchemaChange,
): Promise<Layout> {
  const known = catalog.schema
  const catalogSchema = assignIds(definition, known)
  const layout = layoutSchema(catalogSchema)
  const before = layoutSchema(known)
  // The stored tables are prepared first, unchanged: the checks below read them, and nothing is added yet.
  await storage.prepare(physicalTables(before))
  const grown = [...layout.tables.values()].flatMap((table) => grownColumns(table, before.tables.get(table.name)))
  for (const growth of grown) await assertCanGrow(storage, barrier, growth)
  await storage.prepare(physicalTables(layout))
  if (JSON.stringify(catalogSchema) === JSON.stringify(known)) return layout
  await storage.transaction(async (inner) => {
    if (!(await catalog.store(inner, catalogSchema))) throw CATALOG_CHANGED
    for (const growth of grown) {
      if (growth.needsDigest) await fillDigests(inner, barrier, { ...growth, scheduler, equalValues: () => equalValues(growth) })
    }
  })
  return layout
}

function physicalTables(layout: Layout): PhysicalTable[] {
  return [...[...layout.tables.values()].map((table) => table.physical), ...SYSTEM_TABLES]
}

/** A column that is new in an existing table, or that has new requirements. */
interface GrownColumn {
  readonly table: Table
  readonly column: Column
  readonly isNew: boolean
  /** True for an existing column that stores a digest from now on. */
  readonly needsDigest: boolean
  /** True for an existing column that must have values from now on. */
  readonly isRequired: boolean
}

function grownColumns(table: Table, before: Table | undefined): GrownColumn[] {
  if (before === undefined) return []
  return table.columns.flatMap((column): GrownColumn[] => {
    const was = before.byName.get(column.name)
    if (was === undefined) return [{ table, column, isNew: true, needsDigest: false, isRequired: false }]
    const needsDigest = column.digest !== undefined && was.digest === undefined
    const isRequired = column.required && !was.required
    return needsDigest || isRequired ? [{ table, column, isNew: false, needsDigest, isRequired }] : []
  })
}

/** Throws `failed_precondition` for a change that the stored records do not allow. */
async function assertCanGrow(storage: Storage, barrier: Barrier, growth: GrownColumn): Promise<void> {
  const { table, column, isNew, needsDigest, isRequired } = growth
  if (isNew) {
    const first = column.required ? await storage.find(table.physical.name, { kind: 'all' }, { order: 'asc', limit: 1 }) : []
    if (first.length === 0) return
    throw fault('failed_precondition', {
      table: table.name,
      column: column.name,
    })`Cannot open the vault: new column ${column.name} of table ${table.name} is required, but existing records have no value. Add it as optional, fill it, then require it.`
  }
  const seen = new Set<string>()
  for await (const rows of eachPage(storage, table.physical.name)) {
    const values = columnValues(barrier, table, column, rows)
    if (isRequired && values.includes(null))
      throw fault('failed_precondition', {
        table: table.name,
        column: column.name,
      })`Cannot open the vault: column ${column.name} of table ${table.name} cannot become required: records have no value. Give them one first.`
    if (!needsDigest || !column.unique) continue
    for (const digest of digestPresent(barrier.ring, column, values)) {
      if (digest === undefined) continue
      const key = keyOfBytes(digest)
      if (seen.has(key)) throw equalValues(growth)
      seen.add(key)
    }
  }
}

function equalValues({ table, column }: Pick<GrownColumn, 'table' | 'column'>): Fault {
  return fault('failed_precondition', {
    table: table.name,
    column: column.name,
  })`Cannot open the vault: column ${column.name} of table ${table.name} cannot become unique: records hold equal values. Change them first.`
}
