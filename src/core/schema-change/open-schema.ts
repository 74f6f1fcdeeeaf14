/** What the opening of a vault does with the schema it is given: what touches no record, and nothing else, unless it was asked to. */
import { type Barrier, OUTDATED } from '../barrier/barrier.ts'
import { prepareLayout } from '../catalog/live-schema.ts'
import type { Catalog } from '../catalog/open-catalog.ts'
import { fault, words } from '../errors.ts'
import type { Log } from '../ports/observability.ts'
import type { Storage } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { Schema } from '../schema/define-schema.ts'
import { layoutSchema } from '../schema/layout.ts'
import { attempt } from '../util/attempt.ts'
import { nextSchema } from './next-schema.ts'
import { planChange } from './plan-change.ts'
import type { SchemaPlan } from './schema-plan.ts'
import { storeSchema } from './store-way.ts'
import { isSame } from './successions.ts'

/** What an opening does with another schema than the stored one: what touches no record, all of it, or nothing. */
export type SchemaChanges = 'small' | 'apply' | 'refuse'

/** What an opening has. */
export interface OpeningPorts {
  readonly storage: Storage
  readonly catalog: Catalog
  readonly barrier: Barrier
  readonly scheduler: Scheduler
  readonly log: Log | undefined
}

/** The schema to open with. */
export interface SchemaToOpen {
  readonly schema: Schema
  readonly changes: SchemaChanges
  /** Makes a larger change. */
  apply(plan: SchemaPlan): Promise<unknown>
}

/** Prepares the stored tables, and brings the stored schema to the given one. Throws `failed_precondition`, with the steps of the plan in the details, for what takes more than this opening may do. */
export async function openSchema(ports: OpeningPorts, to: SchemaToOpen | undefined): Promise<void> {
  const { storage, catalog, log } = ports
  await prepareLayout(storage, layoutSchema(catalog.state.schema))
  if (to === undefined) return
  const { schema, changes, apply } = to
  const moved = { ...OUTDATED, between: () => catalog.reload(storage) }
  await attempt([moved], async () => {
    const { state } = catalog
    const request = {
      generation: state.generation,
      stored: state.schema,
      next: schema,
      moves: {},
      isOpening: true,
      readsRecords: false,
    }
    const plan = await planChange(ports, request)
    for (const { table, column, rows } of plan.leftOut)
      log?.warn({ table, ...(column !== undefined && { column }), records: rows }, LEFT_OUT)
    if (plan.refusals.length > 0 || plan.steps.some(({ kind }) => kind !== 'now')) {
      if (changes !== 'apply' || plan.refusals.length > 0) throw larger(plan)
      await apply(plan)
    } else if (plan.steps.length > 0) {
      // A new vault has nothing that could be changed.
      if (changes === 'refuse' && Object.keys(state.schema.tables).length > 0) throw larger(plan)
      await storeSmall(ports, schema)
    }
  })
}

const LEFT_OUT = 'stored, and left out of the schema of this process: it is not seen'

/** Stores what touches no record. Tables of which that is true only because they are empty are locked, and looked at again. */
async function storeSmall({ storage, catalog }: OpeningPorts, schema: Schema): Promise<void> {
  const { state: from } = catalog
  const { ended, tables } = nextSchema(from.schema, schema, { moves: {}, isOpening: true })
  if (isSame(ended, from.schema)) return
  await prepareLayout(storage, layoutSchema(ended))
  const empty = tables.map(({ table }) => table.physical.name)
  await storeSchema(storage, catalog, {
    from,
    schema: ended,
    locked: empty,
    async check(inner) {
      for (const name of empty) {
        const found = await inner.find(name, { kind: 'all' }, { order: 'asc', limit: 1, columns: [] })
        if (found.length > 0) throw OUTDATED_PLAN
      }
    },
  })
  await catalog.reload(storage)
}

/** Thrown inside the transaction for a table that is no longer empty: the plan is made again. */
const OUTDATED_PLAN = fault('aborted')`Cannot open the vault: a table got its first record while it was changed. Retry.`

function larger({ steps, refusals }: SchemaPlan) {
  const [first] = refusals
  if (first !== undefined) {
    const { table, column, reason } = first
    return fault(
      'failed_precondition',
      column === undefined ? { table } : { table, column },
    )`Cannot open the vault: ${words(reason)}`
  }
  const details = steps.map(({ table, column, kind, what, rows }) => ({
    ...(table !== undefined && { table }),
    ...(column !== undefined && { column }),
    step: `${kind}: ${what}${rows > 0 ? `, ${rows} rows` : ''}`,
  }))
  return fault(
    'failed_precondition',
    details,
  )`Cannot open the vault: its schema differs from the stored one by more than an opening changes. Run vault.applySchemaChange of a vault that is open with the stored schema, or strongroom schema apply.`
}
