/** A map that grows without blocking the event loop: a map of the engine copies itself whole when it is full. */
import { required } from './lists.ts'

/** A map from values of columns, or from texts made of them. */
export interface ShardedMap<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
  size(): number
}

/** A power of two. With a million keys each shard has a few thousand. */
const SHARDS = 256
/** Entries up to which there is one shard: many maps of a query stay small. */
const MAX_WHOLE = 2048

/** Characters of a string that select its shard, counted from its end: ids, numbers and names often differ there. */
const HASHED_CHARACTERS = 12

/** Creates an empty map. */
export function createShardedMap<Key, Value>(): ShardedMap<Key, Value> {
  let shards = [new Map<Key, Value>()]
  let size = 0
  const shardFor = (key: Key): Map<Key, Value> => required(shards[shards.length === 1 ? 0 : shardOf(key)])
  const set = (key: Key, value: Value): void => {
    const shard = shardFor(key)
    const before = shard.size
    shard.set(key, value)
    size += shard.size - before
  }
  const divide = (): void => {
    const [whole] = shards
    shards = Array.from({ length: SHARDS }, () => new Map<Key, Value>())
    for (const [key, value] of required(whole)) required(shards[shardOf(key)]).set(key, value)
  }
  return {
    get: (key) => shardFor(key).get(key),
    set(key, value) {
      if (size === MAX_WHOLE && shards.length === 1) divide()
      set(key, value)
    },
    size: () => size,
  }
}

function shardOf(key: unknown): number {
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
    case 'bigint':
      return Number(BigInt.asUintN(8, key))
    default:
      return key ? 1 : 0
  }
}
