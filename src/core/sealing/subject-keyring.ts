/** The keys of subjects that this process holds, and for how long it believes that they were not destroyed. */
import type { Opened, SubjectKeys } from '../ports/crypto.ts'
import type { Stopwatch } from '../ports/time.ts'
import type { Slab } from '../util/memory.ts'

/** Keys that are held while less are needed at a time: some 4 KB each. */
const IDLE_KEYS = 4096
/** Keys that are held at most. */
const MAX_KEYS = 65_536
/** An eighth more than that are held before the oldest are dropped. */
const SPARE = 3

/**
 * Milliseconds after which a key is looked up again before it opens another row: what another process destroyed opens nothing longer than this. This
 * process forgets its own at once.
 */
export const TRUST_MS = 5000

/** What is known of a key since a time of the stopwatch: it was there, or it was not. */
interface Known {
  readonly isThere: boolean
  readonly since: number
}

/** A class, because all bodies of people are opened through it. */
export class SubjectKeyring {
  readonly #keys: SubjectKeys
  readonly #stopwatch: Stopwatch
  /** By the id of the row that holds the key, the least recently used first. */
  readonly #known = new Map<number, Known>()
  #capacity = IDLE_KEYS

  constructor(keys: SubjectKeys, stopwatch: Stopwatch) {
    this.#keys = keys
    this.#stopwatch = stopwatch
  }

  /** The time that a look-up of keys begins at. */
  now(): number {
    return this.#stopwatch.now()
  }

  /** Returns which of these keys must be looked up before rows are opened with them. */
  toLookUp(ids: ReadonlySet<number>): number[] {
    const trusted = this.now() - TRUST_MS
    if (ids.size > this.#capacity) this.#capacity = Math.min(ids.size, MAX_KEYS)
    const unknown: number[] = []
    for (const id of ids) {
      const known = this.#known.get(id)
      if (known === undefined || known.since < trusted) unknown.push(id)
      else this.#note(id, known)
    }
    return unknown
  }

  /** Keeps a key that a look-up found; undefined for one that was damaged, which opens nothing. One that was destroyed since the look-up began is not kept. */
  keep(id: number, secret: Uint8Array | undefined, since: number): void {
    const known = this.#known.get(id)
    if (known?.isThere === false && known.since >= since) return
    if (secret !== undefined && !this.#keys.has(id)) this.#keys.add(id, secret)
    this.#note(id, { isThere: true, since })
  }

  /** Notes that a key is destroyed: it opens nothing from now on. */
  destroy(id: number, since = this.now()): void {
    this.#keys.remove(id)
    this.#note(id, { isThere: false, since })
  }

  /** Drops what is known of a key: it is looked up again. */
  drop(id: number): void {
    this.#keys.remove(id)
    this.#known.delete(id)
  }

  /** True if a key is known to be destroyed. */
  isDestroyed(id: number): boolean {
    return this.#known.get(id)?.isThere === false
  }

  /** True if a key must be looked up again, because others took its place. The capacity is larger from then on. */
  hasLost(id: number): boolean {
    if (this.#known.has(id)) return false
    this.#capacity = Math.min(this.#capacity * 2, MAX_KEYS)
    return true
  }

  /** Source: `SubjectKeys.seal`. */
  seal(headers: Uint8Array, ids: Float64Array, plaintexts: Slab, associatedData: Uint8Array): Slab {
    return this.#keys.seal(headers, ids, plaintexts, associatedData)
  }

  /** Source: `SubjectKeys.open`. */
  open(headerBytes: number, ids: Float64Array, bodies: Slab, associatedData: Uint8Array): Opened {
    return this.#keys.open(headerBytes, ids, bodies, associatedData)
  }

  /** Overwrites all keys. */
  close(): void {
    this.#known.clear()
    this.#keys.close()
  }

  #note(id: number, known: Known): void {
    // Deleting first moves the entry to the end of the map.
    this.#known.delete(id)
    this.#known.set(id, known)
    // Many at a time: walking a map passes over all that was deleted before.
    if (this.#known.size <= this.#capacity + (this.#capacity >> SPARE)) return
    for (const [oldest] of this.#known) {
      if (this.#known.size <= this.#capacity) return
      this.drop(oldest)
    }
  }
}
