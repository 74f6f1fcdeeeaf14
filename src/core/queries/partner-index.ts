/** Rows filed by key, in many small maps: one map of a million keys would hold the event loop each time it grows. */

import type { JoinKey } from '../sql/join-keys.ts'
import { at } from '../util/at.ts'
import type { HeldRow } from './held-row.ts'

/** Rows by the key their partners have. */
export interface PartnerIndex {
  /** Files a row; one without a key has no partners and is left out. */
  file(key: JoinKey | undefined, row: HeldRow): void
  /** The rows under a key, in the order they were filed. */
  under(key: JoinKey | undefined): readonly HeldRow[]
}

/** A power of two. With a million keys each map holds a few thousand. */
const SHARDS = 256

/** Characters of a text that tell its shard, from the end: what differs in ids, numbers and names is often there. */
const HASHED_CHARACTERS = 12

const NONE: readonly HeldRow[] = []

/** An index with nothing in it. */
export function createPartnerIndex(): PartnerIndex {
  const shards = Array.from({ length: SHARDS }, () => new Map<JoinKey, HeldRow[]>())
  return {
    file(key, row) {
      if (key === undefined) return
      const shard = at(shards, shardOf(key))
      const rows = shard.get(key)
      if (rows === undefined) shard.set(key, [row])
      else rows.push(row)
    },
    under: (key) => (key === undefined ? NONE : (at(shards, shardOf(key)).get(key) ?? NONE)),
  }
}

/** Numbers filed in the same way, to be asked whether one is among them. */
export function createNumberSet(): { add(value: number): void; has(value: number): boolean } {
  const shards = Array.from({ length: SHARDS }, () => new Set<number>())
  return {
    add: (value) => at(shards, shardOf(value)).add(value),
    has: (value) => at(shards, shardOf(value)).has(value),
  }
}

function shardOf(key: JoinKey): number {
  switch (typeof key) {
    case 'string': {
      let mixed = key.length
      for (let i = Math.max(0, key.length - HASHED_CHARACTERS); i < key.length; i++)
        mixed = (Math.imul(mixed, 31) + key.charCodeAt(i)) | 0
      return mixed & (SHARDS - 1)
    }
    case 'number':
      // `|` takes whatever is a number to 32 bits, fractions and infinities too.
      return (key | 0) & (SHARDS - 1)
    default:
      return key ? 1 : 0
  }
}
