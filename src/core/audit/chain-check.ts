/** Verifies all audit chains and finds the first position where they are not as they were written. */
import type { Hash } from '../ports/hash.ts'
import { sameBytes, toHex } from '../util/bytes.ts'
import { decodeEvent, encodeEvent, isTimeOf } from './encode-event.ts'
import type { ChainedEvent } from './event.ts'
import type { LaneHead } from './lane-head.ts'
import { hashLeaf, MerkleBuilder } from './merkle.ts'
import type { LanePlace } from './place.ts'
import { placeOfRow } from './place.ts'

/** A position of a chain: the digest of its event, and the Merkle root of all events up to it, 64 hex digits each. Source: RFC 9162, section 2.1. */
export interface LaneMark {
  readonly lane: number
  readonly sequence: number
  readonly digest: string
  readonly root: string
}

/** The position where the trail differs from what was written, and why. */
export interface ChainBreak {
  readonly lane: number
  readonly sequence: number
  /** Id of the event at this position, if one can be read. */
  readonly changeID?: string
  /** A sentence. */
  readonly what: string
}

/** The result of a verification: the number of events, and the first failure in the order of chains and sequence numbers. */
export interface ChainVerdict {
  readonly ok: boolean
  readonly events: number
  readonly firstBroken?: ChainBreak
}

/** What a verification needs to start. */
export interface CheckedTrail {
  readonly hash: Hash
  readonly vaultID: string
  /** The heads of all chains, read before the events. */
  readonly heads: readonly LaneMark[]
  /** Positions whose tree heads are needed later, such as those of checkpoints: sequence numbers by chain. */
  readonly watched?: ReadonlyMap<number, ReadonlySet<number>>
}

/** The last event of a chain. */
type LastEvent = Omit<LaneMark, 'root'>

/** The next entry to verify. */
interface Entry {
  /** Undefined if the entry failed authentication. */
  readonly bytes: Uint8Array | undefined
  /** Undefined if the bytes are not an event. */
  readonly event: ChainedEvent | undefined
  /** The time of the row, in nanoseconds since 1970. Undefined for an exported event. */
  readonly at?: bigint
}

/** Returns the tree head of a chain head. */
export function markOfHead(hash: Hash, { lane, sequence, digest, tree }: LaneHead): LaneMark {
  return { lane, sequence, digest, root: toHex(new MerkleBuilder(hash, tree).root()) }
}

/** Verifies events in the order of rows, one at a time, and returns the result at the end. */
export class ChainCheck {
  readonly #input: CheckedTrail
  /** Heads of chains not reached yet, lowest chain last. */
  readonly #remaining: LaneMark[]
  readonly #treeHeads = new Map<string, LaneMark>()
  /** Last events of chains that continue after the head they had at the start. */
  readonly #longer: LastEvent[] = []
  #head: LaneMark | undefined
  #tree: MerkleBuilder
  #chain = 0
  #sequence = 0
  #digest = ''
  #timestamp = ''
  #events = 0
  #failure: ChainBreak | undefined

  constructor(input: CheckedTrail) {
    this.#input = input
    this.#tree = new MerkleBuilder(input.hash)
    this.#remaining = [...input.heads].sort((left, right) => right.lane - left.lane)
  }

  /**
   * Verifies the next stored event. `bytes` is undefined if it failed authentication; `at` is in nanoseconds. Returns its digest (64 hex
   * digits), or undefined after the first failure.
   */
  add(row: number, bytes: Uint8Array | undefined, at: bigint): string | undefined {
    this.#events++
    if (this.#failure !== undefined) return undefined
    const position = placeOfRow(row)
    if (position === undefined) return this.#fail(this.#expected(), 'is followed or replaced by a row that is not an event')
    return this.#follow(position, { bytes, event: bytes === undefined ? undefined : readEvent(bytes), at })
  }

  /** Verifies the next event of an export, which contains its position. Returns the same as `add`. */
  addExported(bytes: Uint8Array): string | undefined {
    this.#events++
    if (this.#failure !== undefined) return undefined
    const event = readEvent(bytes)
    return this.#follow(event?.place ?? this.#expected(), { bytes, event })
  }

  /** Ends the verification. `after` are the heads read after the events: events can be appended during the verification. */
  end(after: readonly LaneMark[] = this.#input.heads): ChainVerdict {
    if (this.#failure === undefined) this.#enter(Number.POSITIVE_INFINITY)
    const beyond = this.#longer.find((last) => !isCovered(last, after))
    // It precedes any other failure: it was skipped when its chain ended, until the new heads were known.
    if (beyond !== undefined) this.#failure = failureAt(beyond, 'lies after the head of its chain')
    const firstBroken = this.#failure
    return { ok: firstBroken === undefined, events: this.#events, ...(firstBroken === undefined ? {} : { firstBroken }) }
  }

  /** Returns the tree head of a watched position; undefined if it was not reached. */
  markAt(lane: number, sequence: number): LaneMark | undefined {
    return this.#treeHeads.get(`${lane}/${sequence}`)
  }

  /** Ends the current chain, whose head must be reached, and starts `chain`. No chain with a head can be skipped. */
  #enter(chain: number): void {
    const reached = this.#head?.sequence ?? 0
    if (this.#sequence < reached) this.#fail({ lane: this.#chain, sequence: this.#sequence + 1 }, 'is missing')
    else if (this.#sequence > reached) this.#longer.push({ lane: this.#chain, sequence: this.#sequence, digest: this.#digest })
    const next = this.#remaining.at(-1)
    if (next !== undefined && next.lane < chain) this.#fail({ lane: next.lane, sequence: 1 }, 'is missing')
    this.#head = next?.lane === chain ? this.#remaining.pop() : undefined
    this.#chain = chain
    this.#sequence = 0
    this.#digest = ''
    this.#timestamp = ''
    this.#tree = new MerkleBuilder(this.#input.hash)
  }

  #expected(): LanePlace {
    return { lane: this.#chain, sequence: this.#sequence + 1 }
  }

  #follow(position: LanePlace, { bytes, event, at }: Entry): string | undefined {
    if (position.lane > this.#chain) this.#enter(position.lane)
    if (this.#failure !== undefined) return undefined
    const expected = this.#expected()
    if (position.lane < expected.lane || position.sequence < expected.sequence) return this.#fail(position, 'is out of order')
    if (position.sequence > expected.sequence) return this.#fail(expected, 'is missing')
    if (bytes === undefined || event === undefined) return this.#fail(expected, 'cannot be read')
    const problem = this.#problemOf(event, at)
    if (problem !== undefined) return this.#fail(expected, problem, event.changeID)
    return this.#accept(event, hashLeaf(this.#input.hash, bytes))
  }

  #problemOf(event: ChainedEvent, at: bigint | undefined): string | undefined {
    const { place, vaultID, timestamp } = event
    if (place.lane !== this.#chain || place.sequence !== this.#sequence + 1) return 'was moved here from another position'
    if (vaultID !== this.#input.vaultID) return 'belongs to another vault'
    if (at !== undefined && !isTimeOf(event, at)) return "has a row timestamp that differs from the event's"
    if (place.previous !== this.#digest) return 'does not follow the event before it'
    return timestamp <= this.#timestamp ? 'is not later than the event before it' : undefined
  }

  #accept({ timestamp, changeID }: ChainedEvent, leaf: Uint8Array): string | undefined {
    this.#tree.append(leaf)
    this.#digest = toHex(leaf)
    this.#timestamp = timestamp
    this.#sequence++
    const [lane, sequence, digest] = [this.#chain, this.#sequence, this.#digest]
    const isHead = this.#head?.sequence === sequence
    if (!isHead && this.#input.watched?.get(lane)?.has(sequence) !== true) return digest
    const found = { lane, sequence, digest, root: toHex(this.#tree.root()) }
    this.#treeHeads.set(`${lane}/${sequence}`, found)
    if (isHead && (this.#head?.digest !== found.digest || this.#head.root !== found.root)) {
      return this.#fail(found, 'differs from the head of its chain', changeID)
    }
    return digest
  }

  /** Stores the first failure. Later ones are its consequences. */
  #fail(position: LanePlace, problem: string, changeID?: string): undefined {
    this.#failure ??= failureAt(position, problem, changeID)
  }
}

function failureAt({ lane, sequence }: LanePlace, problem: string, changeID?: string): ChainBreak {
  const what = `Event ${sequence} of audit chain ${lane} ${problem}.`
  return { lane, sequence, what, ...(changeID === undefined ? {} : { changeID }) }
}

/** True if a head is at this event, or after it in the same chain. */
function isCovered(last: LastEvent, heads: readonly LaneMark[]): boolean {
  const head = heads.find(({ lane }) => lane === last.lane)
  return head !== undefined && (head.sequence > last.sequence || (head.sequence === last.sequence && head.digest === last.digest))
}

/** Returns the event of these bytes; undefined if they are not an event in canonical form. */
function readEvent(bytes: Uint8Array): ChainedEvent | undefined {
  try {
    const event = decodeEvent(bytes)
    return sameBytes(encodeEvent(event), bytes) ? event : undefined
  } catch {
    return undefined
  }
}
