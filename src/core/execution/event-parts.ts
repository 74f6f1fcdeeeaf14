/** The parts of an event: the items of a batch, each with the event that its operation would have by itself. */
import type { EventRows, NestedOutcome, ResourceType } from '../audit/event.ts'
import { NOT_RUN, OUTCOME_UNKNOWN, type Outcome, ROLLED_BACK, SUCCESS } from '../audit/outcome.ts'
import { fromRuns, toRuns } from '../audit/row-runs.ts'
import { mayBeStoredCode, type VaultError } from '../errors.ts'
import { at } from '../util/at.ts'

/** How many rows an operation read and wrote. */
export interface RowCounts {
  readonly read: number
  readonly written: number
}

/** What an operation inside another adds to the event. */
interface PartialEvent {
  /** True after rows were written, whether or not they are kept. */
  readonly hasWritten: boolean
  /** Returns its rows, if it ended like this. */
  rowsOf(outcome: Outcome): readonly EventRows[]
  countRows(): RowCounts
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

/** How one part ended. `source` is the position of the nested outcome with its content. */
interface EndedPart extends Pick<NestedOutcome, 'code' | 'message' | 'resourceType'> {
  readonly source: number
  readonly content: string | undefined
  readonly table: string | undefined
  readonly rows: readonly number[]
}

/** Parts that ended alike. */
interface Alike {
  readonly first: EndedPart
  readonly rows: number[]
  items: number
}

/** Returns the outcomes of the parts, if the whole ended like this. A change is rolled back with the whole; what was read stays read. */
export function nestedOutcomes(parts: readonly EventPart[], whole: Outcome): NestedOutcome[] {
  const gathered: Alike[] = []
  const sources: number[] = []
  for (const part of parts) {
    const source = typeof part.content === 'number' ? at(sources, part.content) : gathered.length
    sources.push(source)
    const ended = endOf(part, { whole, source })
    const last = gathered.at(-1)
    if (last !== undefined && isAlike(last.first, ended)) {
      last.items++
      last.rows.push(...ended.rows)
    } else gathered.push({ first: ended, rows: [...ended.rows], items: 1 })
  }
  return gathered.map(toNested)
}

function endOf({ event, resourceType, content, outcome: own }: EventPart, { whole, source }: Within): EndedPart {
  const outcome = outcomeWithin(event, { own, whole })
  const [rows] = outcome === NOT_RUN ? [] : event.rowsOf(outcome)
  return {
    code: outcome.code,
    message: outcome.message,
    resourceType,
    source,
    content: typeof content === 'string' ? content : undefined,
    table: rows?.table,
    rows: rows === undefined ? [] : fromRuns(rows.runs),
  }
}

/** The outcome of the whole, and the position of the content of a part. */
interface Within {
  readonly whole: Outcome
  readonly source: number
}

/** True if two parts have equal outcomes, and one row each or none. */
function isAlike(left: EndedPart, right: EndedPart): boolean {
  return (
    left.source === right.source &&
    left.code === right.code &&
    left.message === right.message &&
    left.resourceType === right.resourceType &&
    left.table === right.table &&
    left.rows.length < 2 &&
    right.rows.length === left.rows.length
  )
}

function toNested({ first, rows, items }: Alike): NestedOutcome {
  const { code, message, resourceType, content, source, table } = first
  return {
    ...{ code, message, resourceType },
    ...(items === 1 ? {} : { items }),
    ...(content === undefined ? { contentOf: source } : { content }),
    ...(table === undefined ? {} : { rows: { table, runs: toRuns(rows) } }),
  }
}

function outcomeWithin(event: PartialEvent, { own, whole }: { readonly own: Outcome; readonly whole: Outcome }): Outcome {
  if (own !== SUCCESS || whole === SUCCESS || !event.hasWritten) return own
  return whole === OUTCOME_UNKNOWN || mayBeStoredCode(whole.failure) ? OUTCOME_UNKNOWN : ROLLED_BACK
}
