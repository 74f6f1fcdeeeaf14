/** Seals the bodies of one place again with the active root key, a slice of rows at a time, beside writers; and counts bodies by the key that they are sealed with. */
import type { CatalogKeys } from '../catalog/catalog-entries.ts'
import type { Job, MaintenancePass } from '../maintenance/job.ts'
import { possibleRows } from '../pace/pace.ts'
import type { BytesPart, Patch, Row, Storage } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import { readVersion, readVersions, resealBodies } from '../sealing/envelope.ts'
import { at, groupBy } from '../util/lists.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import { lostOf, type PassPlace, rowPass, untilPatched } from './row-pass.ts'
import type { SealedPlace } from './sealed-places.ts'

/** Rows of a slice at most: it holds the event loop, and on SQLite the file, for some milliseconds. */
const MAX_ROWS = 1000
/** Bodies that one part of a count reads. */
const MAX_COUNTED = 2000

/** What a pass over a place has done. */
export interface ResealCounts {
  resealed: number
  unreadable: number
}

/** A pass over a place. */
export interface Resealing extends PassPlace {
  readonly storage: Storage
  /** Its ring is read again for each slice. */
  readonly keys: CatalogKeys
  readonly place: SealedPlace
  readonly job: Pick<Job, 'savePlace'>
  readonly counts: ResealCounts
}

/**
 * Returns the pass. A row that others change meanwhile is read again: a change of plain columns alone keeps the body. Only bodies of an older key
 * than the active one are changed, so that a pass that slept through a later rotation puts no older key back.
 */
export function resealPass({ storage, keys, place, job, counts, after, placeAt }: Resealing): MaintenancePass {
  const { table, name, filter } = place
  const columns = [place.column, ...place.reads]
  return rowPass(storage, { table, name, filter, columns, after, max: MAX_ROWS }, (rows, last) =>
    untilPatched(storage, { table, rows }, async (pending) => {
      const patches = patchesOf(keys, place, olderOf(keys, place, pending), counts)
      if (patches.length === 0) return []
      const arePatched = await storage.transaction(async (inner) => {
        const applied = await inner.update(table, patches)
        await job.savePlace(inner, placeAt(last))
        return applied
      })
      const lost = lostOf(patches, arePatched)
      counts.resealed += patches.length - lost.length
      return lost
    }),
  )
}

function olderOf({ ring }: CatalogKeys, { column }: SealedPlace, rows: readonly Row[]): Row[] {
  return rows.filter(({ [column]: body }) => {
    const version = body instanceof Uint8Array ? readVersion(body, 0, body.length) : 0
    return version > 0 && version < ring.activeVersion
  })
}

/** Returns the patches that seal these rows again, without those that do not open, which are counted. */
function patchesOf(keys: CatalogKeys, place: SealedPlace, rows: readonly Row[], counts: ResealCounts): Patch[] {
  const patches: Patch[] = []
  for (const [, group] of groupBy(rows, (row) => place.bodiesOf(row).objectId)) {
    const ids = group.map(({ id }) => id)
    const sealed = group.map(({ [place.column]: body }) => body as Uint8Array)
    const { resealed, opened } = resealBodies(keys, place.bodiesOf(at(group, 0)), { ids, sealed })
    for (const [index, { id, version }] of group.entries()) {
      if (opened[index] === 1) patches.push({ id, version, set: { [place.column]: at(resealed, index) } })
      else counts.unreadable++
    }
  }
  return patches
}

/** Returns the number of bodies of a place by the version of their root key, without those that none seals, as those of subjects. Reads all of them. */
export async function countBodies(
  {
    storage,
    scheduler,
    signal,
  }: { readonly storage: Storage; readonly scheduler: Scheduler; readonly signal?: Signal | undefined },
  { table, column, filter }: SealedPlace,
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>()
  for (let after: number | undefined = 0; after !== undefined; ) {
    assertNotAborted(signal)
    const part: BytesPart = await storage.scan(table, possibleRows(filter), { shape: 'bytes', column, after, limit: MAX_COUNTED })
    for (const version of readVersions(part.cells)) if (version > 0) counts.set(version, (counts.get(version) ?? 0) + 1)
    after = part.next
    part.free?.()
    await scheduler.yield()
  }
  return counts
}
