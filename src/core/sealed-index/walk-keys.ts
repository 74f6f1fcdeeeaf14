/** Walks the keys of an index in order, a list at a time. It goes on where it was after a merge by another process. */
import { compareKeys, type KeyRange, keyAfter } from '../index-runs/order-key.ts'
import type { Pace } from '../pace/pace.ts'
import { attempt } from '../util/attempt.ts'
import type { Direction, EntryStream, Fetch } from './entry-stream.ts'
import { BEGIN_AGAIN, BLOCKS_AT_ONCE } from './index-rows.ts'
import { type IndexView, streamOf } from './index-view.ts'

/** Rows with one key, rising. Of a key with many rows they can be some. */
export interface KeyRows {
  readonly key: Uint8Array
  readonly rows: readonly number[]
}

/** A walk, which begins with its first keys and sees what was committed then. */
export interface KeyWalk {
  /**
   * True if another process merged what the walk had begun to read. It goes on in what is there then, so that a row whose value was changed meanwhile can come again
   * under another key, or not at all.
   */
  readonly hasMoved: boolean
  /** Returns the next keys, with `most` rows in all or fewer at the end. Throws as the other calls of the reader do. */
  next(most: number): Promise<readonly KeyRows[]>
}

/** The way of a walk. */
export interface Way {
  readonly direction: Direction
  /** Of this key, the rows up to this one are left out. Default: none. */
  readonly after?: { readonly key: Uint8Array; readonly row: number } | undefined
}

/** The keys to walk. */
export interface WalkedKeys extends Way {
  view(): Promise<IndexView>
  readonly fetch: Fetch
  readonly pace: Pace
  /** They rise and do not overlap. */
  readonly ranges: readonly KeyRange[]
}

/** Begins a walk. Blocks are opened as they are come to. */
export function createWalk({ view, fetch, pace, ranges, direction, after }: WalkedKeys): KeyWalk {
  /** Ranges to walk, the next one last. */
  const left = direction === 'up' ? ranges.toReversed() : [...ranges]
  /** What the walk sees, and the entries of the range that it is in. */
  let seen: IndexView | undefined
  let stream: EntryStream | undefined
  let atOnce = 1
  /** The key whose rows are being read, the last one that was read, and those that were not returned yet. */
  let group: { readonly key: Uint8Array; readonly rows: number[] } | undefined
  let last: Uint8Array | undefined
  const read: KeyRows[] = []
  /** Rows of all of these, and how many of the first were returned. */
  let rowsRead = 0
  let rowsTaken = 0
  let hasMoved = false

  /** Ends the key whose rows are read. On the way down those of one key fall, too. */
  function endGroup(): void {
    if (group === undefined) return
    const { key, rows } = group
    if (direction === 'down') rows.reverse()
    const fresh = after !== undefined && compareKeys(after.key, key) === 0 ? rows.filter((row) => row > after.row) : rows
    if (fresh.length > 0) read.push({ key, rows: fresh })
    rowsRead += fresh.length
    last = key
    group = undefined
  }

  /** Reads on in what the stream has. */
  function readEntries(entries: EntryStream, most: number): void {
    while (rowsRead < most && entries.next()) {
      if (entries.weight < 0) continue
      if (group !== undefined && !entries.hasKey(group.key)) endGroup()
      group ??= { key: entries.keys.slice(entries.start, entries.end), rows: [] }
      group.rows.push(entries.row)
    }
  }

  async function readKeys(most: number): Promise<void> {
    for (let range = left.at(-1); range !== undefined && rowsRead < most; range = left.at(-1)) {
      // What one statement saw is walked in all ranges: a row that goes from one to another is in one.
      seen ??= await view()
      stream ??= streamOf(seen, last === undefined ? range : restOf(range, last, direction), direction)
      readEntries(stream, most)
      if (rowsRead >= most) return
      if (stream.isHungry) {
        await stream.fetch(fetch, atOnce)
        atOnce = Math.min(BLOCKS_AT_ONCE, atOnce * 2)
        await pace.worked()
      } else {
        endGroup()
        stream = undefined
        left.pop()
      }
    }
  }

  /** Takes keys off those that were read. */
  function take(most: number): KeyRows[] {
    const taken: KeyRows[] = []
    for (let wanted = most; wanted > 0; ) {
      const [first] = read
      if (first === undefined) break
      const rows = first.rows.slice(rowsTaken, rowsTaken + wanted)
      taken.push({ key: first.key, rows })
      wanted -= rows.length
      rowsRead -= rows.length
      rowsTaken += rows.length
      if (rowsTaken < first.rows.length) break
      read.shift()
      rowsTaken = 0
    }
    return taken
  }

  return {
    get hasMoved() {
      return hasMoved
    },
    async next(most) {
      await attempt([BEGIN_AGAIN], async ({ last: failed }) => {
        if (failed !== undefined) {
          hasMoved ||= last !== undefined
          seen = stream = group = undefined
        }
        await readKeys(most)
      })
      return take(most)
    },
  }
}

/** Returns the key of the first entry; undefined if there is none. */
export async function firstKeyOf(entries: EntryStream, fetch: Fetch): Promise<Uint8Array | undefined> {
  for (;;) {
    while (entries.next()) if (entries.weight > 0) return entries.keys.slice(entries.start, entries.end)
    if (!entries.isHungry) return undefined
    await entries.fetch(fetch, 1)
  }
}

/** Returns the part of a range after a key. */
function restOf(range: KeyRange, key: Uint8Array, direction: Direction): KeyRange {
  const { low, high } = range
  if (direction === 'down') return high !== undefined && compareKeys(high, key) <= 0 ? range : { ...range, high: key }
  const from = keyAfter(key)
  return low !== undefined && compareKeys(low, from) > 0 ? range : { ...range, low: from }
}
