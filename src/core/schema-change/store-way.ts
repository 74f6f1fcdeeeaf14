/** Stores the schemas on the way of a change: each as the next generation of the catalog, and again from what is stored if another process was first. */
import { OUTDATED } from '../barrier/barrier.ts'
import type { CatalogState } from '../catalog/catalog-entries.ts'
import type { Catalog } from '../catalog/open-catalog.ts'
import { fault } from '../errors.ts'
import type { Job } from '../maintenance/job.ts'
import type { PassPlace } from '../maintenance/row-pass.ts'
import type { Storage } from '../ports/storage.ts'
import { LOCK_MS, lockTries } from '../rotation/rotate-keys.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import type { Schema } from '../schema/define-schema.ts'
import type { Table } from '../schema/layout.ts'
import { attempt } from '../util/attempt.ts'
import type { FillCounts } from './fill-rows.ts'
import { type NextSchema, nextSchema } from './next-schema.ts'
import type { SchemaMoves } from './schema-moves.ts'
import type { SucceedCounts, SucceedPorts } from './succeed-rows.ts'
import { isSame } from './successions.ts'

/** What a change of the schema needs. */
export interface SchemaChangePorts extends SucceedPorts {
  /** Records a step. */
  record(step: 'begun' | 'ended', generation: number): Promise<void>
}

/** The change. */
export interface SchemaTarget {
  readonly schema: Schema
  readonly moves: SchemaMoves
  /** Names the change in the place of its job, so that another one does not go on from there. */
  readonly key: string
  /** Milliseconds between the time when look-ups by a digest end and that when writers no longer store it: longer than readers go by an older schema. */
  readonly settleMs: number
}

/** What is about one table. */
export interface OfTable {
  readonly table: Table
}

/** Returns the way from the schema that is stored now. */
export function wayTo({ state }: Pick<Catalog, 'state'>, { schema, moves }: SchemaTarget): NextSchema {
  const way = nextSchema(state.schema, schema, { moves, isOpening: false })
  const [first] = way.refusals
  if (first === undefined) return way
  const { table, column, reason } = first
  throw fault('failed_precondition', column === undefined ? { table } : { table, column })`${reason}`
}

/** A schema to store. */
interface WayToStore {
  readonly way: NextSchema
  readonly schema: CatalogSchema
  /** The tables whose writers end first, and which no one writes meanwhile. */
  readonly locked: readonly Table[]
  check?(storage: Storage): Promise<void>
}

/** Stores a schema, unless it is the stored one, and again from what is stored then if another process changed the catalog meanwhile. */
export async function storeWay(ports: SchemaChangePorts, job: Job, next: () => Promise<WayToStore>): Promise<NextSchema> {
  const { storage, catalog } = ports
  const moved = { ...OUTDATED, between: () => catalog.reload(storage) }
  const way = await attempt([moved, lockTries(job, 'applySchemaChange')], async () => {
    const from = catalog.state
    const { way, schema, locked, check } = await next()
    if (isSame(schema, from.schema)) return way
    await storeSchema(storage, catalog, {
      from,
      schema,
      locked: [...new Set(locked.map(({ physical }) => physical.name))],
      check,
    })
    return way
  })
  await catalog.reload(storage)
  return way
}

/** A schema to store in place of another one. */
interface SchemaToStore {
  readonly from: CatalogState
  readonly schema: CatalogSchema
  readonly locked: readonly string[]
  readonly check?: ((storage: Storage) => Promise<void>) | undefined
}

/** Stores a schema as the next generation of the catalog. Throws CATALOG_MOVED, and `unavailable` for writers that do not end in time. */
export async function storeSchema(
  storage: Storage,
  catalog: Catalog,
  { from, schema, locked, check }: SchemaToStore,
): Promise<void> {
  await storage.transaction(async (inner) => {
    if (locked.length > 0) await inner.lock({ kind: 'tables', tables: locked, waitMs: LOCK_MS })
    await catalog.store(inner, { from, schema, waitMs: LOCK_MS }, async () => check?.(inner))
  })
}

/** What passes count. It is in their places, because what an earlier run has counted ends the change too. */
type PassCounts = FillCounts & SucceedCounts

/** A table that a phase of the change passes over, and where its pass begins. */
interface TableToPass<T> extends PassPlace {
  readonly change: T
  readonly counts: PassCounts
}

/** Returns the tables that are still to be passed over in a phase, from where an earlier run of this change ended. */
export function tablesToPass<T extends OfTable>(
  { place }: Job,
  { key }: SchemaTarget,
  { phase, changes }: { readonly phase: string; readonly changes: readonly T[] },
): readonly TableToPass<T>[] {
  const index = changes.findIndex(({ table }) => table.physical.name === place?.table)
  const begun = place?.key === key && place.phase === phase && index >= 0 ? place : undefined
  return changes.slice(begun === undefined ? 0 : index).map((change, nth) => {
    const from = nth === 0 ? begun : undefined
    // It was authenticated, so it is what a pass wrote.
    const counts: PassCounts =
      from?.counts === undefined ? { missing: {}, keyless: {}, unfit: {}, equal: {} } : JSON.parse(String(from.counts))
    const table = change.table.physical.name
    return {
      change,
      counts,
      after: Number(from?.after ?? 0),
      placeAt: (after) => ({ key, phase, table, after, counts: JSON.stringify(counts) }),
    }
  })
}
