/** Applies the schema that a vault is opened with: adds tables and columns, refuses changes that would lose or weaken data, and fills new digests. */
import { isVaultError } from '../errors.ts'
import type { PhysicalTable, Storage } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import { assignIds, knownPart } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { type Layout, layoutSchema } from '../schema/layout.ts'
import type { SchemaRules } from '../schema/schema-rules.ts'
import { CATALOG, SYSTEM_TABLES } from '../schema/system-tables.ts'
import { assertOwnKeys } from '../subject-keys/turned-on.ts'
import type { ReportProgress } from '../util/boundary.ts'
import type { Signal } from '../util/signal.ts'
import { assertCanGrow, type DigestsToFill, equalValues, fillDigests, type GrownColumn, grownColumns } from './grown-columns.ts'
import type { Catalog } from './open-catalog.ts'

/** The catalog as it was opened, and the schema the vault is opened with. */
export interface SchemaChange {
  readonly catalog: Catalog
  readonly definition: SchemaDefinition
  /** The rules of the schema. Default: those that are stored. */
  readonly rules?: SchemaRules | undefined
  readonly scheduler: Scheduler
  readonly signal?: Signal | undefined
  readonly report?: ReportProgress
}

/**
 * Returns the layout of the schema, after its tables were prepared. Throws `failed_precondition` that names the column that cannot
 * change, and CATALOG_MOVED if another process changed the catalog first. The stored schema keeps what this one does not have.
 */
export async function applySchema(storage: Storage, { catalog, definition, rules, ...watch }: SchemaChange): Promise<Layout> {
  const { barrier, state } = catalog
  const catalogSchema = assignIds(definition, state.schema, rules)
  const layout = layoutSchema(catalogSchema)
  const before = layoutSchema(state.schema)
  // The stored tables are prepared first, unchanged: the checks below read them, and nothing is added yet.
  await storage.prepare(physicalTables(before))
  if (JSON.stringify(catalogSchema) !== JSON.stringify(state.schema)) {
    await assertOwnKeys(storage, before, catalogSchema.rules)
    const grown = [...layout.tables.values()].flatMap((table) => grownColumns(table, before.tables.get(table.name)))
    for (const growth of grown) await assertCanGrow(storage, barrier, { ...growth, ...watch })
    await prepareGrown(storage, layout)
    const change = async (inner: Storage): Promise<void> => {
      // Writers of these tables end first, and their records are seen below. Later ones wait, and find the next generation.
      await inner.lock({ kind: 'tables', tables: [...new Set(grown.map(({ table }) => table.physical.name))] })
      await catalog.store(inner, { from: state, schema: catalogSchema }, async () => {
        const report = await summedProgress(inner, grown, watch.report)
        for (const growth of grown) {
          await assertCanGrow(inner, barrier, { ...growth, needsDigest: false, ...watch })
          if (growth.needsDigest) await fillDigests(inner, barrier, { ...growth, ...watch, report })
        }
      })
    }
    // Filling a large table takes long, can be aborted, and reports its progress.
    await storage.transaction(change, { takesTurns: true })
    await catalog.reload(storage)
  }
  return layoutSchema(knownPart(definition, catalogSchema), layout)
}

/** Prepares the tables. A unique index of a plain column that records do not allow is reported with the names of the schema, not with those of the storage. */
async function prepareGrown(storage: Storage, layout: Layout): Promise<void> {
  try {
    await storage.prepare(physicalTables(layout))
  } catch (error) {
    const [detail] = isVaultError(error, 'failed_precondition') ? error.details : []
    const table = [...layout.tables.values()].find(({ physical }) => physical.name === detail?.table)
    const column = table?.plain.find(({ plain, unique }) => unique && plain === detail?.column)
    throw table === undefined || column === undefined ? error : equalValues({ table, column })
  }
}

/** Returns a function that adds up the records of all columns to fill, and reports the sum; undefined if the caller does not ask for it. */
async function summedProgress(
  storage: Storage,
  grown: readonly GrownColumn[],
  report: ReportProgress,
): Promise<DigestsToFill['report']> {
  if (report === undefined) return undefined
  let total = 0
  for (const { table, needsDigest } of grown) {
    if (!needsDigest) continue
    const [count] = await storage.aggregate(table.physical.name, { kind: 'all' }, [{ kind: 'count' }])
    total += Number(count)
  }
  let done = 0
  return async (records) => {
    done += records
    await report({ done, total })
  }
}

function physicalTables(layout: Layout): PhysicalTable[] {
  return [CATALOG, ...[...layout.tables.values()].map((table) => table.physical), ...SYSTEM_TABLES]
}
