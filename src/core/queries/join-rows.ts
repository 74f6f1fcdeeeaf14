/** Joins one more table to the rows before it, in their order; rows without partners as the kind of join says. */
import type { ValueOf } from '../expressions/condition.ts'
import { compileCondition } from '../expressions/evaluate-condition.ts'
import type { StepPlan } from '../sql/plan.ts'
import type { Joining, Partners } from './find-partners.ts'
import { createPartners } from './find-partners.ts'
import type { HeldRow, Tuple } from './held-row.ts'
import { createNumberSet } from './partner-index.ts'
import type { ScanContext } from './scan-rows.ts'

/** Tuples handed on at a time, about. */
const BATCH_SIZE = 500
/** Candidates tried between two looks at the clock. */
const STRIDE_SIZE = 64

/** The tuples of a join, some at a time. A list is never empty. */
export async function* joinRows(
  context: ScanContext,
  left: AsyncIterable<readonly Tuple[]>,
  joining: Joining,
): AsyncGenerator<Tuple[]> {
  const joinSide = createPartners(context, joining)
  const pairing = createPairing(joining)
  yield* rowsOfLeft(left, { joinSide, pairing, joining })
  if (keepsRight(joining.step)) yield* rowsOfRight({ joinSide, pairing, joining })
  if (pairing.count() > 0) yield pairing.take()
}

interface JoinState {
  readonly joining: Joining
  readonly joinSide: Partners
  readonly pairing: Pairing
}

/** Every tuple with its joinSide. */
async function* rowsOfLeft(
  left: AsyncIterable<readonly Tuple[]>,
  { joining: { pace }, joinSide, pairing }: JoinState,
): AsyncGenerator<Tuple[]> {
  for await (const tuples of left) {
    const candidatesOf = await joinSide.of(tuples)
    for (const tuple of tuples) {
      pairing.begin(tuple)
      for (const some of stridesOf(candidatesOf(tuple))) {
        pairing.addMatches(some)
        if (pairing.count() >= BATCH_SIZE) yield pairing.take()
        if (pace.isDue()) await pace.turn()
      }
      pairing.end()
    }
    // What these tuples gave goes on before more are read: it may be enough.
    if (pairing.count() > 0) yield pairing.take()
  }
}

/** The rows of the joined table that never were joinSide. */
async function* rowsOfRight({ joining: { pace }, joinSide, pairing }: JoinState): AsyncGenerator<Tuple[]> {
  for (const some of stridesOf(await joinSide.all())) {
    pairing.addUnmatched(some)
    if (pairing.count() >= BATCH_SIZE) yield pairing.take()
    if (pace.isDue()) await pace.turn()
  }
}

/** What was paired so far and not yet handed on. */
interface Pairing {
  begin(tuple: Tuple): void
  /** Pairs the tuple with those of the candidates that are its joinSide. */
  addMatches(candidates: readonly HeldRow[]): void
  /** A tuple without partners goes on alone, where the join keeps it. */
  end(): void
  /** Rows of the joined table that were never paired go on alone. */
  addUnmatched(rows: readonly HeldRow[]): void
  count(): number
  take(): Tuple[]
}

function createPairing({ step, read }: Joining): Pairing {
  const joined = step.right.source.index
  const matches = compileCondition(step.on)
  const passes = compileCondition(step.after)
  const matched = createNumberSet()
  const noRows: Tuple = new Array<undefined>(joined).fill(undefined)
  const out: Tuple[] = []
  let tuple: Tuple = noRows
  let row: HeldRow | undefined
  let hasMatch = false
  const cellOf: ValueOf = (ref) => read(ref.source === joined ? row : tuple[ref.source], ref)
  const keep = () => {
    if (passes(cellOf) === true) out.push([...tuple, row])
  }
  return {
    begin(next) {
      tuple = next
      hasMatch = false
    },
    addMatches(candidates) {
      for (row of candidates) {
        if (matches(cellOf) !== true) continue
        hasMatch = true
        if (keepsRight(step)) matched.add(row.id)
        keep()
      }
    },
    end() {
      row = undefined
      if (!hasMatch && keepsLeft(step)) keep()
    },
    addUnmatched(rows) {
      tuple = noRows
      for (row of rows) if (!matched.has(row.id)) keep()
    },
    count: () => out.length,
    take: () => out.splice(0),
  }
}

function keepsLeft({ kind }: StepPlan): boolean {
  return kind === 'left' || kind === 'full'
}

function keepsRight({ kind }: StepPlan): boolean {
  return kind === 'right' || kind === 'full'
}

/** The candidates in pieces; a short list, as most are, as it is. */
function* stridesOf(candidates: readonly HeldRow[]): Generator<readonly HeldRow[]> {
  if (candidates.length > 0 && candidates.length <= STRIDE_SIZE) yield candidates
  else for (let at = 0; at < candidates.length; at += STRIDE_SIZE) yield candidates.slice(at, at + STRIDE_SIZE)
}
