/** The rows of a joined table that can match: looked up in storage for a few tuples, or read once into an index for many. */
import { allLookupCells } from '../barrier/digest-values.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import type { ColumnRef } from '../expressions/condition.ts'
import type { Filter } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import type { JoinEquality, StepPlan } from '../sql/plan.ts'
import { createShardedMap } from '../util/sharded-map.ts'
import { nearestNumber } from '../values/decimal-type.ts'
import type { BudgetMeter } from './budget-meter.ts'
import { type Scanning, scanRows } from './scan-rows.ts'
import { type BufferedRow, type ReadBuffered, sizeOf, type Tuple } from './scanned-rows.ts'

/** Returns the rows that can match a tuple. The join condition decides whether they do. */
export type CandidatesOf = (tuple: Tuple) => readonly BufferedRow[]

/** What joining one table needs. */
export interface JoinInput {
  readonly step: StepPlan
  readonly meter: BudgetMeter
  readonly read: ReadBuffered
}

/** The joined table of one join. */
export interface JoinSide {
  /** Prepares the candidates of these tuples. */
  candidatesFor(tuples: readonly Tuple[]): Promise<CandidatesOf>
  /** All rows of the joined table, after `candidatesFor` was called for all tuples. Only for joins without look-up. */
  allRows(): Promise<readonly BufferedRow[]>
}

/** Number of tuples after which the joined table is read once instead, because that becomes cheaper. */
const MAX_LOOKUPS = 2000

/** Creates the joined side of one join. Nothing is read before the first tuples. */
export function createJoinSide(context: Scanning, joining: JoinInput): JoinSide {
  let table: Promise<BufferedTable> | undefined
  let lookedUp = 0
  let bytesInUse = 0
  const wholeTable = () => {
    table ??= readTable(context, joining)
    return table
  }
  return {
    async candidatesFor(tuples) {
      const [pair] = joining.step.equalities
      if (table === undefined && joining.step.canLookUp && pair !== undefined && lookedUp < MAX_LOOKUPS) {
        lookedUp += tuples.length
        // The rows found for the tuples before were in use until now.
        joining.meter.addBytes(-bytesInUse)
        const found = await lookUp(context, joining, { pair, tuples })
        bytesInUse = found.bytes
        return found.candidatesOf
      }
      return candidatesIn(await wholeTable(), joining)
    },
    allRows: async () => (await wholeTable()).rows,
  }
}

/** Rows in order of insertion and, if the join has equalities, also by key. */
interface BufferedTable {
  readonly rows: readonly BufferedRow[]
  readonly index: JoinIndex
}

async function readTable(context: Scanning, { step, meter, read }: JoinInput): Promise<BufferedTable> {
  const rows: BufferedRow[] = []
  const index = createJoinIndex()
  const scan = scanRows(context, { plan: step.right, meter })
  for (let batch = await scan.next(); batch !== undefined; batch = await scan.next()) {
    for (const row of batch) {
      meter.addBytes(sizeOf(row))
      rows.push(row)
      if (step.equalities.length > 0)
        index.add(joinKey(step.equalities.map(({ right }) => keyPart(right, read(row, right)))), row)
    }
  }
  return { rows, index }
}

function candidatesIn({ rows, index }: BufferedTable, { step: { equalities }, read }: JoinInput): CandidatesOf {
  if (equalities.length === 0) return () => rows
  return (tuple) => index.get(joinKey(equalities.map(({ left }) => keyPart(left, read(tuple[left.source], left)))))
}

/** Looks up the candidates of these tuples in storage. Also returns the bytes that they use. */
async function lookUp(
  context: Scanning,
  { step, meter, read }: JoinInput,
  { pair, tuples }: { readonly pair: JoinEquality; readonly tuples: readonly Tuple[] },
): Promise<{ readonly candidatesOf: CandidatesOf; readonly bytes: number }> {
  const valueIn = (tuple: Tuple) => read(tuple[pair.left.source], pair.left)
  const wanted = new Set(tuples.map(valueIn).filter((value) => value !== null))
  const extraFilter = lookupFilter(context, { table: step.right.source.table, pair, values: [...wanted] })
  const index = createJoinIndex()
  let bytes = 0
  if (extraFilter !== undefined) {
    const scan = scanRows(context, { plan: step.right, meter, extraFilter })
    for (let batch = await scan.next(); batch !== undefined; batch = await scan.next()) {
      for (const row of batch) {
        const size = sizeOf(row)
        meter.addBytes(size)
        bytes += size
        index.add(joinKey([read(row, pair.right)]), row)
      }
    }
  }
  return { candidatesOf: (tuple) => index.get(joinKey([valueIn(tuple)])), bytes }
}

/** A look-up of the rows that have one of these values in the joined column. */
interface LookupRequest {
  readonly table: Table
  readonly pair: JoinEquality
  readonly values: readonly unknown[]
}

/** The filter for rows with one of these values, or undefined if no row can have one. */
function lookupFilter({ barrier }: Scanning, { table, pair, values }: LookupRequest): Filter | undefined {
  if (values.length === 0) return undefined
  const { column } = pair.right
  if (column?.lookup !== undefined) {
    return { kind: 'in', column: column.lookup, values: allLookupCells(barrier.ring, column, values) }
  }
  const ids = decodeRecordIds(barrier.ring, table, values.map(String)).filter((id) => id !== undefined)
  return ids.length === 0 ? undefined : { kind: 'in', column: 'id', values: ids }
}

/** Rows by join key. */
interface JoinIndex {
  /** Adds a row. A row without a key matches nothing and is not added. */
  add(key: JoinKey | undefined, row: BufferedRow): void
  /** Returns the rows of a key in the order they were added. */
  get(key: JoinKey | undefined): readonly BufferedRow[]
}

const NONE: readonly BufferedRow[] = []

/** Creates an empty index. */
function createJoinIndex(): JoinIndex {
  const known = createShardedMap<JoinKey, BufferedRow[]>()
  return {
    add(key, row) {
      if (key === undefined) return
      const rows = known.get(key)
      if (rows === undefined) known.set(key, [row])
      else rows.push(row)
    },
    get: (key) => (key === undefined ? NONE : (known.get(key) ?? NONE)),
  }
}

/** The key of a row in a join index. Equal values have equal keys, and different values can have equal keys. */
export type JoinKey = string | number | boolean

/** The key of these values, or undefined if one of them is null: null equals nothing. */
export function joinKey(values: readonly unknown[]): JoinKey | undefined {
  const keys: JoinKey[] = []
  for (const value of values) {
    const key = keyOfValue(value)
    if (key === undefined) return undefined
    keys.push(key)
  }
  const [only] = keys
  return keys.length === 1 ? only : JSON.stringify(keys)
}

/** In a key a DECIMAL is the nearest double, so that it finds the numbers of other types that it equals. */
function keyPart({ column }: ColumnRef, value: unknown): unknown {
  const { scale = 0 } = column?.type ?? {}
  return column === undefined || scale === 0 || value === null ? value : nearestNumber(column.type, value)
}

/** The key of an INTEGER is the nearest double, so that it finds the FLOAT that it equals. */
function keyOfValue(value: unknown): JoinKey | undefined {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value
    case 'bigint':
      return Number(value)
    default:
      return undefined
  }
}
