/** Followers of a trail, and a wrong one. */
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { Vault } from '../../../src/index.ts'
import { chainOf } from './stored-trail.ts'

/** What a vault is followed by. */
type Followable = Pick<Vault, 'followAudit'>
type Batch = ReturnType<Followable['followAudit']> extends AsyncIterable<infer One> ? One : never
type Cursor = Batch['cursor']

/** All batches up to the first look that finds nothing new, or until `isEnough`. */
export async function batchesOf(
  vault: Followable,
  { after, isEnough = () => false }: { readonly after?: Cursor; readonly isEnough?: (events: number) => boolean } = {},
): Promise<Batch[]> {
  const stop = new AbortController()
  const batches: Batch[] = []
  let quiet: NodeJS.Timeout | undefined
  const options = { signal: stop.signal, pollMs: 10, ...(after === undefined ? {} : { after }) }
  const wait = () => {
    clearTimeout(quiet)
    quiet = setTimeout(() => stop.abort(), 300)
  }
  wait()
  for await (const batch of vault.followAudit(options)) {
    batches.push(batch)
    wait()
    if (isEnough(batches.reduce((sum, { events }) => sum + events.length, 0))) stop.abort()
  }
  clearTimeout(quiet)
  return batches
}

export const linesOf = (batches: readonly Batch[]): string[] => batches.flatMap(({ events }) => events.map(({ line }) => line))

/** A planted fault: a follower that remembers the highest row that it has seen, and asks for those after it. Returns a function that looks for more, by row id. */
export function highestIdPager(storage: StorageHandle): () => Promise<number[]> {
  let highest = 0
  return async () => {
    const rows = await storage.find('audit_events', { kind: 'all' }, { order: 'asc', after: highest, limit: 1000, columns: [] })
    highest = rows.at(-1)?.id ?? highest
    return rows.map((row) => (chainOf(row) > 0 ? row.id : 0))
  }
}
