/** Says what a change of the schema does: its steps, how many rows each is about, how long it takes, who waits meanwhile, and what is refused. Only reads. */
import { print, say } from '../errors.ts'
import type { StorageReads } from '../ports/storage.ts'
import { layoutSchema, type Table } from '../schema/layout.ts'
import { append } from '../util/lists.ts'
import { inspectTable, type RowProblem } from './inspect-rows.ts'
import { type NextSchema, nextSchema, type Refusal, type TableChange } from './next-schema.ts'
import { planRewriting } from './plan-rewriting.ts'
import type { PlanPorts, PlanRequest, SchemaPlan, SchemaStep, StepKind } from './schema-plan.ts'

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
    for (const step of stepsOf(change, rows, ports.storage.transactions === 'serial')) steps.push(step)
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

/** Returns the steps of a table. Of one without rows all are done at once. An engine with one writer makes it wait while an index is built. */
function stepsOf(change: TableChange, rows: number, isSerial: boolean): SchemaStep[] {
  const { table, fills, keeps, requires, requiresNew, builds, drops, ends, leftover, unneeded, seals } = change
  const step = (kind: StepKind, column: string | undefined, what: string, us: number): SchemaStep => ({
    kind: rows === 0 && kind !== 'erase' ? 'now' : kind,
    table: table.name,
    ...(column !== undefined && { column }),
    what,
    rows,
    estimateMs: Math.ceil((rows * us) / 1000) + SLICE_MS,
    blocksWritesMs: kind === 'index' && isSerial ? Math.ceil((rows * us) / 1000) + SLICE_MS : SLICE_MS,
    olderProcesses: 'work',
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
    ...[...drops, ...unneeded].map(({ columns }) => ({
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
      return say`column ${column} of table ${table} cannot change: ${rows} records have values that its new type, rules or tokens do not take. Change them first.`
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
