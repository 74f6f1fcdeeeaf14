/** Joins one more table to the rows before it, in their order. Unmatched rows are kept as the kind of join requires. */
import type { ValueOf } from '../expressions/condition.ts'
import { compileCondition } from '../expressions/evaluate-condition.ts'
import type { StepPlan } from '../sql/plan.ts'
import { createShardedMap } from '../util/sharded-map.ts'
import { createJoinSide, type JoinInput, type JoinSide } from './join-side.ts'
import type { Scanning } from './scan-rows.ts'
import type { BufferedRow, Tuple } from './scanned-rows.ts'

/** Approximate number of tuples yielded at a time. */
const BATCH_SIZE = 500
/** Candidates evaluated between two checks of the clock. */
const STRIDE_SIZE = 64

/** Yields the tuples of a join in batches. A batch is never empty. */
export async function* joinRows(
  context: Scanning,
  left: AsyncIterable<readonly Tuple[]>,
  joining: JoinInput,
): AsyncGenerator<Tuple[]> {
  const joinSide = createJoinSide(context, joining)
  const pairing = createPairing(joining)
  yield* rowsOfLeft(left, { joinSide, pairing, joining })
  if (keepsRight(joining.step)) yield* rowsOfRight({ joinSide, pairing, joining })
  if (pairing.count() > 0) yield pairing.take()
}

interface JoinState {
  readonly joining: JoinInput
  readonly joinSide: JoinSide
  readonly pairing: Pairing
}

/** Yields every tuple of the left side with its matching rows. */
async function* rowsOfLeft(
  left: AsyncIterable<readonly Tuple[]>,
  { joining: { meter }, joinSide, pairing }: JoinState,
): AsyncGenerator<Tuple[]> {
  for await (const tuples of left) {
    const candidatesOf = await joinSide.candidatesFor(tuples)
    for (const tuple of tuples) {
      pairing.begin(tuple)
      for (const some of stridesOf(candidatesOf(tuple))) {
        pairing.addMatches(some)
        if (pairing.count() >= BATCH_SIZE) yield pairing.take()
        if (meter.shouldYield()) await meter.yield()
      }
      pairing.end()
    }
    // Yields what is there before reading more: the query may need no more.
    if (pairing.count() > 0) yield pairing.take()
  }
}

/** Yields the rows of the joined table that no tuple matched. */
async function* rowsOfRight({ joining: { meter }, joinSide, pairing }: JoinState): AsyncGenerator<Tuple[]> {
  for (const some of stridesOf(await joinSide.allRows())) {
    pairing.addUnmatched(some)
    if (pairing.count() >= BATCH_SIZE) yield pairing.take()
    if (meter.shouldYield()) await meter.yield()
  }
}

/** Matches tuples with candidates, and collects the results until they are taken. */
interface Pairing {
  begin(tuple: Tuple): void
  /** Adds the tuple once for each candidate that matches it. */
  addMatches(candidates: readonly BufferedRow[]): void
  /** Adds the tuple without a row if nothing matched and the join keeps it. */
  end(): void
  /** Adds the rows of the joined table that no tuple matched. */
  addUnmatched(rows: readonly BufferedRow[]): void
  count(): number
  take(): Tuple[]
}

function createPairing({ step, read }: JoinInput): Pairing {
  const joined = step.right.source.index
  const matches = compileCondition(step.on)
  const passes = compileCondition(step.postJoin)
  const matched = createShardedMap<number, true>()
  const noRows: Tuple = new Array<undefined>(joined).fill(undefined)
  const out: Tuple[] = []
  let tuple: Tuple = noRows
  let row: BufferedRow | undefined
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
        if (keepsRight(step)) matched.set(row.id, true)
        keep()
      }
    },
    end() {
      row = undefined
      if (!hasMatch && keepsLeft(step)) keep()
    },
    addUnmatched(rows) {
      tuple = noRows
      for (row of rows) if (matched.get(row.id) === undefined) keep()
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

/** Splits the candidates into strides. A short list, as most are, is not copied. */
function* stridesOf(candidates: readonly BufferedRow[]): Generator<readonly BufferedRow[]> {
  if (candidates.length > 0 && candidates.length <= STRIDE_SIZE) yield candidates
  else for (let start = 0; start < candidates.length; start += STRIDE_SIZE) yield candidates.slice(start, start + STRIDE_SIZE)
}
