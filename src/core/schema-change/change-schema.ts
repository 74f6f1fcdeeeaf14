/** Changes the stored schema beside readers and writers. Ended at any point, by an error, an abort or a kill, the same call goes on. */
import { type Barrier, OUTDATED, retryingBarrier } from '../barrier/barrier.ts'
import { keptCells } from '../barrier/kept-times.ts'
import type { CatalogState } from '../catalog/catalog-entries.ts'
import { prepareLayout } from '../catalog/live-schema.ts'
import type { Catalog } from '../catalog/open-catalog.ts'
import { type Fault, fault, isVaultError, words } from '../errors.ts'
import type { Job, JobPlace } from '../maintenance/job.ts'
import { countRows } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { ownKeysPass } from '../records/own-keys-pass.ts'
import { LOCK_MS, lockTries } from '../rotation/rotate-keys.ts'
import type { CatalogSchema, CatalogTable } from '../schema/catalog-schema.ts'
import type { Schema } from '../schema/define-schema.ts'
import { KEPT, layoutSchema, type Table } from '../schema/layout.ts'
import { ownersOf, subjectsWithKeys } from '../schema/own-keys.ts'
import { assertKeysAreHere } from '../subject-keys/key-rows.ts'
import { attempt } from '../util/attempt.ts'
import { nowMs } from '../util/time.ts'
import { cellPasses, tablePass } from './erase-gone.ts'
import { digestCells, erasePass, type FillCounts, fillPass } from './fill-rows.ts'
import { findEqual, type RowProblem } from './inspect-rows.ts'
import { type NextSchema, nextSchema, type Refusal, type TableChange } from './next-schema.ts'
import { refusalOf } from './plan-change.ts'
import { pendingGone } from './plan-rewriting.ts'
import type { SchemaMoves } from './schema-moves.ts'
import { type SucceedCounts, succeedPass } from './succeed-rows.ts'
import { withSuccessors } from './successions.ts'

/** What a change of the schema needs. */
export interface SchemaChangePorts {
  readonly storage: Storage
  readonly catalog: Catalog
  readonly barrier: Barrier
  readonly clock: Clock
  readonly scheduler: Scheduler
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
interface OfTable {
  readonly table: Table
}

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
  if (way.successions.length > 0 || way.tables.some(({ ends }) => ends.length > 0)) await job.wait(target.settleMs)
  job.expect(await countPasses(storage, way))
  await refuseFor(ports, job, way, await fillAll(ports, job, { way, target }))
  await succeedAll(ports, job, { way, target })
  await refuseFor(ports, job, way, await buildIndexes(ports, way))
  await sealAll(ports, job, way)
  await end(ports, job, target)
  if (erasesSeen(target)) await job.wait(target.settleMs)
  await eraseAll(ports, job, target)
  const { generation } = catalog.state
  await ports.record('ended', generation)
  return { generation }
}

/** Returns the way from the schema that is stored now. */
function wayTo({ state }: Pick<Catalog, 'state'>, { schema, moves }: SchemaTarget): NextSchema {
  const way = nextSchema(state.schema, schema, { moves, isOpening: false })
  const [first] = way.refusals
  if (first === undefined) return way
  const { table, column, reason } = first
  throw fault('failed_precondition', column === undefined ? { table } : { table, column })`${reason}`
}

/** Stores the marks of the change, and what needs no more than that: from then on all writers do what the new schema needs. */
async function begin(ports: SchemaChangePorts, job: Job, target: SchemaTarget): Promise<NextSchema> {
  const { storage, catalog } = ports
  const before = catalog.state
  const way = await storeWay(ports, job, async () => {
    const way = wayTo(catalog, target)
    assertNotHeld(catalog.state, target)
    await prepareLayout(storage, layoutSchema(way.begun))
    const [had, has] = [catalog.state.schema, way.begun].map(({ rules }) => subjectsWithKeys(rules).size > 0)
    if (has === true) await assertKeysAreHere(storage, ports.barrier, had !== true)
    // Writers that began before commit first: what they wrote is seen by the passes.
    const marked = way.tables.filter(
      ({ fills, keeps, requires, requiresNew, ends, seals }) =>
        seals || [fills, keeps, requires, requiresNew, ends].some(({ length }) => length > 0),
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
    const [rows] = await storage.aggregate(change.table.physical.name, { kind: 'all' }, [{ kind: 'count' }])
    if (Number(rows) > 0) throw refusal(refusalOf(change, { kind: 'new', column: column.name, rows: Number(rows) }))
  }
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
async function storeWay(ports: SchemaChangePorts, job: Job, next: () => Promise<WayToStore>): Promise<NextSchema> {
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

async function countPasses(storage: Storage, { tables }: NextSchema): Promise<number | undefined> {
  const filled = tables.filter(isFilled)
  const erased = tables.filter(({ ends, leftover }) => ends.length + leftover.length > 0)
  const sealed = tables.filter(({ seals }) => seals)
  return countRows(
    storage,
    [...filled, ...erased, ...sealed].map(({ table }) => ({ table: table.physical.name })),
  )
}

function isFilled({ fills, keeps, requires }: TableChange): boolean {
  return fills.length + keeps.length + requires.length > 0
}

/** The change, and its way. */
interface Filling {
  readonly way: NextSchema
  readonly target: SchemaTarget
}

/** Fills the cells of all rows, and counts what is in the way, from where an earlier run ended. */
async function fillAll(
  ports: SchemaChangePorts,
  job: Job,
  { way, target }: Filling,
): Promise<Map<TableChange, readonly RowProblem[]>> {
  const barrier = retryingBarrier(ports.barrier)
  const changes = way.tables.filter(isFilled)
  const now = nowMs(ports)
  const begun = placeIn(job, target, 'fill', changes)
  const problems = new Map<TableChange, readonly RowProblem[]>()
  for (const [index, change] of changes.entries()) {
    const { table, fills, keeps, requires } = change
    // Problems of tables before are in the place too, because they end the change.
    const counts: FillCounts = index === begun.index ? begun.counts : NO_COUNTS()
    if (index >= begun.index) {
      const placeAt = (after: number): JobPlace => ({
        key: target.key,
        phase: 'fill',
        table: table.physical.name,
        after,
        counts: JSON.stringify(counts),
      })
      const after = index === begun.index ? begun.after : 0
      const filling = {
        table,
        cells: [...digestCells(barrier, fills), ...keeps.map((kept) => keptCells(kept, now))],
        required: requires,
        keyed: fills,
        counts,
        after,
        placeAt,
      }
      await job.pass(fillPass({ ...ports, barrier }, job, filling))
    }
    const found = [...listed('null', counts.missing), ...listed('keyless', counts.keyless)]
    if (found.length > 0) await refuseFor(ports, job, way, new Map([[change, found]]))
  }
  return problems
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

/** What has been counted at the beginning. */
const NO_COUNTS = (): FillCounts & SucceedCounts => ({ missing: {}, keyless: {}, unfit: {}, equal: {} })

/** Returns where an earlier run of this change ended. */
function placeIn({ place }: Job, { key }: SchemaTarget, phase: string, changes: readonly OfTable[]) {
  const index = changes.findIndex(({ table }) => table.physical.name === place?.table)
  const isPlace = place?.key === key && place.phase === phase && index >= 0
  if (!isPlace) return { index: 0, after: 0, counts: NO_COUNTS() }
  // It was authenticated, so it is what a pass wrote.
  return {
    index,
    after: Number(place.after),
    counts: (place.counts === undefined ? NO_COUNTS() : JSON.parse(String(place.counts))) as FillCounts & SucceedCounts,
  }
}

/** Builds the indexes of the new schema. Returns the unique ones that records do not allow. */
async function buildIndexes(ports: SchemaChangePorts, way: NextSchema): Promise<Map<TableChange, readonly RowProblem[]>> {
  const layout = layoutSchema(way.ended)
  const begun = layoutSchema(way.begun)
  const problems = new Map<TableChange, readonly RowProblem[]>()
  try {
    // This process goes on writing what it wrote until the new schema is stored.
    const tables = [...layout.tables.values()].map(({ name, physical }) => ({
      ...physical,
      columns: begun.tables.get(name)?.physical.columns ?? physical.columns,
    }))
    await ports.storage.prepare(tables)
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
  const changed = new Set(way.tables.map(({ table }) => table.objectId))
  await storeWay(ports, job, async () => {
    const schema = withSuccessors(ports.catalog.state.schema, [])
    const tables = Object.entries(schema.tables).map(([name, table]) => [
      name,
      changed.has(table.objectId) ? withoutMarks(table) : table,
    ])
    return { way, schema: { ...schema, tables: Object.fromEntries(tables) }, locked: [] }
  })
  // When records have been changed, the same call begins anew.
  await ports.storage.transaction((inner) => job.savePlace(inner, { key: '' }))
  throw refusal(first)
}

function refusal({ table, column, reason }: Refusal): Fault {
  return fault('failed_precondition', column === undefined ? { table } : { table, column })`${words(reason)}`
}

/** Gives all rows their hidden cells, from where an earlier run ended. Takes the marks back and throws for values that cannot take their new form. */
async function succeedAll(ports: SchemaChangePorts, job: Job, { way, target }: Filling): Promise<void> {
  const layout = layoutSchema(ports.catalog.state.schema)
  const names = new Set(way.successions.map(({ table }) => table))
  const tables = [...layout.tables.values()].filter(({ name }) => names.has(name)).map((table) => ({ table }))
  // What was taken back and begun again is another column, whose rows have none of its cells yet.
  const hidden = tables.flatMap(({ table }) => table.written?.hidden ?? [])
  const phase = `succeed ${hidden.map(({ column }) => column.objectId).join()}`
  const begun = placeIn(job, target, phase, tables)
  for (const [index, { table }] of tables.entries()) {
    const { written } = table
    if (index < begun.index || written === undefined) continue
    const counts = index === begun.index ? begun.counts : NO_COUNTS()
    const placeAt = (after: number): JobPlace => ({
      key: target.key,
      phase,
      table: table.physical.name,
      after,
      counts: JSON.stringify(counts),
    })
    const after = index === begun.index ? begun.after : 0
    await job.pass(
      succeedPass({ ...ports, barrier: retryingBarrier(ports.barrier) }, job, { table, written, layout, counts, after, placeAt }),
    )
    const found = [...listed('unfit', counts.unfit), ...listed('equal', counts.equal)]
    if (found.length > 0) await refuseFor(ports, job, way, new Map([[{ table }, found]]))
  }
}

/** Returns a table without the marks of a change. What it has filled is left over; times of retention are still to be filled. */
function withoutMarks({ filling = [], leftover = [], columns, ...table }: CatalogTable): CatalogTable {
  const times = filling.filter((cell) => cell.startsWith(KEPT))
  const left = [...leftover, ...filling.filter((cell) => !cell.startsWith(KEPT))]
  const unmarked = Object.entries(columns).map(([name, { requiring: _, ...column }]) => [name, column])
  return {
    ...table,
    columns: Object.fromEntries(unmarked),
    ...(times.length > 0 && { filling: times }),
    ...(left.length > 0 && { leftover: left }),
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
      ...Object.keys(target.moves.drop ?? {}).flatMap((path) => tables.get(path.split('.')[0] ?? '') ?? []),
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

/** True if the moves erase what readers still see until they know of it. */
function erasesSeen({ moves: { drop = {}, finish = [] } }: SchemaTarget): boolean {
  return finish.length > 0 || Object.values(drop).includes('erase')
}

/** Erases the cells and tables that ended, from where an earlier run ended, and forgets that there were any. */
async function eraseAll(ports: SchemaChangePorts, job: Job, target: SchemaTarget): Promise<void> {
  const { storage, catalog } = ports
  const { schema } = catalog.state
  const { tables } = layoutSchema(schema)
  const changes = Object.entries(schema.tables).flatMap(([name, stored]) => {
    const table = tables.get(name)
    const gone = pendingGone(stored)
    const cells = [
      ...(stored.leftover ?? []).map((cell) => ({ name: cell, type: 'bytes' as const })),
      ...gone.flatMap((one) => one.cells ?? []),
    ]
    const { unneeded = [] } = stored
    const isDone = gone.length + cells.length + unneeded.length === 0
    return table === undefined || isDone ? [] : [{ table, gone, cells, unneeded }]
  })
  const goneTables = schema.gone ?? []
  if (changes.length === 0 && goneTables.length === 0) return
  const begun = placeIn(job, target, 'erase', changes)
  for (const [index, { table: stored, cells }] of changes.entries()) {
    if (index < begun.index || cells.length === 0) continue
    const { physical } = stored
    const table = { ...stored, physical: { ...physical, columns: [...physical.columns, ...cells] } }
    await storage.prepare([table.physical])
    const placeAt = (after: number): JobPlace => ({ key: target.key, phase: 'erase', table: physical.name, after })
    const names = cells.map(({ name }) => name)
    await job.pass(erasePass(ports, job, { table, cells: names, after: index === begun.index ? begun.after : 0, placeAt }))
  }
  for (const table of goneTables) {
    await storage.prepare([{ name: table.name, columns: [], indexes: [] }])
    await job.pass(tablePass(storage, table, nowMs(ports)))
  }
  const objectIds = [
    ...changes.flatMap(({ gone }) => gone),
    ...goneTables.flatMap((table) => table.objectIds.map((objectId) => ({ objectId }))),
  ]
  for (const pass of cellPasses(
    storage,
    objectIds.map(({ objectId }) => objectId),
  ))
    await job.pass(pass)
  // Readers go by an index, and list a column, for as long as they do not know that it ended. This process knew the columns again while it erased them.
  await storage.prepare(changes.map(({ table }) => table.physical))
  if (changes.length > 0) await job.wait(target.settleMs)
  await attempt([lockTries(job, 'applySchemaChange')], () =>
    storage.drop(
      [
        { kind: 'tables', tables: goneTables.map(({ name }) => name) },
        ...changes.flatMap(({ table: { physical }, unneeded }) =>
          unneeded.map((index) => ({ kind: 'index', table: physical.name, index }) as const),
        ),
        ...changes.map(
          ({ table: { physical }, cells }) =>
            ({ kind: 'columns', table: physical.name, columns: cells.map(({ name }) => name) }) as const,
        ),
      ],
      { waitMs: LOCK_MS },
    ),
  )
  await storeWay(ports, job, async () => {
    const way = wayTo(catalog, target)
    const { gone: _, ...rest } = way.ended
    const cleared = Object.entries(way.ended.tables).map(([name, table]) => [name, withoutCells(table)])
    return { way, schema: { ...rest, tables: Object.fromEntries(cleared) }, locked: [] }
  })
}

/** Returns a table of which nothing is left to be erased. */
function withoutCells({ leftover: _, unneeded: __, gone, ...table }: CatalogTable): CatalogTable {
  return { ...table, ...(gone !== undefined && { gone: gone.map(({ cells: _, ...one }) => one) }) }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
