/** Rows by join key, in many small maps: one map of a million keys would block the event loop whenever it grows. */

import type { JoinKey } from '../sql/join-keys.ts'
import { required } from '../util/lists.ts'
import type { BufferedRow } from './buffered-row.ts'

/** Rows by join key. */
export interface JoinIndex {
  /** Adds a row. A row without a key matches nothing and is not added. */
  add(key: JoinKey | undefined, row: BufferedRow): void
  /** Returns the rows of a key in the order they were added. */
  get(key: JoinKey | undefined): readonly BufferedRow[]
}

/** A power of two. With a million keys each map has a few thousand. */
const SHARDS = 256

/** Characters of a string that select its shard, counted from its end: ids, numbers and names often differ there. */
const HASHED_CHARACTERS = 12

const NONE: readonly BufferedRow[] = []

/** Creates an empty index. */
export function createJoinIndex(): JoinIndex {
  const shards = Array.from({ length: SHARDS }, () => new Map<JoinKey, BufferedRow[]>())
  return {
    add(key, row) {
      if (key === undefined) return
      const shard = required(shards[shardOf(key)])
      const rows = shard.get(key)
      if (rows === undefined) shard.set(key, [row])
      else rows.push(row)
    },
    get: (key) => (key === undefined ? NONE : (required(shards[shardOf(key)]).get(key) ?? NONE)),
  }
}

/** Creates an empty set of numbers, divided in the same way. */
export function createNumberSet(): { add(value: number): void; has(value: number): boolean } {
  const shards = Array.from({ length: SHARDS }, () => new Set<number>())
  return {
    add: (value) => required(shards[shardOf(value)]).add(value),
    has: (value) => required(shards[shardOf(value)]).has(value),
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
      // `|` converts any number to 32 bits, including fractions and infinities.
      return (key | 0) & (SHARDS - 1)
    default:
      return key ? 1 : 0
  }
}
