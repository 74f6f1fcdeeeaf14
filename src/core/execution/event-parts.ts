/** The parts of an event: the items of a batch, each with the event that its operation would have by itself. */
import {
  type NestedOutcome,
  NOT_RUN,
  OUTCOME_UNKNOWN,
  type Outcome,
  onlyRowIds,
  type ResourceType,
  ROLLED_BACK,
  SUCCESS,
  toRuns,
} from '../audit/event.ts'
import { mayBeStoredCode, type VaultError } from '../errors.ts'
import type { RedactionLevel } from '../redaction.ts'
import { at } from '../util/lists.ts'

/** How many rows an operation read and wrote. */
export interface RowCounts {
  readonly read: number
  readonly written: number
}

/** What an operation inside another adds to the event. */
interface PartialEvent {
  /** True after rows were written, whether or not they are kept. */
  readonly hasWritten: boolean
  /** Returns its rows of one table, if it ended like this; undefined if there are none. */
  firstRowsOf(outcome: Outcome): TableRows | undefined
  countRows(): RowCounts
  /** The highest level at which values are shown, if some are. */
  readonly level: RedactionLevel | undefined
}

/** One operation inside another. */
export interface EventPart {
  readonly event: PartialEvent
  readonly resourceType: ResourceType
  readonly outcome: Outcome
  /** Its error, as the caller gets it. */
  readonly error: VaultError | undefined
  /** Its recorded input, or the position of an earlier part with the same. */
  readonly content: string | number
}

/** Rows of one table. */
interface TableRows {
  readonly table: string
  readonly rows: readonly number[]
}

/** Parts that ended alike. */
interface Alike {
  readonly first: EventPart
  readonly outcome: Outcome
  /** The position of the nested outcome with their content. */
  readonly source: number
  readonly table: string | undefined
  /** Number of rows of the first. */
  readonly rowsOfFirst: number
  /** The rows of all, in order. */
  readonly rows: number[]
  items: number
}

const NO_ROWS: readonly number[] = []

/** Returns the outcomes of the parts, if the whole ended like this. A change is rolled back with the whole; what was read stays read. */
export function nestedOutcomes(parts: Iterable<EventPart>, whole: Outcome): NestedOutcome[] {
  const gathered: Alike[] = []
  const sources: number[] = []
  let last: Alike | undefined
  for (const part of parts) {
    const source = typeof part.content === 'number' ? at(sources, part.content) : gathered.length
    sources.push(source)
    const outcome = outcomeWithin(part.event, { own: part.outcome, whole })
    const found = outcome === NOT_RUN ? undefined : part.event.firstRowsOf(outcome)
    const rows = found === undefined ? NO_ROWS : onlyRowIds(found.rows)
    const isLikeLast =
      last !== undefined &&
      last.source === source &&
      last.outcome.code === outcome.code &&
      last.outcome.message === outcome.message &&
      last.first.resourceType === part.resourceType &&
      last.table === found?.table &&
      // One row each, or none.
      last.rowsOfFirst < 2 &&
      last.rowsOfFirst === rows.length
    if (last === undefined || !isLikeLast) {
      last = { first: part, outcome, source, table: found?.table, rowsOfFirst: rows.length, rows: [], items: 0 }
      gathered.push(last)
    }
    last.items++
    for (const row of rows) last.rows.push(row)
  }
  return gathered.map(toNested)
}

function toNested({
  first: { content, resourceType },
  outcome: { code, message },
  source,
  table,
  rows,
  items,
}: Alike): NestedOutcome {
  return {
    code,
    message,
    resourceType,
    ...(items === 1 ? {} : { items }),
    ...(typeof content === 'string' ? { content } : { contentOf: source }),
    ...(table === undefined ? {} : { rows: { table, runs: toRuns(rows) } }),
  }
}

function outcomeWithin(event: PartialEvent, { own, whole }: { readonly own: Outcome; readonly whole: Outcome }): Outcome {
  if (own !== SUCCESS || whole === SUCCESS || !event.hasWritten) return own
  return whole === OUTCOME_UNKNOWN || mayBeStoredCode(whole.failure) ? OUTCOME_UNKNOWN : ROLLED_BACK
}
