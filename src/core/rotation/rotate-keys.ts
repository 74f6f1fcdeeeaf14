/** Replaces the root key that seals, beside writers, and proves that no body needs the one before. Ended at any point, the next call goes on. */
import { isKeyError } from '../catalog/key-errors.ts'
import type { Catalog } from '../catalog/open-catalog.ts'
import { fault, isVaultError, words } from '../errors.ts'
import type { Job } from '../maintenance/job.ts'
import { countRows } from '../pace/pace.ts'
import type { Scheduler } from '../ports/time.ts'
import { attempt, type Reason } from '../util/attempt.ts'
import {
  activateRootKey,
  activeVersion,
  addRootKey,
  changeKeys,
  endResealing,
  type KeyChangePorts,
  type Patience,
} from './change-keys.ts'
import { type ResealCounts, resealPass } from './reseal-pass.ts'
import { preparedPlaces, type SealedPlace } from './sealed-places.ts'

/** What a rotation needs. */
export interface RotationPorts extends KeyChangePorts {
  readonly catalog: Catalog
  readonly scheduler: Scheduler
  /** Records a step. */
  record(step: 'added' | 'activated' | 'ended', version: number): Promise<void>
}

/** The result of a rotation. */
export interface KeyRotation {
  /** The version of the root key that seals now. */
  readonly version: number
  /** Bodies that this call sealed again, by the table that holds them: its name in the schema, or `system.` and that of a table that every vault has. */
  readonly resealed: Readonly<Record<string, number>>
  /** Bodies that an older key seals and that do not open: they were damaged before. */
  readonly unreadable: number
  /** True if no body needs an older key: none was unreadable. `destroyKey` counts them before it believes that. */
  readonly complete: boolean
}

/** Milliseconds that one try to lock all tables waits: while it waits for a long transaction, other writers wait for it. */
export const LOCK_MS = 200
/** Tries, and milliseconds between two, in which other writers go on: a minute in all. */
const LOCK_TRIES = 100
const PAUSE_MS = 400

/** Rotates: adds a root key, waits for `settleMs` until other processes know it, activates it, and seals everything again. */
export async function rotateKeys(ports: RotationPorts, job: Job, settleMs: number): Promise<KeyRotation> {
  const { storage, catalog } = ports
  await catalog.reload(storage)
  const pending = catalog.state.roots.find(({ state }) => state === 'pending')
  if (pending !== undefined || !catalog.state.isResealing) await replaceKey(ports, job, { version: pending?.version, settleMs })
  const version = activeVersion(catalog.state)
  const { resealed, unreadable } = await resealAll(ports, job, version)
  await changeKeys(ports, catalog, () => endResealing(ports, catalog, version, patienceOf(job)))
  await ports.record('ended', version)
  return { version, resealed, unreadable, complete: unreadable === 0 }
}

/** Adds a key, unless one is pending, and activates it. */
async function replaceKey(
  ports: RotationPorts,
  job: Job,
  { version: pending, settleMs }: { readonly version: number | undefined; readonly settleMs: number },
): Promise<void> {
  const { storage, catalog } = ports
  const version = pending ?? (await changeKeys(ports, catalog, () => addRootKey(ports, catalog, patienceOf(job))))
  if (pending === undefined) await ports.record('added', version)
  await job.wait(settleMs)
  await changeKeys(ports, catalog, () =>
    attempt([lockTries(job, 'rotateKeys')], async () => {
      const { state: from } = catalog
      const tables = (await preparedPlaces(storage, from)).map(({ table }) => table)
      await activateRootKey(ports, catalog, { from, version, tables, waitMs: LOCK_MS })
    }),
  )
  await ports.record('activated', version)
}

/** How a change of the catalog waits for transactions that append to the trail. */
function patienceOf(job: Job): Patience {
  return { waitMs: LOCK_MS, again: lockTries(job, 'rotateKeys') }
}

/** A lock of all tables that others hold: they go on between two tries. `method` is what to call again. */
export function lockTries(job: Pick<Job, 'wait'>, method: string): Reason {
  return {
    // A key service that is away has tried again itself.
    is: (error) => isVaultError(error, 'unavailable') && !isKeyError(error),
    most: LOCK_TRIES,
    between: () => job.wait(PAUSE_MS),
    lastWord: (error) =>
      fault('unavailable')`A transaction has been writing for more than a minute, or the storage is away (${words(
        isVaultError(error) ? error.message : 'no answer',
      )}). Nothing is half done: call ${words(method)} again.`,
  }
}

/** Seals all places again, from where an earlier run ended. Every commit since the activation is under the new key, so one visit of each row is enough. */
async function resealAll(
  { storage, catalog }: RotationPorts,
  job: Job,
  version: number,
): Promise<Omit<KeyRotation, 'version' | 'complete'>> {
  const places = await preparedPlaces(storage, catalog.state)
  const begin = placeOf(job, version, places)
  const counts: ResealCounts = { resealed: 0, unreadable: begin.unreadable }
  const resealed: Record<string, number> = {}
  job.expect(await countRows(storage, places))
  for (const [index, place] of places.entries()) {
    if (index < begin.index) continue
    const before = counts.resealed
    const after = index === begin.index ? begin.after : 0
    const placeAt = (row: number) => ({ version, table: place.table, after: row, unreadable: counts.unreadable })
    await job.pass(resealPass({ storage, keys: catalog.barrier, place, job, counts, after, placeAt }))
    if (counts.resealed > before) resealed[place.name] = counts.resealed - before
  }
  return { resealed, unreadable: counts.unreadable }
}

/** Returns where a pass for this version ended early. */
function placeOf({ place }: Job, version: number, places: readonly SealedPlace[]) {
  const index = places.findIndex(({ table }) => table === place?.table)
  if (place?.version !== version || index < 0) return { index: 0, after: 0, unreadable: 0 }
  return { index, after: Number(place.after), unreadable: Number(place.unreadable) }
}
