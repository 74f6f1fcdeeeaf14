/** Changes the stored schema beside readers and writers. Ended at any point, by an error, an abort or a kill, the same call goes on. */
import { retryingBarrier } from '../barrier/barrier.ts'
import { keptCells } from '../barrier/kept-times.ts'
import type { CatalogState } from '../catalog/catalog-entries.ts'
import { prepareLayout } from '../catalog/live-schema.ts'
import { type Fault, fault, isVaultError, words } from '../errors.ts'
import type { Job } from '../maintenance/job.ts'
import { countMatches, countRows } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import { ownKeysPass } from '../records/own-keys-pass.ts'
import { LOCK_MS, lockTries } from '../rotation/rotate-keys.ts'
import type { CatalogTable } from '../schema/catalog-schema.ts'
import { KEPT, layoutSchema } from '../schema/layout.ts'
import { ownersOf, subjectsWithKeys } from '../schema/own-keys.ts'
import { assertKeysAreHere } from '../subject-keys/key-rows.ts'
import { attempt } from '../util/attempt.ts'
import { nowMs } from '../util/time.ts'
import { eraseAll } from './erase-ended.ts'
import { digestCells, fillPass } from './fill-rows.ts'
import { findEqual, type RowProblem } from './inspect-rows.ts'
import { lateBuilds, marksOf, type NextSchema, type Refusal, type TableChange } from './next-schema.ts'
import { refusalOf } from './plan-change.ts'
import { endsLookUps, erasesSeen, OLDER_READERS } from './reader-waits.ts'
import { placeOf } from './schema-moves.ts'
import { withoutIndex } from './sealed-indexes.ts'
import { type OfTable, type SchemaChangePorts, type SchemaTarget, storeWay, tablesToPass, wayTo } from './store-way.ts'
import { succeedPass } from './succeed-rows.ts'
import { isSame, withSuccessors } from './successions.ts'

/** Changes the schema, and returns the generation of the catalog after it. Throws `failed_precondition` if stored records do not allow it: marks of the change are taken back then. */
export async function changeSchema(
  ports: SchemaChangePorts,
  job: Job,
  target: SchemaTarget,
): Promise<{ readonly generation: number }> {
  const { storage, catalog } = ports
  await catalog.reload(storage)
  const way = await begin(ports, job, target)
  // Readers that go by an older schema do not compare it with the stored one for so long. What they read ends only after that.
  if (endsLookUps(way)) await job.wait(target.settleMs, OLDER_READERS)
  job.expect(await countPasses(storage, way))
  await fillAll(ports, job, { way, target })
  await succeedAll(ports, job, { way, target })
  await refuseFor(ports, job, way, await buildIndexes(ports, job, way))
  await sealAll(ports, job, way)
  await end(ports, job, target)
  if (erasesSeen(target.moves)) await job.wait(target.settleMs, OLDER_READERS)
  await eraseAll(ports, job, target)
  const { generation } = catalog.state
  await ports.record('ended', generation)
  return { generation }
}

/** Stores the marks of the change, and what needs no more than that: from then on all writers do what the new schema needs. */
async function begin(ports: SchemaChangePorts, job: Job, target: SchemaTarget): Promise<NextSchema> {
  const { storage, catalog } = ports
  const before = catalog.state
  const way = await storeWay(ports, job, async () => {
    const way = wayTo(catalog, target)
    assertNotHeld(catalog.state, target)
    await prepareLayout(storage, layoutSchema(way.begun), BESIDE)
    const [had, has] = [catalog.state.schema, way.begun].map(({ rules }) => subjectsWithKeys(rules).size > 0)
    if (has === true) await assertKeysAreHere(storage, ports.barrier, had !== true)
    // Writers that began before commit first: what they wrote is seen by the passes.
    const marked = way.tables.filter(
      ({ fills, indexes, keeps, requires, requiresNew, ends, seals }) =>
        seals || [fills, indexes, keeps, requires, requiresNew, ends].some(({ length }) => length > 0),
    )
    const succeeding = layoutSchema(way.renamed)
    const locked = [
      ...marked.map(({ table }) => table),
      ...way.successions.flatMap(({ table }) => succeeding.tables.get(table) ?? []),
    ]
    return { way, schema: way.begun, locked, check: (inner) => assertNoRows(inner, marked) }
  })
  if (catalog.state !== before) await ports.record('begun', catalog.state.generation)
  return way
}

/** Throws for a new required column of a table with records. */
async function assertNoRows(storage: Storage, changes: readonly TableChange[]): Promise<void> {
  for (const change of changes) {
    const [column] = change.requiresNew
    if (column === undefined) continue
    const rows = await countMatches(storage, change.table.physical.name)
    if (rows > 0) throw refusal(refusalOf(change, { kind: 'new', column: column.name, rows }))
  }
}

async function countPasses(storage: Storage, { tables }: NextSchema): Promise<number | undefined> {
  const filled = tables.filter(isFilled)
  const erased = tables.filter(({ ends, leftover }) => ends.length + leftover.length > 0)
  const sealed = tables.filter(({ seals }) => seals)
  return countRows(
    storage,
    [...filled, ...erased, ...sealed].map(({ table }) => ({ table: table.physical.name })),
  )
}

function isFilled({ fills, indexes, keeps, requires }: TableChange): boolean {
  return fills.length + indexes.length + keeps.length + requires.length > 0
}

/** The change, and its way. */
interface Filling {
  readonly way: NextSchema
  readonly target: SchemaTarget
}

/** Fills the cells of all rows, from where an earlier run ended. Takes the marks back and throws for records that are in the way. */
async function fillAll(ports: SchemaChangePorts, job: Job, { way, target }: Filling): Promise<void> {
  const barrier = retryingBarrier(ports.barrier)
  const changes = way.tables.filter(isFilled)
  const now = nowMs(ports)
  for (const { change, ...place } of tablesToPass(job, target, { phase: 'fill', changes })) {
    const { table, fills, indexes, keeps, requires } = change
    const cells = [...digestCells(barrier, fills), ...keeps.map((kept) => keptCells(kept, now))]
    await job.pass(fillPass({ ...ports, barrier }, job, { ...place, table, cells, indexes, required: requires, keyed: fills }))
    const { missing, keyless } = place.counts
    await refuseFor(ports, job, way, new Map([[change, [...listed('null', missing), ...listed('keyless', keyless)]]]))
  }
}

/** Seals records with keys of their subjects, from the first table on: those that are sealed so are only read. Each table comes after those that it refers to. */
async function sealAll({ storage, catalog, barrier }: SchemaChangePorts, job: Job, { tables }: NextSchema): Promise<void> {
  const { schema } = catalog.state
  const layout = layoutSchema(schema)
  for (const name of ownersOf(schema.rules).keys()) {
    const table = layout.tables.get(name)
    const seals = tables.some((change) => change.table.name === name && change.seals)
    if (table !== undefined && seals) await job.pass(ownKeysPass(storage, { barrier: retryingBarrier(barrier), layout }, table))
  }
}

function listed(kind: RowProblem['kind'], counts: Readonly<Record<string, number>>): RowProblem[] {
  return Object.entries(counts).map(([column, rows]) => ({ kind, column, rows }))
}

/** Builds the indexes of the new schema. Returns the unique ones that records do not allow. */
async function buildIndexes(
  ports: SchemaChangePorts,
  job: Job,
  way: NextSchema,
): Promise<Map<TableChange, readonly RowProblem[]>> {
  const layout = layoutSchema(way.ended)
  const begun = layoutSchema(way.begun)
  const problems = new Map<TableChange, readonly RowProblem[]>()
  try {
    // This process goes on writing what it wrote until the new schema is stored.
    const tables = [...layout.tables.values()].map(({ name, physical }) => ({
      ...physical,
      columns: begun.tables.get(name)?.physical.columns ?? physical.columns,
    }))
    await keptMeanwhile(job, ports.storage.prepare(tables, BESIDE))
  } catch (error) {
    if (!isVaultError(error, 'failed_precondition')) throw error
    for (const change of way.tables) {
      const found = await findEqual(ports, layout.tables.get(change.table.name) ?? change.table, change.builds)
      if (found.length > 0) problems.set(change, found)
    }
    if (problems.size === 0) throw error
  }
  return problems
}

/** Writers of a table go on while its index is built, where the engine can. */
const BESIDE = { besideWriters: true } as const
/** Milliseconds between two looks at whether the database has built the indexes. */
const LOOK_MS = 20

/** Waits for work of the database, and keeps the row of the job meanwhile. An abort ends the job when that work has ended. */
async function keptMeanwhile(job: Job, work: Promise<void>): Promise<void> {
  let isOver = false
  const keep = async () => {
    while (!isOver) await job.wait(LOOK_MS)
  }
  const over = work.finally(() => {
    isOver = true
  })
  for (const result of await Promise.allSettled([over, keep()])) if (result.status === 'rejected') throw result.reason
}

/** Takes the marks back and throws, if there are problems. */
async function refuseFor(
  ports: SchemaChangePorts,
  job: Job,
  way: NextSchema,
  problems: ReadonlyMap<OfTable, readonly RowProblem[]>,
): Promise<void> {
  const refusals = [...problems].flatMap(([change, found]) => found.map((problem) => refusalOf(change, problem)))
  const [first] = refusals
  if (first === undefined) return
  // A unique index that was built keeps equal values out, though no schema says so.
  const built = way.tables.flatMap((change) =>
    lateBuilds(change).map((index) => ({ kind: 'index', table: change.table.physical.name, index }) as const),
  )
  await attempt([lockTries(job, 'applySchemaChange')], () => ports.storage.drop(built, { waitMs: LOCK_MS }))
  const changed = new Map(way.tables.map((change) => [change.table.objectId, change]))
  await storeWay(ports, job, async () => {
    const schema = withSuccessors(ports.catalog.state.schema, [])
    const tables = Object.entries(schema.tables).map(([name, table]) => [name, takenBack(table, changed.get(table.objectId))])
    return { way, schema: { ...schema, tables: Object.fromEntries(tables) }, locked: [] }
  })
  // When records have been changed, the same call begins anew.
  await ports.storage.transaction((inner) => job.savePlace(inner, { key: '' }))
  await job.advance({ rows: 0, done: 0 })
  throw refusal(first)
}

/** Returns the error of a change that is refused. */
export function refusal({ table, column, reason }: Refusal): Fault {
  return fault('failed_precondition', column === undefined ? { table } : { table, column })`${words(reason)}`
}

/** Gives all rows their hidden cells, from where an earlier run ended. Takes the marks back and throws for values that cannot take their new form. */
async function succeedAll(ports: SchemaChangePorts, job: Job, { way, target }: Filling): Promise<void> {
  const layout = layoutSchema(ports.catalog.state.schema)
  const names = new Set(way.successions.map(({ table }) => table))
  const changes = [...layout.tables.values()].filter(({ name }) => names.has(name)).map((table) => ({ table }))
  // What was taken back and begun again is another column, whose rows have none of its cells yet.
  const hidden = changes.flatMap(({ table }) => table.written?.hidden ?? [])
  const phase = `succeed ${hidden.map(({ column }) => column.objectId).join()}`
  for (const { change, ...place } of tablesToPass(job, target, { phase, changes })) {
    const { written } = change.table
    if (written === undefined) continue
    const succeeding = { ...place, table: change.table, written, layout }
    await job.pass(succeedPass({ ...ports, barrier: retryingBarrier(ports.barrier) }, job, succeeding))
    const { unfit, equal } = place.counts
    await refuseFor(ports, job, way, new Map([[change, [...listed('unfit', unfit), ...listed('equal', equal)]]]))
  }
}

/** Returns a table with the marks of a change of it taken back. What was filled is left over; times of retention are still to be filled. */
function takenBack(stored: CatalogTable, change: TableChange | undefined): CatalogTable {
  if (change === undefined) return stored
  const { filling = [], leftover = [], unneeded = [], keying = false, columns, ...table } = stored
  const times = filling.filter((cell) => cell.startsWith(KEPT))
  const left = [...leftover, ...filling.filter((cell) => !cell.startsWith(KEPT))]
  const others = unneeded.filter((index) => !lateBuilds(change).some((one) => isSame(one, index)))
  const ended = new Set(left)
  const unmarked = Object.entries(columns).map(([name, { requiring: _, ...column }]) => [name, withoutIndex(column, ended)])
  return {
    ...table,
    columns: Object.fromEntries(unmarked),
    ...marksOf({ filling: times, leftover: left, unneeded: others, keying }),
  }
}

/** Stores the new schema: from then on readers go by it too. */
async function end(ports: SchemaChangePorts, job: Job, target: SchemaTarget): Promise<void> {
  await storeWay(ports, job, async () => {
    const { state } = ports.catalog
    if (state.digestVersion !== state.lookupVersion) throw rotating()
    assertNotHeld(state, target)
    const way = wayTo(ports.catalog, target)
    const { tables } = layoutSchema(way.renamed)
    // Writers that store what ends commit first, so that it is erased.
    const ending = [
      ...way.tables.filter(({ ends }) => ends.length > 0).map(({ table }) => table),
      ...way.successions.flatMap(({ table }) => tables.get(table) ?? []),
      ...Object.keys(way.moves.drop ?? {}).flatMap((path) => tables.get(placeOf(path).table) ?? []),
    ]
    return { way, schema: way.ended, locked: ending }
  })
}

/** Throws while there are legal holds, if the moves erase: what they hold must stay. */
function assertNotHeld({ holds }: CatalogState, target: SchemaTarget): void {
  if (holds === 0 || !Object.values(target.moves.drop ?? {}).includes('erase')) return
  throw fault(
    'failed_precondition',
  )`There are ${holds} legal holds, and what they hold cannot be erased. Keep the table or column, or end them with vault.holds.lift.`
}

function rotating(): Fault {
  return fault(
    'failed_precondition',
  )`Look-up keys are being rotated, and digests of two keys are not compared. Call rotateLookups, which goes on, then this again.`
}
