/** Sums the caches of several vaults. Counts of a closed vault stay in the totals, because a counter never falls. */
import type { CacheReading } from '../../core/ports/observability.ts'

/** The caches of the open vaults, and the counts of the closed ones. */
export interface CacheTotals {
  /** Adds the caches of a vault. Returns a function that removes them, and keeps their counts. */
  add(read: () => readonly CacheReading[]): () => void
  /** Returns one reading for each cache. */
  read(): readonly CacheReading[]
}

/** Returns totals without a vault. */
export function createCacheTotals(): CacheTotals {
  const open = new Set<() => readonly CacheReading[]>()
  let ended: readonly CacheReading[] = []
  return {
    add(read) {
      open.add(read)
      return () => {
        if (!open.delete(read)) return
        const last = read().map((reading) => ({ ...reading, entries: 0 }))
        ended = summed([...ended, ...last])
      }
    },
    read: () => summed([...ended, ...[...open].flatMap((read) => read())]),
  }
}

function summed(readings: readonly CacheReading[]): CacheReading[] {
  const byCache = new Map<string, CacheReading>()
  for (const { cache, entries, hits, misses } of readings) {
    const sum = byCache.get(cache) ?? { cache, entries: 0, hits: 0, misses: 0 }
    byCache.set(cache, { cache, entries: sum.entries + entries, hits: sum.hits + hits, misses: sum.misses + misses })
  }
  return [...byCache.values()]
}
