/** Follows the audit trail: gives the events after a cursor as they are committed, each chain in its order, and the chains merged by time. */
import { beginLeaf, hashPrefixed, toRowId } from '../audit/chain.ts'
import { failureAt, type VerificationFailure } from '../audit/chain-verifier.ts'
import { hexDigest } from '../audit/checkpoint.ts'
import { lineOf } from '../audit/export-lines.ts'
import { copyText } from '../audit/read-event.ts'
import { fault } from '../errors.ts'
import { MAX_CHAINS } from '../limits.ts'
import { createPace, createPageSize } from '../pace/pace.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS, CLOSED_CHAIN } from '../schema/system-tables.ts'
import { ByteWriter, toHex } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { integer, listOf, objectOf, text } from '../util/options.ts'
import { toTimestamp } from '../util/time.ts'
import type { AuditTrail } from './audit-trail.ts'
import type { OpenedEntry } from './event-store.ts'
import { openInSlices, type ReadHead, readHeads } from './read-trail.ts'

/** The last event of each chain that was given. It is plain JSON data. */
export interface AuditCursor {
  readonly vaultID: string
  /** `digest`, 64 hex digits, is of the event at `sequence`, so that a trail which was changed or restored since then is noticed. */
  readonly chains: readonly { readonly chain: number; readonly sequence: number; readonly digest: string }[]
}

/** An event that was read. */
export interface TrailEvent {
  readonly chain: number
  readonly sequence: number
  /** RFC 3339 in UTC with nine decimals. */
  readonly timestamp: string
  /** Its line of an export. */
  readonly line: string
  /** The event as it is sealed. */
  readonly bytes: Uint8Array
}

/** Some next events. */
export interface TrailBatch {
  /** At least one, unless there are failures. */
  readonly events: readonly TrailEvent[]
  /** The position after these events, to continue from. */
  readonly cursor: AuditCursor
  /** Number of events that were committed before the look in which these were found, and follow. */
  readonly behind: number
  /** Chains that cannot be followed further, each once until it can be followed again. The other chains go on. */
  readonly failures: readonly VerificationFailure[]
}

/** Events of a batch at most, and characters of its lines unless one event has more. */
const BATCH = { events: 500, characters: 1_000_000 } as const
/** Rows of a read, in all chains. Long events are read fewer at a time. */
const SIZES = { first: 64, max: 512 } as const

const cursorShape = objectOf({
  vaultID: text,
  chains: listOf(objectOf({ chain: integer(1, MAX_CHAINS), sequence: integer(1, 0xffff_ffff), digest: hexDigest })),
})

/** Returns the cursor. Throws `invalid_request` if it is not one, or is of another vault. */
export function parseCursor(given: unknown, vaultID: string): AuditCursor {
  const cursor = given === undefined ? { vaultID, chains: [] } : cursorShape(given)
  if (cursor === undefined) throw fault('invalid_request')`after must be a cursor that following gave.`
  if (cursor.vaultID !== vaultID) throw fault('invalid_request')`after is a cursor of another vault.`
  return cursor
}

/** A position in a chain. The digest is empty before the first event. */
interface Position {
  readonly sequence: number
  readonly digest: string
}

/** A chain that is followed. */
interface Followed {
  readonly chain: number
  given: Position
  /** The last event that was read. Those after `given` wait to be merged. */
  read: Position
  waiting: ReadEvent[]
  /** The last event that is known to be committed. */
  end: number
}

interface ReadEvent extends TrailEvent {
  readonly digest: string
}

const START: Position = { sequence: 0, digest: '' }

/** Follows one trail from a cursor. */
export class TrailFollower {
  readonly #trail: AuditTrail
  readonly #chains = new Map<number, Followed>()
  readonly #size = createPageSize(SIZES)
  readonly #leaf = new ByteWriter()
  /** The reason of each chain that cannot be followed further, as it was reported. */
  readonly #reported = new Map<number, string>()
  /** Failures that the next batch reports. */
  #failures: VerificationFailure[] = []

  constructor(trail: AuditTrail, cursor: AuditCursor) {
    this.#trail = trail
    for (const { chain, sequence, digest } of cursor.chains) this.#begin(chain, { sequence, digest })
  }

  /**
   * Looks which events are committed, and yields them in batches. Every event up to a stored head is stored: events are appended to a chain one
   * transaction after the other, and each moves the head. So what commits late, in this chain or another, is after the cursor of its chain. Throws
   * `failed_precondition` behind the last event of a vault that was moved to another storage.
   */
  async *look(): AsyncGenerator<TrailBatch> {
    // Before the heads: what was committed up to the closing is given first.
    const isClosed = await this.#isClosed()
    const heads = await readHeads(this.#trail)
    for (const head of heads) this.#sight(head)
    const stored = new Set(heads.map(({ chain }) => chain))
    for (const { chain, given } of this.#chains.values())
      if (!stored.has(chain)) this.#fail(chain, given.sequence, 'was given, and its chain is gone')
    for (;;) {
      await this.#read()
      const events = this.#merge()
      if (events.length === 0 && this.#failures.length === 0) break
      const failures = this.#failures
      this.#failures = []
      yield { events, cursor: this.#cursor(), behind: this.#behind(), failures }
    }
    if (isClosed)
      throw fault(
        'failed_precondition',
      )`The vault was moved out of this storage, and all events up to then were given. Follow it where it is now, from the same cursor.`
  }

  /** True if the vault was moved away: nothing is ever appended here again. */
  async #isClosed(): Promise<boolean> {
    const closed = { kind: 'compare', column: 'released', operator: '=', value: CLOSED_CHAIN } as const
    return (await this.#trail.storage.find(AUDIT_CHAINS.name, closed, { order: 'asc', limit: 1, columns: [] })).length > 0
  }

  #begin(chain: number, position: Position): Followed {
    const followed = { chain, given: position, read: position, waiting: [], end: position.sequence }
    this.#chains.set(chain, followed)
    return followed
  }

  /** Takes the stored head of a chain. */
  #sight({ chain, head }: ReadHead): void {
    const followed = this.#chains.get(chain) ?? this.#begin(chain, START)
    const { sequence, digest } = followed.read
    followed.end = sequence
    if (head === undefined) this.#fail(chain, sequence + 1, 'cannot be found: the head of the chain cannot be read')
    else if (head.sequence < sequence) this.#fail(chain, sequence, 'was given, and the chain now ends before it')
    else if (head.sequence === sequence && head.digest !== digest) this.#fail(chain, sequence, 'differs from what was given')
    else {
      followed.end = head.sequence
      if (head.sequence === sequence) this.#reported.delete(chain)
    }
  }

  /** Reads the next rows of each chain that has some and of which none wait, together. */
  async #read(): Promise<void> {
    const lacking = [...this.#chains.values()].filter((chain) => isUnread(chain) && chain.waiting.length === 0)
    if (lacking.length === 0) return
    const { storage } = this.#trail
    const each = Math.ceil(this.#size.next() / lacking.length)
    const ids = lacking.flatMap(({ chain, read, end }) =>
      Array.from({ length: Math.min(each, end - read.sequence) }, (_, step) =>
        toRowId({ chain, sequence: read.sequence + 1 + step }),
      ),
    )
    const rows = (await storage.get(AUDIT_EVENTS.name, ids)).filter((row) => row !== undefined)
    this.#size.read(rows)
    const opened = new Map<number, OpenedEntry>()
    for await (const entries of openInSlices(this.#trail, { kind: 'event', rows, pace: createPace(this.#trail) }))
      for (const entry of entries) opened.set(entry.id, entry)
    for (const followed of lacking) this.#take(followed, each, opened)
  }

  /** Takes the next events of a chain, up to the first that does not follow. */
  #take(followed: Followed, count: number, opened: ReadonlyMap<number, OpenedEntry>): void {
    const { chain } = followed
    const last = Math.min(followed.end, followed.read.sequence + count)
    while (followed.read.sequence < last) {
      const { sequence } = followed.read
      const event = this.#next(followed, opened.get(toRowId({ chain, sequence: sequence + 1 })))
      if (typeof event === 'string') {
        followed.end = sequence
        this.#fail(chain, sequence + 1, event)
        return
      }
      followed.read = positionOf(event)
      followed.waiting.push(event)
      this.#reported.delete(chain)
    }
  }

  /** Returns the event of an entry, which must be the next one; else why it is not, as a clause. */
  #next({ chain, read }: Followed, entry: OpenedEntry | undefined): ReadEvent | string {
    if (entry === undefined) return 'is missing'
    beginLeaf(this.#leaf)
    const links = entry.bytes === undefined ? undefined : copyText(this.#leaf, entry.bytes)
    if (entry.bytes === undefined || links === undefined) return 'cannot be read'
    const { position, timestamp, vaultID } = links
    const sequence = read.sequence + 1
    if (position.chain !== chain || position.sequence !== sequence || vaultID !== this.#trail.vaultID)
      return 'was moved here from another position'
    if (hexOf(position.previous) !== read.digest) return 'does not follow the event before it'
    if (toTimestamp(entry.at) !== timestamp) return "has a row timestamp that differs from the event's"
    const digest = toHex(hashPrefixed(this.#trail.hash, this.#leaf))
    return { chain, sequence, timestamp, digest, line: lineOf(digest, this.#leaf), bytes: entry.bytes }
  }

  /** Takes the earliest of the events that wait, as long as each chain that has more has one waiting. */
  #merge(): ReadEvent[] {
    const batch: ReadEvent[] = []
    for (let characters = 0; batch.length < BATCH.events && characters < BATCH.characters; ) {
      const chains = [...this.#chains.values()].filter((chain) => chain.waiting.length > 0 || isUnread(chain))
      if (chains.length === 0 || chains.some(({ waiting }) => waiting.length === 0)) return batch
      const first = chains.reduce((left, right) => (timeOf(right) < timeOf(left) ? right : left))
      const event = required(first.waiting.shift(), 'An event that waits')
      first.given = positionOf(event)
      batch.push(event)
      characters += event.line.length
    }
    return batch
  }

  #cursor(): AuditCursor {
    const given = [...this.#chains.values()].filter((chain) => chain.given.sequence > 0)
    const chains = given.map(({ chain, given: { sequence, digest } }) => ({ chain, sequence, digest }))
    return { vaultID: this.#trail.vaultID, chains: chains.sort((left, right) => left.chain - right.chain) }
  }

  #behind(): number {
    return [...this.#chains.values()].reduce((sum, { end, given }) => sum + Math.max(0, end - given.sequence), 0)
  }

  #fail(chain: number, sequence: number, problem: string): void {
    const failure = failureAt({ chain, sequence }, problem)
    if (this.#reported.get(chain) === failure.reason) return
    this.#reported.set(chain, failure.reason)
    this.#failures.push(failure)
  }
}

function positionOf({ sequence, digest }: Position): Position {
  return { sequence, digest }
}

function isUnread({ read, end }: Followed): boolean {
  return read.sequence < end
}

function timeOf({ waiting }: Followed): string {
  return waiting[0]?.timestamp ?? ''
}

function hexOf(previous: string | Uint8Array): string {
  return typeof previous === 'string' ? previous : toHex(previous)
}
