/** What an operation tells of itself as it goes, for its event: names, counts and rows; never a value. */
import type { EventDraft, EventRows, NestedOutcome } from '../audit/event.ts'
import { type Outcome, SUCCESS, UNDONE } from '../audit/outcome.ts'
import { toRuns } from '../audit/row-runs.ts'
import type { Table } from '../schema/layout.ts'

/** An operation that another one was made of. */
export interface Part extends Pick<NestedOutcome, 'resourceType' | 'content'> {
  readonly story: Story
  readonly outcome: Outcome
}

export class Story {
  #table: string | undefined
  readonly #rows = new Map<string, Set<number>>()
  /** Undefined until it wrote. */
  #written: EventRows | undefined
  #parts: readonly Part[] | undefined

  /** The table it is about. */
  about(table: Table): void {
    this.#table = table.name
  }

  /** Rows it read or found. */
  touches(table: Table, rows: readonly number[]): void {
    const known = this.#rows.get(table.name) ?? new Set()
    for (const row of rows) known.add(row)
    if (known.size > 0) this.#rows.set(table.name, known)
  }

  /** Rows it wrote, in place of any named before: writing may have begun again. */
  writes(table: Table, rows: readonly number[]): void {
    this.#written = { table: table.name, runs: toRuns(rows) }
  }

  /** The operations it is made of, in place of any named before. */
  consistsOf(parts: readonly Part[]): void {
    this.#parts = parts
  }

  /** All of it, and how it ended; `ending` is how what was written by its parts ended. */
  told(
    outcome: Outcome,
    ending: Outcome = isWell(outcome) ? SUCCESS : UNDONE,
  ): Omit<EventDraft, 'context' | 'action' | 'resourceType'> {
    const rows = this.#rowsAfter(outcome)
    return {
      ...outcome,
      ...(this.#table === undefined ? {} : { table: this.#table }),
      ...(rows.length === 0 ? {} : { rows }),
      ...(this.#parts === undefined ? {} : { nested: this.#parts.map((part) => toNested(part, ending)) }),
    }
  }

  /** The same as a part of another operation: only what it wrote shares the other's ending. */
  toldAsPart(own: Outcome, ending: Outcome): Pick<NestedOutcome, 'code' | 'message' | 'rows'> {
    const outcome = isWell(own) && this.#written !== undefined ? ending : own
    const [rows] = this.#rowsAfter(outcome)
    return { ...outcome, ...(rows === undefined ? {} : { rows }) }
  }

  /** A change that failed has written nothing, whatever rows it was given. */
  #rowsAfter(outcome: Outcome): EventRows[] {
    const read = [...this.#rows].map(([table, rows]) => ({ table, runs: toRuns([...rows]) }))
    const written = this.#written
    return written === undefined || written.runs.length === 0 || !isWell(outcome) ? read : [...read, written]
  }
}

function isWell({ code }: Outcome): boolean {
  return code === SUCCESS.code
}

function toNested({ story, outcome, resourceType, content }: Part, ending: Outcome): NestedOutcome {
  return { ...story.toldAsPart(outcome, ending), resourceType, ...(content === undefined ? {} : { content }) }
}
