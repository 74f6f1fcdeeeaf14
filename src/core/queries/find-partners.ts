/** The rows of a joined table that can match: looked up in storage for a few tuples, or read once into an index for many. */
import { lookupCells } from '../barrier/lookup.ts'
import { readIds } from '../barrier/record-ids.ts'
import type { Filter } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import type { EqualPair } from '../sql/join-keys.ts'
import { joinKey } from '../sql/join-keys.ts'
import type { StepPlan } from '../sql/plan.ts'
import type { HeldRow, ReadHeld, Tuple } from './held-row.ts'
import { sizeOf } from './held-row.ts'
import type { Pace } from './pace.ts'
import { createPartnerIndex, type PartnerIndex } from './partner-index.ts'
import type { ScanContext } from './scan-rows.ts'
import { scanRows } from './scan-rows.ts'

/** Returns the rows that can match a tuple. The join condition decides whether they do. */
export type CandidatesOf = (tuple: Tuple) => readonly HeldRow[]

/** What joining one table needs. */
export interface Joining {
  readonly step: StepPlan
  readonly pace: Pace
  readonly read: ReadHeld
}

/** The joined table of one join. */
export interface Partners {
  /** Prepares the candidates of these tuples. */
  of(tuples: readonly Tuple[]): Promise<CandidatesOf>
  /** All rows of the joined table, after `of` was called for all tuples. Only for joins without look-up. */
  all(): Promise<readonly HeldRow[]>
}

/** Number of tuples after which the joined table is read once instead, because that becomes cheaper. */
const MAX_LOOKUPS = 2000

/** Creates the joined side of one join. Nothing is read before the first tuples. */
export function createPartners(context: ScanContext, joining: Joining): Partners {
  let table: Promise<BufferedTable> | undefined
  let lookedUp = 0
  let bytesInUse = 0
  const wholeTable = () => {
    table ??= readTable(context, joining)
    return table
  }
  return {
    async of(tuples) {
      const [pair] = joining.step.pairs
      if (table === undefined && joining.step.canLookUp && pair !== undefined && lookedUp < MAX_LOOKUPS) {
        lookedUp += tuples.length
        // The rows found for the tuples before were in use until now.
        joining.pace.hold(-bytesInUse)
        const found = await lookUp(context, joining, { pair, tuples })
        bytesInUse = found.bytes
        return found.candidatesOf
      }
      return candidatesIn(await wholeTable(), joining)
    },
    all: async () => (await wholeTable()).rows,
  }
}

/** Rows in order of insertion and, if the join has equalities, also by key. */
interface BufferedTable {
  readonly rows: readonly HeldRow[]
  readonly index: PartnerIndex
}

async function readTable(context: ScanContext, { step, pace, read }: Joining): Promise<BufferedTable> {
  const rows: HeldRow[] = []
  const index = createPartnerIndex()
  for await (const batch of scanRows(context, { plan: step.right, pace })) {
    for (const row of batch) {
      pace.hold(sizeOf(row))
      rows.push(row)
      if (step.pairs.length > 0) index.file(joinKey(step.pairs.map(({ right }) => read(row, right))), row)
    }
  }
  return { rows, index }
}

function candidatesIn({ rows, index }: BufferedTable, { step: { pairs }, read }: Joining): CandidatesOf {
  if (pairs.length === 0) return () => rows
  return (tuple) => index.under(joinKey(pairs.map(({ left }) => read(tuple[left.source], left))))
}

/** Looks up the candidates of these tuples in storage. Also returns the bytes that they use. */
async function lookUp(
  context: ScanContext,
  { step, pace, read }: Joining,
  { pair, tuples }: { readonly pair: EqualPair; readonly tuples: readonly Tuple[] },
): Promise<{ readonly candidatesOf: CandidatesOf; readonly bytes: number }> {
  const valueIn = (tuple: Tuple) => read(tuple[pair.left.source], pair.left)
  const wanted = new Set(tuples.map(valueIn).filter((value) => value !== null))
  const extraFilter = lookupFilter(context, { table: step.right.source.table, pair, values: [...wanted] })
  const index = createPartnerIndex()
  let bytes = 0
  if (extraFilter !== undefined) {
    for await (const batch of scanRows(context, { plan: step.right, pace, also: extraFilter })) {
      for (const row of batch) {
        const size = sizeOf(row)
        pace.hold(size)
        bytes += size
        index.file(joinKey([read(row, pair.right)]), row)
      }
    }
  }
  return { candidatesOf: (tuple) => index.under(joinKey([valueIn(tuple)])), bytes }
}

/** A look-up of the rows that have one of these values in the joined column. */
interface LookupRequest {
  readonly table: Table
  readonly pair: EqualPair
  readonly values: readonly unknown[]
}

/** The filter for rows with one of these values, or undefined if no row can have one. */
function lookupFilter({ barrier }: ScanContext, { table, pair, values }: LookupRequest): Filter | undefined {
  if (values.length === 0) return undefined
  const { column } = pair.right
  if (column?.lookup !== undefined) {
    return { kind: 'in', column: column.lookup, values: lookupCells(barrier.ring, column, values) }
  }
  const ids = readIds(barrier.ring, table, values.map(String)).filter((id) => id !== undefined)
  return ids.length === 0 ? undefined : { kind: 'in', column: 'id', values: ids }
}
