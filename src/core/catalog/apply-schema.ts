/** Applies the schema a vault is opened with: adds what is new, refuses what would lose or weaken data, and fills new digests. */
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

/** Thrown where another process changed the catalog meanwhile: it must be opened again. */
export const CATALOG_CHANGED = new Error('another process changed the catalog')

/** The catalog as it was opened, and the schema the vault is opened with. */
export interface SchemaChange {
  readonly catalog: Pick<Catalog, 'schema' | 'remember'>
  readonly definition: SchemaDefinition
  readonly scheduler: Scheduler
}

/**
 * The live tables of the schema. Throws `failed_precondition` naming the column that cannot change so; CATALOG_CHANGED where
 * another process was quicker. The catalog's row changes first, in one transaction with the digests that new uniqueness
 * needs: of several processes that open at once, one fills them and the others wait for it.
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
  // The stored tables are prepared first, as they are: the checks below read them, and nothing is added yet.
  await storage.prepare(physicalTables(before))
  const grown = [...layout.tables.values()].flatMap((table) => grownColumns(table, before.tables.get(table.name)))
  for (const growth of grown) await assertCanGrow(storage, barrier, growth)
  await storage.prepare(physicalTables(layout))
  if (JSON.stringify(catalogSchema) === JSON.stringify(known)) return layout
  await storage.transaction(async (inner) => {
    if (!(await catalog.remember(inner, catalogSchema))) throw CATALOG_CHANGED
    for (const growth of grown) {
      if (growth.keepsDigest) await fillDigests(inner, barrier, { ...growth, scheduler, equalValues: () => sharesValues(growth) })
    }
  })
  return layout
}

function physicalTables(layout: Layout): PhysicalTable[] {
  return [...[...layout.tables.values()].map((table) => table.physical), ...SYSTEM_TABLES]
}

/** A column that the schema adds to an existing table, or asks more of than before. */
interface GrownColumn {
  readonly table: Table
  readonly column: Column
  readonly isNew: boolean
  /** True for an existing column that keeps a digest from now on. */
  readonly keepsDigest: boolean
  /** True for an existing column that must have values from now on. */
  readonly isRequired: boolean
}

function grownColumns(table: Table, before: Table | undefined): GrownColumn[] {
  if (before === undefined) return []
  return table.columns.flatMap((column): GrownColumn[] => {
    const was = before.byName.get(column.name)
    if (was === undefined) return [{ table, column, isNew: true, keepsDigest: false, isRequired: false }]
    const keepsDigest = column.digest !== undefined && was.digest === undefined
    const isRequired = column.required && !was.required
    return keepsDigest || isRequired ? [{ table, column, isNew: false, keepsDigest, isRequired }] : []
  })
}

/** Throws for a growth that the stored records do not allow. */
async function assertCanGrow(storage: Storage, barrier: Barrier, growth: GrownColumn): Promise<void> {
  const { table, column, isNew, keepsDigest, isRequired } = growth
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
    if (!keepsDigest || !column.unique) continue
    for (const digest of digestPresent(barrier.ring, column, values)) {
      if (digest === undefined) continue
      const key = keyOfBytes(digest)
      if (seen.has(key)) throw sharesValues(growth)
      seen.add(key)
    }
  }
}

function sharesValues({ table, column }: Pick<GrownColumn, 'table' | 'column'>): Fault {
  return fault('failed_precondition', {
    table: table.name,
    column: column.name,
  })`Cannot open the vault: column ${column.name} of table ${table.name} cannot become unique: records hold equal values. Change them first.`
}
