/** The stored schema of a vault, as an application plans and makes changes of it. */
import { createCatalogFence } from '../catalog/catalog-fence.ts'
import { Fault, fault, say } from '../errors.ts'
import { perform } from '../execution/perform.ts'
import type { Watch } from '../maintenance/job.ts'
import { createJobs, type JobPorts } from '../maintenance/jobs.ts'
import { type SchemaChangeStep, schemaChangeStep } from '../operations/change-schema.ts'
import { VAULT_CALLER } from '../policy/caller.ts'
import type { Hash } from '../ports/crypto.ts'
import { MIN_SETTLE_MS } from '../rotation/rotate-lookups.ts'
import { checkSchema, type Schema } from '../schema/define-schema.ts'
import { changeSchema, refusal } from '../schema-change/change-schema.ts'
import type { OpeningPorts } from '../schema-change/open-schema.ts'
import { planChange } from '../schema-change/plan-change.ts'
import { parseMoves, type SchemaMoves } from '../schema-change/schema-moves.ts'
import type { SchemaPlan, SchemaStep } from '../schema-change/schema-plan.ts'
import type { SchemaChangePorts, SchemaTarget } from '../schema-change/store-way.ts'
import { toHex, toUtf8 } from '../util/bytes.ts'
import { toSlab } from '../util/memory.ts'
import type { WatchOptions } from './outside-calls.ts'
import { assertSettleMs, type KeyPorts } from './vault-keys.ts'

/** Options of `vault.planSchemaChange`. */
export interface PlanSchemaOptions extends Pick<WatchOptions, 'signal'> {
  /** False to open no record: whether records refuse what is required or unique is then not said. Default true. */
  readonly readsRecords?: boolean
}

/** Options of `vault.applySchemaChange`. */
export interface ApplySchemaOptions extends WatchOptions {
  /**
   * Milliseconds of each wait until no reader goes by the older schema. Less than the default only while no other process has the vault open: its readers
   * would miss what ends. Default 15,000.
   */
  readonly settleMs?: number
}

/** The methods for changes of the schema. */
export interface VaultSchema {
  /**
   * Returns what it takes to bring the stored schema to another one: steps, rows, times, who waits, and what is refused and why. `moves` says what two
   * schemas cannot: new names, and the fate of what is left out. Changes nothing. Throws `failed_precondition` for moves that cannot be made. Source:
   * docs/schema-changes.md.
   */
  planSchemaChange(schema: Schema, moves?: SchemaMoves, options?: PlanSchemaOptions): Promise<SchemaPlan>
  /**
   * Makes the change of a plan, beside readers and writers, and returns the generation of the catalog after it. Ended early, by an error, an abort or a kill,
   * the same call goes on, in any process. Throws `failed_precondition` for a plan with refusals, for records that came meanwhile and do not allow it, and
   * while a change runs in another process; `aborted` if the stored schema is no longer the one of the plan; `unavailable` and `cancelled`.
   */
  applySchemaChange(plan: SchemaPlan, options?: ApplySchemaOptions): Promise<{ readonly generation: number }>
}

export function createVaultSchema(ports: KeyPorts & Pick<SchemaChangePorts, 'barrier' | 'indexNotes'>): VaultSchema {
  const { storage, catalog, hash, outside, jobs, contextOf } = ports
  const planned = async (
    next: Schema,
    moves: SchemaMoves,
    reading: Pick<Parameters<typeof planChange>[1], 'readsRecords' | 'signal'>,
  ) => {
    await catalog.reload(storage)
    const { generation, schema: stored } = catalog.state
    return planChange(ports, { generation, stored, next, moves, isOpening: false, ...reading })
  }
  return {
    planSchemaChange: (schema, moves, given) =>
      outside.watch({ verb: 'Plan', given, others: ['readsRecords'] }, ({ signal }, { readsRecords = true }) =>
        planned(checkSchema(schema?.tables, schema?.rules), parseMoves(moves), { readsRecords, signal }),
      ),
    applySchemaChange: (plan, given) =>
      outside.watch(
        { verb: 'The change of the schema', given, others: ['settleMs'] },
        async (watch, { settleMs = MIN_SETTLE_MS }) => {
          assertSettleMs(settleMs, 0)
          const schema = checkSchema(plan?.schema?.tables, plan?.schema?.rules)
          const moves = parseMoves(plan.moves)
          assertPlanned(plan, await planned(schema, moves, { readsRecords: false, signal: watch.signal }))
          const changing = {
            ...ports,
            record: (step: 'begun' | 'ended', generation: number) =>
              perform(contextOf(VAULT_CALLER), schemaChangeStep, { step, generation }),
          }
          return jobs.run({ kind: 'changeSchema', exclusive: true }, watch, (job) =>
            changeSchema(changing, job, { ...targetOf(hash, schema, moves), settleMs }),
          )
        },
      ),
  }
}

function targetOf(hash: Hash, schema: Schema, moves: SchemaMoves): SchemaTarget {
  const key = toHex(hash.sha256(toSlab([toUtf8(JSON.stringify([schema, moves]))])))
  return { schema, moves, key, settleMs: MIN_SETTLE_MS }
}

/** Returns what makes the change of a plan while a vault is opened. What is to be recorded is added to `steps`, because no event can be stored yet. */
export function applyAtOpening(
  ports: OpeningPorts & Omit<JobPorts, 'catalog'> & Pick<KeyPorts, 'hash'>,
  watch: Watch,
  steps: SchemaChangeStep[],
): (plan: SchemaPlan) => Promise<unknown> {
  const { catalog, hash } = ports
  return ({ schema, moves }) => {
    const jobs = createJobs({ ...ports, catalog: createCatalogFence(catalog, { part: catalog.state.schema }) })
    const changing = {
      ...ports,
      record: async (step: SchemaChangeStep['step'], generation: number) => void steps.push({ step, generation }),
    }
    const target = targetOf(hash, schema, moves)
    const changed = jobs.run({ kind: 'changeSchema', exclusive: true }, watch, (job) => changeSchema(changing, job, target))
    return changed.catch((error: unknown) => {
      throw Fault.isFault(error) ? Fault.within(say`Cannot open the vault:`, error, error.details) : error
    })
  }
}

/** Throws for a plan with refusals, and for one that says nothing of a step that would be done now. */
function assertPlanned(plan: SchemaPlan, now: SchemaPlan): void {
  const [first] = [...plan.refusals, ...now.refusals]
  if (first !== undefined) throw refusal(first)
  // What a column had is named by its table once the column has it no more.
  const known = new Set(plan.steps.flatMap((step) => [keyOf(step), keyOf({ ...step, column: undefined })]))
  if (now.steps.every((step) => known.has(keyOf(step)))) return
  throw fault('aborted')`The stored schema was changed since this plan was made. Plan again.`
}

function keyOf({ table, column, what }: Pick<SchemaStep, 'table' | 'what'> & { readonly column?: string | undefined }): string {
  return JSON.stringify([table, column, what])
}
