/** The port's methods on rows: which orders run on a lane, and what their answers become. */
import type { Cell, Doomed, Filter, Measure, NewRow, Page, Patch, Row } from '../../core/ports/storage.ts'
import type { SqlStatements } from '../sql/sql-statements.ts'
import { projectedShape, type TableShape } from '../sql/table-shapes.ts'
import type { Lane } from './lanes.ts'
import type { Order, RawRow } from './postgres-driver.ts'
import { type Scene, toPostgresFault } from './postgres-faults.ts'
import { patchedColumns, type RowOrders } from './row-orders.ts'
import { indexName, primaryKeyName } from './stable-names.ts'
import { fromWireCell, toInteger } from './wire-cells.ts'

/** Rows one INSERT carries at most, so that writing them out holds the event loop for a few milliseconds only. */
const MOST_ROWS = 10_000
/** Bytes and characters one INSERT carries at most, roughly: far below the engine's limit of 1 GB a message. */
const MOST_BYTES = 32 * 1024 * 1024
/** Patches on the way at once when they must run one after another. */
const PATCHES_AT_ONCE = 250

/** What the methods need beside a lane. */
export interface RowTools {
  readonly orders: RowOrders
  readonly statements: SqlStatements
}

export async function insertRows(tools: RowTools, lane: Lane, shape: TableShape, rows: readonly NewRow[]): Promise<void> {
  const slices = toSlices(shape, rows)
  const insert = async (lane: Lane, slice: Slice): Promise<void> => {
    await guarded(lane, tools.orders.insert(shape, slice.rows), { shape, written: slice.rows }, slice.start)
  }
  const [only] = slices
  if (only === undefined) return
  if (slices.length === 1) return insert(lane, only)
  await lane.atomic(async (lane) => {
    for (const slice of slices) await insert(lane, slice)
  })
}

/** A part of a list, and where in the list it begins. */
interface Slice {
  readonly start: number
  readonly rows: readonly NewRow[]
}

function toSlices(shape: TableShape, rows: readonly NewRow[]): readonly Slice[] {
  const long = shape.table.columns.filter(({ type }) => type === 'bytes' || type === 'text')
  const slices: Slice[] = []
  let start = 0
  let bytes = 0
  for (const [position, row] of rows.entries()) {
    let own = 0
    for (const { name } of long) own += lengthOf(row[name])
    if (position > start && (position - start === MOST_ROWS || bytes + own > MOST_BYTES)) {
      slices.push({ start, rows: rows.slice(start, position) })
      start = position
      bytes = 0
    }
    bytes += own
  }
  if (start < rows.length) slices.push({ start, rows: start === 0 ? rows : rows.slice(start) })
  return slices
}

function lengthOf(cell: Cell | undefined): number {
  return typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : 0
}

export async function getRows(
  tools: RowTools,
  lane: Lane,
  shape: TableShape,
  ids: readonly number[],
): Promise<readonly (Row | undefined)[]> {
  const possible = ids.every(Number.isSafeInteger) ? ids : ids.filter(Number.isSafeInteger)
  if (possible.length === 0) return ids.map(() => undefined)
  const answer = await guarded(lane, tools.orders.get(shape, possible), { shape })
  const found = new Map<number, Row>()
  for (const raw of answer) {
    const row = toRow(shape, raw)
    found.set(row.id, row)
  }
  const answered = new Set<number>()
  return ids.map((id) => {
    const row = found.get(id)
    if (row === undefined || !answered.has(id)) {
      answered.add(id)
      return row
    }
    // asked for twice: each answer is the caller's own
    return { ...row }
  })
}

export async function findRows(
  tools: RowTools,
  lane: Lane,
  shape: TableShape,
  asked: { readonly filter: Filter; readonly page: Page },
): Promise<readonly Row[]> {
  const { statement, parameters } = tools.statements.find(shape, asked.filter, asked.page)
  const answer = await guarded(lane, tools.orders.bind(statement, parameters), { shape })
  const shown = projectedShape(shape, asked.page.columns)
  return answer.map((raw) => toRow(shown, raw))
}

function toRow(shape: TableShape, raw: RawRow): Row {
  const row: { id: number; version: number; [column: string]: Cell } = { id: Number(raw[0]), version: Number(raw[1]) }
  for (let at = 2; at < shape.columns.length; at++) {
    const column = shape.columns[at]
    if (column !== undefined) row[column.name] = fromWireCell(column.type, raw[at])
  }
  return row
}

export async function updateRows(
  tools: RowTools,
  lane: Lane,
  shape: TableShape,
  patches: readonly Patch[],
): Promise<readonly boolean[]> {
  const groups = isOrderFree(shape, patches) ? toGroups(patches) : patches.map((_, position) => [position])
  const [only] = groups
  if (only === undefined) return []
  const matched = patches.map(() => false)
  const update = async (lane: Lane, together: readonly (readonly number[])[]): Promise<void> => {
    const listed = together.map((positions) => positions.flatMap((position) => patches[position] ?? []))
    const answers = await Promise.allSettled(
      listed.map((group, at) => {
        const scene = { shape, written: group.map(({ set }) => set) }
        return guarded(lane, tools.orders.update(shape, group), scene, together[at]?.[0] ?? 0)
      }),
    )
    for (const [at, answer] of answers.entries()) {
      if (answer.status === 'rejected') throw answer.reason
      const ids = new Set(answer.value.map(([id]) => Number(id)))
      for (const position of together[at] ?? []) matched[position] = ids.has(patches[position]?.id ?? Number.NaN)
    }
  }
  if (groups.length === 1) await update(lane, [only])
  else {
    await lane.atomic(async (lane) => {
      for (let start = 0; start < groups.length; start += PATCHES_AT_ONCE) {
        await update(lane, groups.slice(start, start + PATCHES_AT_ONCE))
      }
    })
  }
  return matched
}

/**
 * False where patches may hand a unique value on to one another: then only one after another they mean what the list
 * says. PostgreSQL checks a unique index row by row, in an order of its own.
 */
function isOrderFree(shape: TableShape, patches: readonly Patch[]): boolean {
  if (patches.length < 2) return true
  const unique = new Set(shape.table.indexes.flatMap((index) => (index.unique ? index.columns : [])))
  if (unique.size === 0) return true
  return patches.every(({ set }) => Object.keys(set).every((column) => !unique.has(column)))
}

/** Positions of patches that can go in one statement: the same columns, and no row twice, which would match only once. */
function toGroups(patches: readonly Patch[]): readonly (readonly number[])[] {
  const turns = new Map<number, number>()
  const groups = new Map<string, number[]>()
  let lastTurn = 0
  for (const [position, patch] of patches.entries()) {
    const turn = turns.get(patch.id) ?? 0
    turns.set(patch.id, turn + 1)
    lastTurn = Math.max(lastTurn, turn)
    const key = `${turn} ${JSON.stringify(patchedColumns(patch))}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [position])
    else group.push(position)
  }
  const turnOf = (key: string): number => Number(key.slice(0, key.indexOf(' ')))
  return [...groups].sort(([left], [right]) => turnOf(left) - turnOf(right)).map(([, positions]) => positions)
}

export async function deleteRows(tools: RowTools, lane: Lane, shape: TableShape, doomed: Doomed): Promise<readonly number[]> {
  const order = 'ids' in doomed ? deleteIdsOrder(tools, shape, doomed.ids) : deleteWhereOrder(tools, shape, doomed.filter)
  if (order === undefined) return []
  const answer = await guarded(lane, order, { shape })
  return answer.map(([id]) => Number(id)).sort((left, right) => left - right)
}

function deleteIdsOrder(tools: RowTools, shape: TableShape, ids: readonly number[]): Order | undefined {
  const possible = ids.filter(Number.isSafeInteger)
  return possible.length === 0 ? undefined : tools.orders.deleteIds(shape, possible)
}

function deleteWhereOrder(tools: RowTools, shape: TableShape, filter: Filter): Order {
  const { statement, parameters } = tools.statements.deleteWhere(shape, filter)
  return tools.orders.bind(statement, parameters)
}

export async function measureRows(
  tools: RowTools,
  lane: Lane,
  shape: TableShape,
  asked: { readonly filter: Filter; readonly measures: readonly Measure[] },
): Promise<readonly Cell[]> {
  if (asked.measures.length === 0) return []
  const { statement, parameters } = tools.statements.measure(shape, asked.filter, asked.measures)
  const [row = []] = await guarded(lane, tools.orders.bind(statement, parameters), { shape })
  return asked.measures.map((measure, at) => toMeasured(shape, measure, row[at]))
}

function toMeasured(shape: TableShape, { kind, column }: Measure, raw: unknown): Cell {
  if (raw === null || raw === undefined) return null
  const type = column === undefined ? 'integer' : (shape.types.get(column) ?? 'text')
  switch (kind) {
    case 'count':
      return toInteger(raw)
    case 'avg':
      return Number(raw)
    case 'sum':
      return type === 'integer' ? toInteger(raw) : Number(raw)
    case 'min':
    case 'max':
      return fromWireCell(type, raw)
  }
}

/** Runs an order and gives its failure the port's words; `start` is where in the request the written cells begin. */
async function guarded(
  lane: Lane,
  order: Order,
  scene: Scene & { readonly shape: TableShape },
  start = 0,
): Promise<readonly RawRow[]> {
  try {
    return await lane.run(order)
  } catch (error) {
    throw toPostgresFault(error, { ...scene, uniqueColumns: uniqueColumnsOf(scene.shape), start })
  }
}

function uniqueColumnsOf({ name, table }: TableShape): ReadonlyMap<string, readonly string[]> {
  const unique = table.indexes.filter((index) => index.unique)
  return new Map([[primaryKeyName(name), ['id']], ...unique.map((index) => [indexName(name, index), index.columns] as const)])
}
