/** A plan of a change of the schema: its steps, and what is refused. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Storage } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import type { Schema } from '../schema/define-schema.ts'
import type { Signal } from '../util/signal.ts'
import type { NextOptions, Refusal } from './next-schema.ts'
import type { SchemaMoves, SchemaPlace } from './schema-moves.ts'

/**
 * What a step does. `now`: one change of the catalog, whatever the records are. `fill`: rows get new cells, by small slices. `check`: rows are read. `index`:
 * the database builds an index. `erase`: cells that no one reads are emptied.
 */
export type StepKind = 'now' | 'fill' | 'check' | 'index' | 'erase'

/** One step of a change. */
export interface SchemaStep {
  readonly kind: StepKind
  /** Absent for a rule of the whole schema. */
  readonly table?: string
  /** Absent for a whole table. */
  readonly column?: string
  /** In a few words. */
  readonly what: string
  /** The rows that it reads or writes, as they are now. */
  readonly rows: number
  /** On an idle machine of 2026, roughly. */
  readonly estimateMs: number
  /** How long a writer of the table can wait for this step, roughly. */
  readonly blocksWritesMs: number
  /**
   * What processes with an older schema can do from this step on. They take part in everything else: they fill what they write, and obey what is required.
   * `read and write the new type`: a value of the type before is `unprocessable` to them where the new type does not take it.
   */
  readonly olderProcesses: 'work' | 'read and write the new type' | 'cannot write the table'
}

/** What a change of the schema would do. It is given to `applySchemaChange`. */
export interface SchemaPlan {
  /** The generation of the catalog that it is of. */
  readonly from: number
  readonly steps: readonly SchemaStep[]
  /** Why it cannot be done. Empty if it can. */
  readonly refusals: readonly Refusal[]
  /** What the schema leaves out: it stays stored, and is not seen. With its number of records. */
  readonly leftOut: readonly (SchemaPlace & { readonly rows: number })[]
  /** Milliseconds that the change waits in all, between its steps, until no reader goes by the older schema. Readers and writers go on meanwhile. */
  readonly waitsMs: number
  /** True if a process with an older schema cannot go on as before. */
  readonly needsNewProcesses: boolean
  /** The schema and the moves that it leads to. */
  readonly schema: Schema
  readonly moves: SchemaMoves
}

/** Milliseconds that one change of the catalog, or one slice of rows, keeps writers waiting. */
const SLICE_MS = 20

/** Returns what is said of a step over rows, each of which takes so many microseconds. */
export function timed(kind: StepKind, rows: number, us: number) {
  const estimateMs = Math.ceil((rows * us) / 1000) + SLICE_MS
  return { kind, rows, estimateMs, blocksWritesMs: SLICE_MS, olderProcesses: 'work' } as const
}

/** What is said of a step that is one change of the catalog. */
export const NOW = timed('now', 0, 0)

/** What a plan is made from. */
export interface PlanPorts {
  readonly storage: Storage
  readonly barrier: Barrier
  readonly scheduler: Scheduler
}

/** What is planned. */
export interface PlanRequest extends NextOptions {
  readonly generation: number
  readonly stored: CatalogSchema
  readonly next: Schema
  /** True to open the records of columns with new requirements: only they say whether the change is refused. */
  readonly readsRecords: boolean
  readonly signal?: Signal | undefined
}
