/** Lanes of the audit trail: chains of events, each moved by one transaction at a time, so that writers never wait for each other's. */
import { VaultError } from '../errors.ts'
import { MOST_LANES } from '../limits.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { Storage, StorageHandle } from '../ports/storage.ts'
import { AUDIT_LANES } from '../schema/side-tables.ts'
import { readU32 } from '../util/bytes.ts'
import type { EventStore } from './event-store.ts'
import { LANE_LOST } from './event-store.ts'

/** Beyond so many lanes a handle begins no new ones but uses those there are, which others may be using too. */
const MOST_NEW_LANES = 1000
/** Lent lanes that are watched for their transaction to commit. */
const MOST_LENT = 64
/** Times work is run again because another process moved the lane's head. */
const MOST_ATTEMPTS = 100

export interface Lanes {
  /**
   * Runs work with a lane that nobody else in this process has meanwhile, again with another one where its head was moved by
   * another process. Work that cannot be run again takes another lane itself, reading in the transaction it is in: that may
   * hold the last connection there is.
   */
  use<T>(work: (lane: number, another: TakeLane) => Promise<T>): Promise<T>
  /** A lane for a transaction whose end we will not see, read for inside it. It is used again once its events are seen to be stored. */
  lend(within: Storage): Promise<{ readonly lane: number; wrote(sequence: number): void }>
}

/** Takes a lane in place of one that was lost. */
export type TakeLane = (within: Storage) => Promise<number>

/** Engines that run one transaction at a time have one lane for all: whoever appends reads a head that nobody else is moving. */
export function createLanes(storage: StorageHandle, events: EventStore, entropy: Entropy): Lanes {
  if (storage.transactions === 'one at a time') return oneLane(storage)
  const free: number[] = []
  const lent = new Map<number, number>()
  let highest = 0

  async function take(within: Storage): Promise<number> {
    const found = free.pop()
    if (found !== undefined) return found
    // Awaited first: others raise the number meanwhile.
    const stored = await highestLane(within)
    highest = Math.max(highest, stored)
    if (highest < MOST_NEW_LANES) return ++highest
    return 1 + (readU32(entropy.bytes(4), 0) % Math.min(highest, MOST_LANES))
  }

  /** Frees the lent lanes whose last event is stored: the transaction they were lent to has committed. */
  async function reclaim(within: Storage): Promise<void> {
    const lanes = [...lent.keys()]
    const heads = lanes.length === 0 ? [] : await events.heads(within, lanes)
    for (const [index, lane] of lanes.entries()) {
      if ((heads[index]?.sequence ?? 0) < (lent.get(lane) ?? Number.POSITIVE_INFINITY)) continue
      lent.delete(lane)
      free.push(lane)
    }
  }

  /** Runs work with a lane of its own, which is free again afterwards unless it was lost. */
  async function useOne<T>(work: (lane: number, another: TakeLane) => Promise<T>): Promise<T> {
    let lane = await take(storage)
    const another: TakeLane = async (within) => {
      lane = await take(within)
      return lane
    }
    let isLost = false
    try {
      return await work(lane, another)
    } catch (error) {
      isLost = error === LANE_LOST
      throw error
    } finally {
      if (!isLost) free.push(lane)
    }
  }

  return {
    use: (work) =>
      untilKept(
        () => useOne(work),
        async () => {},
      ),
    async lend(within) {
      await reclaim(within)
      const lane = await take(within)
      const [oldest] = lent.keys()
      // Of a transaction that was undone no event is ever seen: after so many others its lane is given up.
      if (lent.size >= MOST_LENT && oldest !== undefined) lent.delete(oldest)
      lent.set(lane, Number.POSITIVE_INFINITY)
      return { lane, wrote: (sequence) => lent.set(lane, sequence) }
    },
  }
}

/** Nobody else moves the one lane while a transaction runs: when it is lost it was tampered with, and a new one is begun behind all others. */
function oneLane(storage: StorageHandle): Lanes {
  let lane = 1
  async function another(within: Storage): Promise<number> {
    const stored = await highestLane(within)
    lane = 1 + Math.max(lane, stored)
    return lane
  }
  return {
    lend: async () => ({ lane, wrote() {} }),
    use: (work) =>
      untilKept(
        () => work(lane, another),
        async () => {
          await another(storage)
        },
      ),
  }
}

async function highestLane(within: Storage): Promise<number> {
  const [last] = await within.find(AUDIT_LANES.name, { kind: 'every' }, { order: 'down', limit: 1, columns: [] })
  return last?.id ?? 0
}

/** Makes a call again, after giving its lane up, for as long as its lane is lost. Throws `unavailable` for who loses every lane. */
export async function untilKept<T>(call: () => Promise<T>, giveUp: () => Promise<void>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (error !== LANE_LOST) throw error
      if (attempt === MOST_ATTEMPTS)
        throw new VaultError('aborted', 'The audit trail is being written to by too many processes at once. Try again.')
      await giveUp()
    }
  }
}
