/** What a write changes in the sealed indexes of a table, as a batch that is stored with it. */
import { DELTA_BYTES, type IndexChanges, sealDelta } from '../index-runs/delta.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { NewRow } from '../ports/storage.ts'
import { INDEX_RUNS } from '../schema/system-tables.ts'
import { append, groupBy, required } from '../util/lists.ts'
import type { Batch } from './unit-of-work.ts'

/** What writers say of what they store in sealed indexes, to those who merge it. Nothing is waited for, and what is rolled back may be noted too. */
export interface IndexNotes {
  /** Notes a delta of a table that is about to be stored, and its number of changes. */
  noteDelta(table: number, changes: number): void
  /** Notes that a change is about to erase rows, or values, whose keys must leave the indexes. */
  noteErased(): void
}

/** Takes what writers say where no one merges: what they store is found later. */
export const UNNOTED: IndexNotes = { noteDelta() {}, noteErased() {} }

/** Changes of a write, and the row that it has for them. */
export interface DeltaInput {
  /** The keys of now: what waits for a commit is sealed with those of then. */
  readonly to: { readonly ring: KeyRing; readonly vault: Uint8Array }
  readonly table: { readonly objectId: number }
  readonly id: number
  readonly changes: readonly IndexChanges[]
  readonly notes: Pick<IndexNotes, 'noteDelta'>
}

/** One row, which is sealed when it is read first: those of several callers of a commit become one before. */
export class DeltaBatch implements Batch {
  readonly table = INDEX_RUNS.name
  readonly input: DeltaInput
  #rows: readonly NewRow[] | undefined

  constructor(input: DeltaInput) {
    this.input = input
  }

  get rows(): readonly NewRow[] {
    if (this.#rows !== undefined) return this.#rows
    const { to, id, table, changes, notes } = this.input
    notes.noteDelta(
      table.objectId,
      changes.reduce((sum, { length }) => sum + length, 0),
    )
    this.#rows = [sealDelta(to, id, table, changes)]
    return this.#rows
  }
}

/** Returns the changes of all batches, as one for each table of records where they are short. */
export function joinDeltas(batches: readonly DeltaBatch[]): readonly DeltaBatch[] {
  const joined: { readonly input: DeltaInput; readonly changes: IndexChanges[] }[] = []
  for (const [, own] of groupBy(batches, ({ input }) => input.table.objectId)) {
    // The first of a table begins a delta.
    let left = -1
    for (const { input } of own) {
      const bytes = input.changes.reduce((sum, changes) => sum + changes.bytes, 0)
      if (left < bytes) {
        joined.push({ input, changes: [] })
        left = DELTA_BYTES
      }
      append(required(joined.at(-1)).changes, input.changes)
      left -= bytes
    }
  }
  return joined.map(({ input, changes }) => new DeltaBatch({ ...input, changes }))
}
