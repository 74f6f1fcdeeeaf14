/** Says what a change of the schema does: its steps, how many rows each is about, how long it takes, who waits meanwhile, and what is refused. Only reads. */
import { print, say } from '../errors.ts'
import { countMatches } from '../pace/pace.ts'
import type { StorageReads } from '../ports/storage.ts'
import { MIN_SETTLE_MS } from '../rotation/rotate-lookups.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import { indexOfCell } from '../schema/column-layout.ts'
import { type Layout, layoutSchema, type Table } from '../schema/layout.ts'
import { append, required } from '../util/lists.ts'
import { inspectTable, type RowProblem } from './inspect-rows.ts'
import { type NextSchema, nextSchema, type Refusal, type TableChange } from './next-schema.ts'
import { type CountOf, planRewriting } from './plan-rewriting.ts'
import { endingTables, endsLookUps, erasesSeen } from './reader-waits.ts'
import type { SchemaPlace } from './schema-moves.ts'
import { NOW, type PlanPorts, type PlanRequest, type SchemaPlan, type SchemaStep, type StepKind, timed } from './schema-plan.ts'

/** Microseconds for each row that is filled, opened or indexed. */
const FILL_US = 25
const READ_US = 10
const INDEX_US = 3
/** The same for a row whose entry in a sealed index is deleted with its block. */
const DROP_US = 1

/** Returns the plan. The storage has the stored tables prepared. */
export async function planChange(ports: PlanPorts, request: PlanRequest): Promise<SchemaPlan> {
  const { stored, next, moves, generation, readsRecords } = request
  const way = nextSchema(stored, next, request)
  const countOf = countEach(ports.storage, way.renamed)
  const steps: SchemaStep[] = way.simple.map((change) => ({ ...NOW, ...change }))
  const refusals: Refusal[] = way.refusals.map(({ reason, ...place }) => ({ ...place, reason: print(reason) }))
  for (const change of way.tables) {
    const rows = await countOf(change.table.name)
    for (const step of stepsOf(change, rows, ports.storage.transactions === 'serial')) steps.push(step)
    const found = readsRecords ? await inspectTable(ports, change, request.signal) : []
    for (const problem of [...newProblems(change, rows), ...found]) refusals.push(refusalOf(change, problem))
  }
  const rewriting = await planRewriting(ports, { way, countOf }, request)
  append(steps, rewriting.steps)
  for (const { table, problem } of rewriting.problems) refusals.push(refusalOf({ table }, problem))
  const leftOut: (SchemaPlace & { rows: number })[] = []
  for (const place of way.leftOut) leftOut.push({ ...place, rows: await countOf(place.table) })
  return {
    from: generation,
    steps,
    refusals,
    leftOut,
    waitsMs: waitsOf(way) * MIN_SETTLE_MS,
    needsNewProcesses: steps.some(({ olderProcesses }) => olderProcesses !== 'work'),
    schema: next,
    moves,
  }
}

/** Returns how often the change waits for readers of before. */
function waitsOf(way: NextSchema): number {
  return [endsLookUps(way), erasesSeen(way.moves), endingTables(way.ended).length > 0].filter(Boolean).length
}

/** Returns what counts the records of the tables of a schema: each table once, and without a layout if none is asked for, as at most openings. */
function countEach(storage: StorageReads, schema: CatalogSchema): CountOf {
  const counts = new Map<string, Promise<number>>()
  let tables: Layout['tables'] | undefined
  return (name) => {
    tables ??= layoutSchema(schema).tables
    const rows = counts.get(name) ?? countMatches(storage, required(tables.get(name)).physical.name)
    counts.set(name, rows)
    return rows
  }
}

/** Returns the steps of a table. Of one without rows all are done at once. An engine with one writer makes it wait while an index is built. */
function stepsOf(change: TableChange, rows: number, isSerial: boolean): SchemaStep[] {
  const { table, fills, indexes, keeps, requires, requiresNew, builds, drops, ends, leftover, unneeded, seals } = change
  const step = (kind: StepKind, column: string | undefined, what: string, us: number): SchemaStep => {
    const said = timed(rows === 0 && kind !== 'erase' ? 'now' : kind, rows, us)
    const blocksWritesMs = kind === 'index' && isSerial ? said.estimateMs : said.blocksWritesMs
    return { ...said, table: table.name, ...(column !== undefined && { column }), what, blocksWritesMs }
  }
  const named = (cells: readonly string[]): string => cells.map((cell) => nameOfCell(change, cell)).join(' and ')
  return [
    ...requiresNew.map((column) => ({
      ...step('check', column.name, REQUIRED, 0),
      olderProcesses: 'cannot write the table' as const,
    })),
    ...requires.map((column) => step('check', column.name, REQUIRED, READ_US)),
    ...fills.map((column) => step('fill', column.name, 'digests are stored', FILL_US)),
    ...indexes.map(({ column }) => step('fill', column.name, 'its values are stored in a sealed index', FILL_US)),
    ...keeps.map(({ column }) => step('fill', column?.name, 'times of retention are stored', FILL_US)),
    ...(seals ? [step('fill', undefined, 'records are sealed with keys of their subjects', FILL_US)] : []),
    ...builds.map(({ columns, unique }) =>
      step('index', named(columns), unique ? 'a unique index is built' : 'an index is built', INDEX_US),
    ),
    ...[...drops, ...unneeded].map(({ columns }) => ({
      ...step('erase', named(columns), 'an index is dropped', 0),
      rows: 0,
    })),
    ...[...ends, ...leftover].map((cell) =>
      indexOfCell(cell) === undefined
        ? step('erase', nameOfCell(change, cell), 'digests are erased', FILL_US)
        : { ...step('erase', indexedColumn(change, cell), 'a sealed index is dropped', DROP_US), rows: 0 },
    ),
  ]
}

const REQUIRED = 'every record must have a value'

/** Returns the name of the column of a physical one, also of one that no layout has any more. */
function nameOfCell({ table }: TableChange, cell: string): string {
  const objectId = Number(cell.split('_')[1])
  return table.columns.find((column) => column.objectId === objectId)?.name ?? cell
}

/** Returns the name of the column whose sealed index has a cell; undefined when it has ended. */
function indexedColumn({ table }: TableChange, cell: string): string | undefined {
  return table.indexed.find(({ index }) => index.cell === cell)?.column.name
}

/** Returns what can be said without reading a record. */
function newProblems({ requiresNew }: TableChange, rows: number): RowProblem[] {
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
