/** Verifies lines as a follower delivers them: chains in any mix, each in its order, and lines that were delivered twice. */
import { systemHash } from '../adapters/system/system.ts'
import { hashLeaf, MerkleBuilder } from '../core/audit/chain.ts'
import { changeIdOf, failureAt, type TreeHead, type VerificationFailure } from '../core/audit/chain-verifier.ts'
import { readCanonical } from '../core/audit/event-text.ts'
import { readExportLine } from '../core/audit/export-lines.ts'
import type { ChainLinks } from '../core/audit/read-event.ts'
import { toHex } from '../core/util/bytes.ts'

/** Events whose digests are kept, to compare lines that were delivered twice with them. A follower repeats fewer. */
const MAX_REPEATED = 16_384

/** Why the lines are not as they were delivered, and where, if it is known. */
type DeliveredFailure = Pick<VerificationFailure, 'reason'> & Partial<VerificationFailure>

/** The last event of a chain, and the tree of all of them. */
interface ChainEnd {
  sequence: number
  digest: string
  timestamp: string
  readonly tree: MerkleBuilder
}

/** Delivered lines, one after the other. */
export class DeliveredTrail {
  readonly #positions: ReadonlyMap<number, ReadonlySet<number>>
  readonly #chains = new Map<number, ChainEnd>()
  readonly #treeHeads = new Map<string, TreeHead>()
  /** Digests of the last events, by chain and sequence number, in the order of the lines. */
  readonly #recent = new Map<string, string>()
  #vaultID: string | undefined

  /** `positions` are those of checkpoints, whose tree heads are needed later. */
  constructor(positions: ReadonlyMap<number, ReadonlySet<number>>) {
    this.#positions = positions
  }

  /** The vault of the events; undefined before the first. */
  get vaultID(): string | undefined {
    return this.#vaultID
  }

  /** Returns the tree head of a watched position; undefined if it was not reached. */
  treeHeadAt(chain: number, sequence: number): TreeHead | undefined {
    return this.#treeHeads.get(`${chain}/${sequence}`)
  }

  /** Verifies a line. Returns true for a new event, false for one that was delivered before, and else what is wrong. `line` is its number. */
  take(text: string, line: number): boolean | DeliveredFailure {
    const read = readExportLine(text)
    if (read.kind !== 'event') return { reason: `Line ${line} is not an event.` }
    const links = readCanonical(read.bytes)
    if (links === undefined) return { reason: `Line ${line} is not an event in canonical form.` }
    const { chain, sequence } = links.position
    const leaf = hashLeaf(systemHash, read.bytes)
    const isRepeated = sequence <= (this.#chains.get(chain)?.sequence ?? 0)
    const problem = this.#problemOf(links, read.digest, toHex(leaf)) ?? (isRepeated ? undefined : this.#append(links, leaf))
    if (problem === undefined) return !isRepeated
    return failureAt({ chain, sequence }, problem, changeIdOf(read.bytes, undefined))
  }

  #problemOf({ position, timestamp, vaultID }: ChainLinks, given: string, digest: string): string | undefined {
    const { chain, sequence, previous } = position
    this.#vaultID ??= vaultID
    if (given !== digest) return 'has a digest that differs from its event'
    if (vaultID !== this.#vaultID) return 'belongs to another vault'
    const last = this.#chains.get(chain)
    const before = last?.sequence ?? 0
    if (sequence <= before) {
      const known = this.#recent.get(`${chain}/${sequence}`)
      if (known === undefined) return 'is repeated too long after it was delivered'
      return known === digest ? undefined : 'differs from the same event before it'
    }
    // The first that is missing.
    if (sequence > before + 1) return `is delivered, and event ${before + 1} is missing`
    if (previous !== (last?.digest ?? '')) return 'does not follow the event before it'
    return timestamp <= (last?.timestamp ?? '') ? 'is not later than the event before it' : undefined
  }

  #append({ position: { chain, sequence }, timestamp }: ChainLinks, leaf: Uint8Array): undefined {
    const tree = this.#chains.get(chain)?.tree ?? new MerkleBuilder(systemHash)
    tree.append(leaf)
    const digest = toHex(leaf)
    this.#chains.set(chain, { sequence, digest, timestamp, tree })
    this.#recent.set(`${chain}/${sequence}`, digest)
    const [oldest] = this.#recent.size > MAX_REPEATED ? this.#recent.keys() : []
    if (oldest !== undefined) this.#recent.delete(oldest)
    if (this.#positions.get(chain)?.has(sequence) === true)
      this.#treeHeads.set(`${chain}/${sequence}`, { chain, sequence, digest, root: toHex(tree.root()) })
  }
}
