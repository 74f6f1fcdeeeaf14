/** Says what a change of the schema does: its steps, how many rows each is about, how long it takes, who waits meanwhile, and what is refused. Only reads. */
import type { Barrier } from '../barrier/barrier.ts'
import { print, say } from '../errors.ts'
import type { Storage, StorageReads } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import type { Schema } from '../schema/define-schema.ts'
import { layoutSchema, type Table } from '../schema/layout.ts'
import { append } from '../util/lists.ts'
import type { Signal } from '../util/signal.ts'
import { inspectTable, type RowProblem } from './inspect-rows.ts'
import { type NextOptions, type NextSchema, nextSchema, type Refusal, type TableChange } from './next-schema.ts'
import { planRewriting } from './plan-rewriting.ts'
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
  /** What processes with an older schema can do from this step on. They take part in everything else: they fill what they write, and obey what is required. */
  readonly olderProcesses: 'work' | 'cannot write the table'
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
  /** True if a process with an older schema cannot go on as before. */
  readonly needsNewProcesses: boolean
  /** The schema and the moves that it leads to. */
  readonly schema: Schema
  readonly moves: SchemaMoves
}

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

/** Microseconds for each row that is filled, opened or indexed. */
const FILL_US = 25
const READ_US = 10
const INDEX_US = 3
/** Milliseconds that one change of the catalog, or one slice of rows, keeps writers waiting. */
const SLICE_MS = 20

/** Returns the plan. The storage has the stored tables prepared. */
export async function planChange(ports: PlanPorts, request: PlanRequest): Promise<SchemaPlan> {
  const { stored, next, moves, generation, readsRecords } = request
  const way = nextSchema(stored, next, request)
  const steps: SchemaStep[] = way.simple.map((change) => nowStep(change))
  const refusals: Refusal[] = way.refusals.map(({ reason, ...place }) => ({ ...place, reason: print(reason) }))
  for (const change of way.tables) {
    const rows = await count(ports.storage, change.was)
    for (const step of stepsOf(change, rows)) steps.push(step)
    const problems = readsRecords ? await inspectTable(ports, change, request.signal) : cheapProblems(change, rows)
    for (const problem of problems) refusals.push(refusalOf(change, problem))
  }
  const rewriting = await planRewriting(ports, way, request)
  append(steps, rewriting.steps)
  for (const { table, problem } of rewriting.problems) refusals.push(refusalOf({ table }, problem))
  return {
    from: generation,
    steps,
    refusals,
    leftOut: await countLeftOut(ports.storage, way),
    needsNewProcesses: steps.some(({ olderProcesses }) => olderProcesses !== 'work'),
    schema: next,
    moves,
  }
}

function nowStep(place: { readonly table?: string; readonly column?: string; readonly what: string }): SchemaStep {
  return { kind: 'now', ...place, rows: 0, estimateMs: SLICE_MS, blocksWritesMs: SLICE_MS, olderProcesses: 'work' }
}

/** Returns the steps of a table. Of one without rows all are done at once. */
function stepsOf(change: TableChange, rows: number): SchemaStep[] {
  const { table, fills, keeps, requires, requiresNew, builds, drops, ends, leftover, seals } = change
  const step = (kind: StepKind, column: string | undefined, what: string, us: number): SchemaStep => ({
    kind: rows === 0 && kind !== 'erase' ? 'now' : kind,
    table: table.name,
    ...(column !== undefined && { column }),
    what,
    rows,
    estimateMs: Math.ceil((rows * us) / 1000) + SLICE_MS,
    blocksWritesMs: kind === 'index' ? Math.ceil((rows * us) / 1000) + SLICE_MS : SLICE_MS,
    olderProcesses: kind === 'check' && what === REQUIRED ? 'work' : 'work',
  })
  const named = (cells: readonly string[]): string => cells.map((cell) => nameOfCell(change, cell)).join(' and ')
  return [
    ...requiresNew.map((column) => ({
      ...step('check', column.name, REQUIRED, 0),
      olderProcesses: 'cannot write the table' as const,
    })),
    ...requires.map((column) => step('check', column.name, REQUIRED, READ_US)),
    ...fills.map((column) => step('fill', column.name, 'digests are stored', FILL_US)),
    ...keeps.map(({ column }) => step('fill', column?.name, 'times of retention are stored', FILL_US)),
    ...(seals ? [step('fill', undefined, 'records are sealed with keys of their subjects', FILL_US)] : []),
    ...builds.map(({ columns, unique }) =>
      step('index', named(columns), unique ? 'a unique index is built' : 'an index is built', INDEX_US),
    ),
    ...drops.map(({ columns }) => ({
      ...step('erase', named(columns), 'an index is dropped', 0),
      rows: 0,
    })),
    ...[...ends, ...leftover].map((cell) => step('erase', nameOfCell(change, cell), 'digests are erased', FILL_US)),
  ]
}

const REQUIRED = 'every record must have a value'

/** Returns the name of the column of a physical one, also of one that no layout has any more. */
function nameOfCell({ table }: TableChange, cell: string): string {
  const objectId = Number(cell.split('_')[1])
  return table.columns.find((column) => column.objectId === objectId)?.name ?? cell
}

/** Returns what can be said without opening a record. */
function cheapProblems({ requiresNew }: TableChange, rows: number): RowProblem[] {
  return rows === 0 ? [] : requiresNew.map((column) => ({ kind: 'new', column: column.name, rows }))
}

/** Returns why records refuse a change. */
export function refusalOf(
  { table: { name: table } }: { readonly table: Pick<Table, 'name'> },
  { kind, column, rows }: RowProblem,
): Refusal {
  return { table, column, reason: print(sentenceOf({ kind, table, column, rows })) }
}

function sentenceOf({ kind, table, column, rows }: RowProblem & { readonly table: string }) {
  switch (kind) {
    case 'new':
      return say`new column ${column} of table ${table} is required, but ${rows} existing records have no value. Add it as optional, fill it, then require it.`
    case 'null':
      return say`column ${column} of table ${table} cannot become required: ${rows} records have no value. Give them one first.`
    case 'equal':
      return say`column ${column} of table ${table} cannot become unique: ${rows} records hold a value that another one holds. Change them first.`
    case 'unfit':
      return say`column ${column} of table ${table} cannot change: the values of ${rows} records are none of its new type, or not what its new rules and tokens take. Change them first.`
    case 'keyless':
      return say`column ${column} of table ${table} cannot get digests: its normalizers leave nothing of the texts of ${rows} records. Change them first.`
  }
}

async function countLeftOut(storage: StorageReads, { renamed, leftOut }: NextSchema): Promise<SchemaPlan['leftOut']> {
  const { tables } = layoutSchema(renamed)
  const counts = new Map<string, number>()
  for (const { table } of leftOut) {
    const found = tables.get(table)
    if (found !== undefined && !counts.has(table)) counts.set(table, await count(storage, found))
  }
  return leftOut.map((place) => ({ ...place, rows: counts.get(place.table) ?? 0 }))
}

async function count(storage: Pick<StorageReads, 'aggregate'>, { physical }: Table): Promise<number> {
  const [rows] = await storage.aggregate(physical.name, { kind: 'all' }, [{ kind: 'count' }])
  return Number(rows)
}
