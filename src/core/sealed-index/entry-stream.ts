/** Entries of several runs in one order: of one key and row there is one, with the weights of all added up. */
import { compareBytes, type KeyRange } from '../index-runs/order-key.ts'
import { headOf, type Segment, segmentIn } from '../index-runs/segment.ts'
import { required } from '../util/lists.ts'

/** The order of entries: by rising key and row, or by falling. */
export type Direction = 'up' | 'down'

/** Returns the entries of blocks, in the order of their ids. */
export type Fetch = (ids: readonly number[]) => Promise<readonly Segment[]>

const NO_BLOCKS = new Float64Array(0)

/** Where a stream is in one run. It is hungry when its next block must be fetched first. */
class Cursor {
  /** The entry that it is at. */
  keys: Uint8Array = new Uint8Array(0)
  start = 0
  end = 0
  row = 0
  weight = 0
  /** The first bytes of its key, as a number. */
  head = 0
  #segment: Segment | undefined
  #group = 0
  #entry = 0
  /** The entries of the segment. */
  #from = 0
  #to = 0
  /** Segments to come, the next one last, and after them blocks that must be fetched. */
  readonly #segments: Segment[] = []
  #blocks: Float64Array = NO_BLOCKS
  readonly #isUp: boolean

  constructor(part: Segment | Float64Array, isUp: boolean) {
    if (part instanceof Float64Array) this.#blocks = part
    else this.#segments.push(part)
    this.#isUp = isUp
  }

  /** Takes the ids of at most so many blocks that come next. */
  hungryFor(most: number): number[] {
    const blocks = this.#blocks
    const place = this.#isUp ? Math.min(most, blocks.length) : Math.max(0, blocks.length - most)
    const [low, high] = [blocks.subarray(0, place), blocks.subarray(place)]
    this.#blocks = this.#isUp ? high : low
    return this.#isUp ? [...low] : [...high].reverse()
  }

  /** Takes the blocks of these ids. */
  feed(segments: readonly Segment[]): void {
    for (const segment of segments.toReversed()) this.#segments.push(segment)
  }

  /** Goes on to the next entry. Returns false if it is at the end of what it has. */
  next(): boolean {
    let segment = this.#segment
    const step = this.#isUp ? 1 : -1
    this.#entry += step
    if (segment === undefined || this.#entry < this.#from || this.#entry >= this.#to) {
      segment = this.#nextSegment()
      if (segment === undefined) return false
    } else if (this.#entry >= (segment.firsts[this.#group + 1] ?? 0) || this.#entry < (segment.firsts[this.#group] ?? 0)) {
      this.#group += step
      this.#place(segment)
    }
    this.row = segment.rows[this.#entry] ?? 0
    this.weight = segment.weights[this.#entry] ?? 0
    return true
  }

  /** True if blocks are to come that must be fetched. */
  get isHungry(): boolean {
    return this.#blocks.length > 0
  }

  #nextSegment(): Segment | undefined {
    this.#segment = undefined
    for (let next = this.#segments.pop(); next !== undefined; next = this.#segments.pop()) {
      if (next.groups === 0) continue
      this.#segment = next
      this.keys = next.keys
      this.#group = this.#isUp ? 0 : next.groups - 1
      this.#from = next.firsts[0] ?? 0
      this.#to = next.firsts[next.groups] ?? 0
      this.#entry = this.#isUp ? this.#from : this.#to - 1
      this.#place(next)
      return next
    }
    return undefined
  }

  #place({ keys, starts }: Segment): void {
    this.start = starts[this.#group] ?? 0
    this.end = starts[this.#group + 1] ?? 0
    this.head = headOf(keys, this.start, this.end)
  }
}

/** A stream of entries. `keys[start .. end)`, `row` and `weight` are the entry that it is at. */
export class EntryStream {
  keys: Uint8Array = new Uint8Array(0)
  start = 0
  end = 0
  row = 0
  weight = 0
  readonly #sign: number
  readonly #range: KeyRange
  /** The cursors that have an entry: a heap, whose first has the entry that comes next. */
  readonly #heap: Cursor[] = []
  #hungry: Cursor[] = []

  /** Each part is a segment, or the ids of the blocks of a run in the order of their keys, which are cut to a range. */
  constructor(parts: readonly (Segment | Float64Array)[], direction: Direction, range: KeyRange) {
    this.#range = range
    const isUp = direction === 'up'
    this.#sign = isUp ? 1 : -1
    for (const part of parts) this.#advance(new Cursor(part, isUp))
  }

  /** True if `fetch` comes first. */
  get isHungry(): boolean {
    return this.#hungry.length > 0
  }

  /** Fetches the next blocks of all runs that need them, at most about so many. */
  async fetch(fetch: Fetch, most: number): Promise<number> {
    const hungry = this.#hungry
    const wanted = hungry.map((cursor) => cursor.hungryFor(Math.max(1, Math.floor(most / hungry.length))))
    const blocks = await fetch(wanted.flat())
    this.#hungry = []
    let from = 0
    for (const [index, cursor] of hungry.entries()) {
      const { length } = required(wanted[index])
      cursor.feed(blocks.slice(from, from + length).map((block) => segmentIn(block, this.#range)))
      from += length
      this.#advance(cursor)
    }
    return blocks.length
  }

  /** Goes on to the next entry whose weights add up to something. Returns false at the end, and where it is hungry. */
  next(): boolean {
    while (this.#hungry.length === 0) {
      const first = this.#heap[0]
      if (first === undefined) return false
      this.keys = first.keys
      this.start = first.start
      this.end = first.end
      this.row = first.row
      this.weight = first.weight
      this.#advanceFirst()
      for (let same = this.#heap[0]; same !== undefined && this.#isAt(same); same = this.#heap[0]) {
        this.weight += same.weight
        this.#advanceFirst()
      }
      if (this.weight !== 0) return true
    }
    return false
  }

  /** True if the entry that it is at has this key. */
  hasKey(key: Uint8Array): boolean {
    return compareBytes(key, 0, key.length, this.keys, this.start, this.end) === 0
  }

  #isAt({ row, keys, start, end }: Cursor): boolean {
    return row === this.row && compareBytes(keys, start, end, this.keys, this.start, this.end) === 0
  }

  /** Puts a cursor that is in no list at its next entry. */
  #advance(cursor: Cursor): void {
    if (cursor.next()) {
      this.#heap.push(cursor)
      this.#rise(this.#heap.length - 1)
    } else if (cursor.isHungry) this.#hungry.push(cursor)
  }

  #advanceFirst(): void {
    const first = required(this.#heap[0])
    if (!first.next()) {
      if (first.isHungry) this.#hungry.push(first)
      const last = required(this.#heap.pop())
      if (this.#heap.length === 0) return
      this.#heap[0] = last
    }
    this.#sink()
  }

  #compare(one: Cursor, other: Cursor): number {
    const order =
      one.head - other.head ||
      compareBytes(one.keys, one.start, one.end, other.keys, other.start, other.end) ||
      one.row - other.row
    return order * this.#sign
  }

  #rise(from: number): void {
    const heap = this.#heap
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1
      if (this.#compare(required(heap[parent]), required(heap[at])) <= 0) return
      this.#swap(parent, at)
      at = parent
    }
  }

  #sink(): void {
    const heap = this.#heap
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      const first = heap[left]
      if (first === undefined) return
      const second = heap[left + 1]
      const least = second !== undefined && this.#compare(second, first) < 0 ? left + 1 : left
      if (this.#compare(required(heap[at]), required(heap[least])) <= 0) return
      this.#swap(at, least)
      at = least
    }
  }

  #swap(one: number, other: number): void {
    const kept = required(this.#heap[one])
    this.#heap[one] = required(this.#heap[other])
    this.#heap[other] = kept
  }
}
