/** When the sealed indexes of a vault are due to be merged, by what its writers note. It holds no timer and reads no storage. */
import { SIZES } from '../sealed-index/merge-runs.ts'
import type { IndexNotes } from '../unit-of-work/delta-batch.ts'

/** Milliseconds from the opening to the first look: a process that ends before it leaves the work to others. */
const FIRST_MS = 2000
/** Milliseconds from the delta that makes a merge due to the merge: it may not be committed yet. */
const SETTLE_MS = 20
/** Milliseconds until the next look after a failed one. They double with each further one. */
const RETRY_MS = { first: 5000, most: 600_000 }
/** Milliseconds after which erased rows are looked for, as long as none are found: what erases them can take its time to commit. */
const ERASED_MS: readonly number[] = [1000, 10_000, 60_000]
/** The time of purges in the background, of all time, at most. */
const PURGE_SHARE = 1 / 20
/** Deltas of one process, of a table, after which a write counts those of all processes. */
const COUNTED_AFTER = 256

/** What a process has stored of a table. */
interface Stored {
  /** Since the last look. */
  deltas: number
  changes: number
  /** Since a write counted last. It begins anywhere, so that of many processes that write once, some count. */
  uncounted: number
}

/** What is done in one look. */
export interface Look {
  /** The object ids of the tables to merge. Undefined: all, and what dead processes left is swept. */
  readonly tables: ReadonlySet<number> | undefined
  /** True if keys of erased rows are looked for. */
  readonly looksForErased: boolean
}

/** The schedule of one vault. Times are milliseconds of a stopwatch. */
export class MergeSchedule implements IndexNotes {
  /** Tables that may have far too many deltas. */
  readonly crowded = new Set<number>()
  /** When to look next; undefined if nothing is due. */
  at: number | undefined
  readonly #now: () => number
  readonly #randomByte: () => number
  readonly #onSooner: () => void
  readonly #stored = new Map<number, Stored>()
  readonly #due = new Set<number>()
  #looksAtAll = true
  #notBefore = 0
  #failures = 0
  /** How often erased rows were looked for in vain; undefined if none are expected. */
  #vainLooks: number | undefined
  #erasedAt = 0

  /** `onSooner` is called when `at` becomes earlier. */
  constructor({ now, randomByte, onSooner }: { now(): number; randomByte(): number; onSooner(): void }) {
    this.#now = now
    this.#randomByte = randomByte
    this.#onSooner = onSooner
  }

  /** Begins with a look at all tables, for a vault that has indexes. */
  begin(): void {
    this.#lookIn(FIRST_MS)
  }

  noteDelta(table: number, changes: number): void {
    const own = this.#storedOf(table)
    own.deltas++
    own.changes += changes
    if (own.deltas >= SIZES.dueDeltas || own.changes >= SIZES.dueEntries) {
      this.#due.add(table)
      this.#lookIn(SETTLE_MS)
    }
    if (++own.uncounted < COUNTED_AFTER) return
    own.uncounted = 0
    this.crowded.add(table)
  }

  noteErased(): void {
    this.#expectErased(0)
  }

  /** Returns what the look that begins now does. One of `ended`, `failed` and `taken` follows. */
  take(): Look {
    const tables = this.#looksAtAll ? undefined : new Set(this.#due)
    for (const table of tables ?? this.#stored.keys()) Object.assign(this.#storedOf(table), { deltas: 0, changes: 0 })
    this.#due.clear()
    this.at = undefined
    const isExpected = this.#looksAtAll || this.#vainLooks !== undefined
    return { tables, looksForErased: isExpected && this.#now() >= this.#erasedAt }
  }

  /** Notes that a look failed: what was due may be half done, so that the next one is at everything. */
  failed(): void {
    this.#lookAgain(Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** this.#failures++))
  }

  /** Notes that another process merges. */
  taken(): void {
    this.#lookAgain(RETRY_MS.first)
  }

  /** Notes the end of a look, and how long it took to take out the keys of erased rows; undefined if there were none, or it was not looked for any. */
  ended({ looksForErased }: Look, purgeMs: number | undefined): void {
    this.#failures = 0
    this.#looksAtAll = false
    if (purgeMs !== undefined) {
      this.#erasedAt = this.#now() + purgeMs / PURGE_SHARE
      this.#vainLooks = undefined
    } else if (this.#vainLooks !== undefined) this.#expectErased(this.#vainLooks + (looksForErased ? 1 : 0))
  }

  #lookAgain(milliseconds: number): void {
    this.#looksAtAll = true
    this.#notBefore = this.#now() + milliseconds
    this.#lookIn(milliseconds)
  }

  #expectErased(looks: number): void {
    const milliseconds = ERASED_MS[looks]
    this.#vainLooks = milliseconds === undefined ? undefined : looks
    if (milliseconds === undefined) return
    const at = this.#now() + milliseconds
    this.#erasedAt = Math.max(this.#erasedAt, at)
    this.#lookIn(this.#erasedAt - this.#now())
  }

  #lookIn(milliseconds: number): void {
    const at = Math.max(this.#now() + milliseconds, this.#notBefore)
    if (this.at !== undefined && this.at <= at) return
    this.at = at
    this.#onSooner()
  }

  #storedOf(table: number): Stored {
    const known = this.#stored.get(table)
    if (known !== undefined) return known
    const made = { deltas: 0, changes: 0, uncounted: this.#randomByte() % COUNTED_AFTER }
    this.#stored.set(table, made)
    return made
  }
}
