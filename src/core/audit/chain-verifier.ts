/** Verifies all audit chains and finds the first position where they are not as they were written. */
import type { Hash } from '../ports/crypto.ts'
import { ByteWriter, readUtf8, sameBytes, toHex } from '../util/bytes.ts'
import { fromHex } from '../util/text.ts'
import { toTimestamp } from '../util/time.ts'
import { beginLeaf, type ChainHead, type ChainPosition, fromRowId, hashPrefixed, MerkleBuilder, NO_DIGEST } from './chain.ts'
import { copyCanonical, parseEventText } from './event-text.ts'
import { type ChainLinks, copyText, decodeEvent } from './read-event.ts'

/** A position of a chain: the digest of its event, and the Merkle root of all events up to it, 64 hex digits each. Source: RFC 9162, section 2.1. */
export interface TreeHead {
  readonly chain: number
  readonly sequence: number
  readonly digest: string
  readonly root: string
}

/** The position where the trail differs from what was written, and why. */
export interface VerificationFailure {
  readonly chain: number
  readonly sequence: number
  /** Id of the event at this position, if one can be read. */
  readonly changeID?: string
  /** A sentence. */
  readonly reason: string
}

/** The result of a verification: the number of events, and the first failure in the order of chains and sequence numbers. */
export interface VerificationResult {
  readonly ok: boolean
  readonly eventCount: number
  readonly firstFailure?: VerificationFailure
}

/** What a verification needs to start. */
export interface VerifierInput {
  readonly hash: Hash
  readonly vaultID: string
  /** The heads of all chains, read before the events. */
  readonly heads: readonly TreeHead[]
  /** Positions whose tree heads are needed later, such as those of checkpoints: sequence numbers by chain. */
  readonly watchedPositions?: ReadonlyMap<number, ReadonlySet<number>>
}

/** The last event of a chain. */
type LastEvent = Omit<TreeHead, 'root'>

/** The next entry to verify. */
interface Entry {
  /** Undefined if the entry failed authentication. */
  readonly bytes: Uint8Array | undefined
  /** Undefined if the bytes are not an event. Its text is written then. */
  readonly links: ChainLinks | undefined
  /** The time of the row, in nanoseconds since 1970. Undefined for an exported event. */
  readonly at?: bigint
}

/** Returns the tree head of a chain head. */
export function treeHeadOf(hash: Hash, { chain, sequence, digest, tree }: ChainHead): TreeHead {
  return { chain, sequence, digest: toHex(digest), root: toHex(new MerkleBuilder(hash, tree).root()) }
}

/** Verifies events in the order of rows, one at a time, and returns the result at the end. */
export class ChainVerifier {
  readonly #input: VerifierInput
  /** The prefix of a leaf, and the text of the event that is verified. */
  readonly #leaf = new ByteWriter()
  /** Heads of chains not reached yet, lowest chain last. */
  readonly #remaining: TreeHead[]
  readonly #treeHeads = new Map<string, TreeHead>()
  /** Last events of chains that continue after the head they had at the start. */
  readonly #longer: LastEvent[] = []
  #head: TreeHead | undefined
  #tree: MerkleBuilder
  #chain = 0
  #sequence = 0
  /** Digest of the last event. */
  #digest: Uint8Array = NO_DIGEST
  #timestamp = ''
  #events = 0
  #failure: VerificationFailure | undefined

  constructor(input: VerifierInput) {
    this.#input = input
    this.#tree = new MerkleBuilder(input.hash)
    this.#remaining = [...input.heads].sort((left, right) => right.chain - left.chain)
  }

  /**
   * Verifies the next stored event. `bytes` is undefined if it failed authentication; `at` is in nanoseconds. Returns its digest, or
   * undefined after the first failure.
   */
  add(row: number, bytes: Uint8Array | undefined, at: bigint): Uint8Array | undefined {
    this.#events++
    if (this.#failure !== undefined) return undefined
    const position = fromRowId(row)
    if (position === undefined) return this.#fail(this.#expected(), 'is followed or replaced by a row that is not an event')
    return this.#follow(position, { bytes, links: bytes === undefined ? undefined : copyText(this.#begin(), bytes), at })
  }

  /** Verifies the next event of an export, which contains its position. Returns the same as `add`. */
  addExported(bytes: Uint8Array): Uint8Array | undefined {
    this.#events++
    if (this.#failure !== undefined) return undefined
    const links = copyCanonical(this.#begin(), bytes)
    return this.#follow(links?.position ?? this.#expected(), { bytes, links })
  }

  /** Ends the verification. `after` are the heads read after the events: events can be appended during the verification. */
  end(after: readonly TreeHead[] = this.#input.heads): VerificationResult {
    if (this.#failure === undefined) this.#enter(Number.POSITIVE_INFINITY)
    const beyond = this.#longer.find((last) => !isCovered(last, after))
    // It precedes any other failure: it was skipped when its chain ended, until the new heads were known.
    if (beyond !== undefined) this.#failure = failureAt(beyond, 'lies after the head of its chain')
    const firstFailure = this.#failure
    return { ok: firstFailure === undefined, eventCount: this.#events, ...(firstFailure === undefined ? {} : { firstFailure }) }
  }

  /** Returns the tree head of a watched position; undefined if it was not reached. */
  treeHeadAt(chain: number, sequence: number): TreeHead | undefined {
    return this.#treeHeads.get(`${chain}/${sequence}`)
  }

  /** Ends the current chain, whose head must be reached, and starts `chain`. No chain with a head can be skipped. */
  #enter(chain: number): void {
    const reached = this.#head?.sequence ?? 0
    if (this.#sequence < reached) this.#fail({ chain: this.#chain, sequence: this.#sequence + 1 }, 'is missing')
    else if (this.#sequence > reached)
      this.#longer.push({ chain: this.#chain, sequence: this.#sequence, digest: toHex(this.#digest) })
    const next = this.#remaining.at(-1)
    if (next !== undefined && next.chain < chain) this.#fail({ chain: next.chain, sequence: 1 }, 'is missing')
    this.#head = next?.chain === chain ? this.#remaining.pop() : undefined
    this.#chain = chain
    this.#sequence = 0
    this.#digest = NO_DIGEST
    this.#timestamp = ''
    this.#tree = new MerkleBuilder(this.#input.hash)
  }

  #expected(): ChainPosition {
    return { chain: this.#chain, sequence: this.#sequence + 1 }
  }

  /** Returns where the text of the next event is written. */
  #begin(): ByteWriter {
    beginLeaf(this.#leaf)
    return this.#leaf
  }

  #follow(position: ChainPosition, { bytes, links, at }: Entry): Uint8Array | undefined {
    if (position.chain > this.#chain) this.#enter(position.chain)
    if (this.#failure !== undefined) return undefined
    const expected = this.#expected()
    if (position.chain < expected.chain || position.sequence < expected.sequence) return this.#fail(position, 'is out of order')
    if (position.sequence > expected.sequence) return this.#fail(expected, 'is missing')
    if (bytes === undefined || links === undefined) return this.#fail(expected, 'cannot be read')
    const problem = this.#problemOf(links, at) ?? this.#accept(links)
    return problem === undefined ? this.#digest : this.#fail(expected, problem, changeIdOf(bytes, at))
  }

  #problemOf({ position, vaultID, timestamp }: ChainLinks, at: bigint | undefined): string | undefined {
    if (position.chain !== this.#chain || position.sequence !== this.#sequence + 1) return 'was moved here from another position'
    if (vaultID !== this.#input.vaultID) return 'belongs to another vault'
    if (at !== undefined && toTimestamp(at) !== timestamp) return "has a row timestamp that differs from the event's"
    if (!isDigest(position.previous, this.#digest)) return 'does not follow the event before it'
    return timestamp <= this.#timestamp ? 'is not later than the event before it' : undefined
  }

  /** Appends the event whose text is written. Returns why it cannot be at the head of its chain, if it is there. */
  #accept({ timestamp }: ChainLinks): string | undefined {
    const leaf = hashPrefixed(this.#input.hash, this.#leaf)
    this.#tree.append(leaf)
    this.#digest = leaf
    this.#timestamp = timestamp
    this.#sequence++
    const [chain, sequence] = [this.#chain, this.#sequence]
    const isHead = this.#head?.sequence === sequence
    if (!isHead && this.#input.watchedPositions?.get(chain)?.has(sequence) !== true) return undefined
    const found = { chain, sequence, digest: toHex(leaf), root: toHex(this.#tree.root()) }
    this.#treeHeads.set(`${chain}/${sequence}`, found)
    const isOther = isHead && (this.#head?.digest !== found.digest || this.#head.root !== found.root)
    return isOther ? 'differs from the head of its chain' : undefined
  }

  /** Stores the first failure. Later ones are its consequences. */
  #fail(position: ChainPosition, problem: string, changeID?: string): undefined {
    this.#failure ??= failureAt(position, problem, changeID)
  }
}

/** Returns the id of an event, which was exported as text or is stored. */
export function changeIdOf(bytes: Uint8Array, at: bigint | undefined): string | undefined {
  return at === undefined ? parseEventText(readUtf8(bytes, 0, bytes.length))?.changeID : decodeEvent(bytes).changeID
}

/** True if this is a digest, given as 64 hex digits or as bytes. No digits are no digest. */
function isDigest(given: string | Uint8Array, digest: Uint8Array): boolean {
  return sameBytes(typeof given === 'string' ? fromHex(given) : given, digest)
}

/** Returns the failure of an event: `problem` is what follows its name in the sentence. */
export function failureAt({ chain, sequence }: ChainPosition, problem: string, changeID?: string): VerificationFailure {
  const reason = `Event ${sequence} of audit chain ${chain} ${problem}.`
  return { chain, sequence, reason, ...(changeID === undefined ? {} : { changeID }) }
}

/** True if a head is at this event, or after it in the same chain. */
function isCovered(last: LastEvent, heads: readonly TreeHead[]): boolean {
  const head = heads.find(({ chain }) => chain === last.chain)
  return head !== undefined && (head.sequence > last.sequence || (head.sequence === last.sequence && head.digest === last.digest))
}
