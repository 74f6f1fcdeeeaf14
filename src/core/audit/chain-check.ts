/** Walks the chains of all lanes and finds the first place where they are not as they were written. */
import type { Hash } from '../ports/hash.ts'
import { sameBytes, toHex } from '../util/bytes.ts'
import { decodeEvent, encodeEvent, isTimeOf } from './encode-event.ts'
import type { ChainedEvent } from './event.ts'
import type { LaneHead } from './lane-head.ts'
import { hashLeaf, MerkleBuilder } from './merkle.ts'
import type { LanePlace } from './place.ts'
import { placeOfRow } from './place.ts'

/** How far a lane has come, in hex digits: the digest of the event at `sequence`, and the root of the tree over all events up to it. */
export interface LaneMark {
  readonly lane: number
  readonly sequence: number
  readonly digest: string
  readonly root: string
}

/** Where the trail is broken, and how. */
export interface ChainBreak {
  readonly lane: number
  readonly sequence: number
  /** Of the event found there, where one can be read. */
  readonly changeID?: string
  readonly what: string
}

/** What a check comes to: how many events were looked at, and the first break in the order of lanes and places. */
export interface ChainVerdict {
  readonly ok: boolean
  readonly events: number
  readonly firstBroken?: ChainBreak
}

/** What a check needs to know beforehand. */
export interface CheckedTrail {
  readonly hash: Hash
  readonly vaultID: string
  /** The heads as they were before the events were read. */
  readonly heads: readonly LaneMark[]
  /** Places whose marks are wanted afterwards, such as those a checkpoint names: lane, then sequences. */
  readonly watched?: ReadonlyMap<number, ReadonlySet<number>>
}

/** The last event of a lane. */
type LastEvent = Omit<LaneMark, 'root'>

/** What was found in a row: its bytes, the event they are, and the time the row itself tells; an exported event has no row. */
interface Found {
  readonly bytes: Uint8Array | undefined
  readonly event: ChainedEvent | undefined
  readonly at?: bigint
}

/** The mark of a lane at its head. */
export function markOfHead(hash: Hash, { lane, sequence, digest, tree }: LaneHead): LaneMark {
  return { lane, sequence, digest, root: toHex(new MerkleBuilder(hash, tree).root()) }
}

/** Takes every stored event in the order of rows, and answers at the end. Holds one event at a time. */
export class ChainCheck {
  readonly #trail: CheckedTrail
  /** Heads of lanes not come to yet, lowest lane last. */
  readonly #ahead: LaneMark[]
  readonly #marks = new Map<string, LaneMark>()
  /** Lanes that go on behind the head they had when the check began. */
  readonly #longer: LastEvent[] = []
  #head: LaneMark | undefined
  #tree: MerkleBuilder
  #lane = 0
  #sequence = 0
  #digest = ''
  #timestamp = ''
  #events = 0
  #broken: ChainBreak | undefined

  constructor(trail: CheckedTrail) {
    this.#trail = trail
    this.#tree = new MerkleBuilder(trail.hash)
    this.#ahead = [...trail.heads].sort((left, right) => right.lane - left.lane)
  }

  /** Takes the event of a row and the time kept beside it; undefined bytes are a sealed event that did not open. Answers its digest where the chain holds so far. */
  add(row: number, bytes: Uint8Array | undefined, at: bigint): string | undefined {
    this.#events++
    if (this.#broken !== undefined) return undefined
    const place = placeOfRow(row)
    if (place === undefined) return this.#break(this.#expected(), 'is followed or replaced by a row no event can have')
    return this.#follow(place, { bytes, event: bytes === undefined ? undefined : readEvent(bytes), at })
  }

  /** Takes the next event of an export, which says itself where it stands. Answers as `add` does. */
  addExported(bytes: Uint8Array): string | undefined {
    this.#events++
    if (this.#broken !== undefined) return undefined
    const event = readEvent(bytes)
    return this.#follow(event?.place ?? this.#expected(), { bytes, event })
  }

  /** Ends the check. `after` are the heads as they are now, where events may have been appended since the check began. */
  end(after: readonly LaneMark[] = this.#trail.heads): ChainVerdict {
    if (this.#broken === undefined) this.#enter(Number.POSITIVE_INFINITY)
    const beyond = this.#longer.find((last) => !isCovered(last, after))
    // It was passed over when it was met, so whatever broke later gives way to it.
    if (beyond !== undefined) this.#broken = breakAt(beyond, 'goes beyond the head of its lane')
    const firstBroken = this.#broken
    return { ok: firstBroken === undefined, events: this.#events, ...(firstBroken === undefined ? {} : { firstBroken }) }
  }

  /** The mark of a watched place, once it was come to. */
  markAt(lane: number, sequence: number): LaneMark | undefined {
    return this.#marks.get(`${lane}/${sequence}`)
  }

  /** Leaves the lane at hand, whose head must have been reached, for the next; no lane with a head may be passed over. */
  #enter(lane: number): void {
    const reached = this.#head?.sequence ?? 0
    if (this.#sequence < reached) this.#break({ lane: this.#lane, sequence: this.#sequence + 1 }, 'is missing')
    else if (this.#sequence > reached) this.#longer.push({ lane: this.#lane, sequence: this.#sequence, digest: this.#digest })
    const next = this.#ahead.at(-1)
    if (next !== undefined && next.lane < lane) this.#break({ lane: next.lane, sequence: 1 }, 'is missing')
    this.#head = next?.lane === lane ? this.#ahead.pop() : undefined
    this.#lane = lane
    this.#sequence = 0
    this.#digest = ''
    this.#timestamp = ''
    this.#tree = new MerkleBuilder(this.#trail.hash)
  }

  #expected(): LanePlace {
    return { lane: this.#lane, sequence: this.#sequence + 1 }
  }

  #follow(place: LanePlace, { bytes, event, at }: Found): string | undefined {
    if (place.lane > this.#lane) this.#enter(place.lane)
    if (this.#broken !== undefined) return undefined
    const expected = this.#expected()
    if (place.lane < expected.lane || place.sequence < expected.sequence) return this.#break(place, 'is out of order')
    if (place.sequence > expected.sequence) return this.#break(expected, 'is missing')
    if (bytes === undefined || event === undefined) return this.#break(expected, 'cannot be read')
    const fault = this.#faultOf(event, at)
    if (fault !== undefined) return this.#break(expected, fault, event.changeID)
    return this.#accept(event, hashLeaf(this.#trail.hash, bytes))
  }

  #faultOf(event: ChainedEvent, at: bigint | undefined): string | undefined {
    const { place, vaultID, timestamp } = event
    if (place.lane !== this.#lane || place.sequence !== this.#sequence + 1) return 'was moved here from another place'
    if (vaultID !== this.#trail.vaultID) return 'belongs to another vault'
    if (at !== undefined && !isTimeOf(event, at)) return 'is kept under another time than its own'
    if (place.previous !== this.#digest) return 'does not follow the event before it'
    return timestamp <= this.#timestamp ? 'is no later than the event before it' : undefined
  }

  #accept({ timestamp, changeID }: ChainedEvent, leaf: Uint8Array): string | undefined {
    this.#tree.append(leaf)
    this.#digest = toHex(leaf)
    this.#timestamp = timestamp
    this.#sequence++
    const [lane, sequence, digest] = [this.#lane, this.#sequence, this.#digest]
    const isHead = this.#head?.sequence === sequence
    if (!isHead && this.#trail.watched?.get(lane)?.has(sequence) !== true) return digest
    const mark = { lane, sequence, digest, root: toHex(this.#tree.root()) }
    this.#marks.set(`${lane}/${sequence}`, mark)
    if (isHead && (this.#head?.digest !== mark.digest || this.#head.root !== mark.root)) {
      return this.#break(mark, 'is not what the head of its lane says', changeID)
    }
    return digest
  }

  /** Only the first break counts: what comes behind it follows from it. */
  #break(place: LanePlace, fault: string, changeID?: string): undefined {
    this.#broken ??= breakAt(place, fault, changeID)
  }
}

function breakAt({ lane, sequence }: LanePlace, fault: string, changeID?: string): ChainBreak {
  const what = `Event ${sequence} of lane ${lane} ${fault}.`
  return { lane, sequence, what, ...(changeID === undefined ? {} : { changeID }) }
}

/** True when a head reaches as far as this event, and is this event where it reaches no further. */
function isCovered(last: LastEvent, heads: readonly LaneMark[]): boolean {
  const head = heads.find(({ lane }) => lane === last.lane)
  return head !== undefined && (head.sequence > last.sequence || (head.sequence === last.sequence && head.digest === last.digest))
}

/** An event in the one way it can be written; undefined for bytes that are none, or that say the same in another way. */
function readEvent(bytes: Uint8Array): ChainedEvent | undefined {
  try {
    const event = decodeEvent(bytes)
    return sameBytes(encodeEvent(event), bytes) ? event : undefined
  } catch {
    return undefined
  }
}
