/** Replaces the root key that looks up, beside writers: digests are of the new one when it has ended, and ids and tokens of both are accepted until it is finished. */
import { OUTDATED, retryingBarrier } from '../barrier/barrier.ts'
import { FRESH_MS } from '../catalog/open-catalog.ts'
import { lookupVersionsOf } from '../catalog/root-keys.ts'
import { fault, isVaultError } from '../errors.ts'
import type { Job, MaintenancePass } from '../maintenance/job.ts'
import { lostOf, type PassPlace, rowPass, untilPatched } from '../maintenance/row-pass.ts'
import { countRows, eachPossiblePage } from '../pace/pace.ts'
import type { Row, Storage } from '../ports/storage.ts'
import { noteFormer } from '../records/former-tokens.ts'
import { layoutSchema } from '../schema/layout.ts'
import { FORMER_TOKENS } from '../schema/system-tables.ts'
import { attempt } from '../util/attempt.ts'
import { addLookupKey, changeKeys, digestBy, lookUpBy, removeRootKey } from './change-keys.ts'
import { type LookupPlace, lookupPlaces, type RaisedRows } from './lookup-places.ts'
import { LOCK_MS, lockTries, type RotationPorts } from './rotate-keys.ts'

/** The result of a rotation of look-up keys. */
export interface LookupRotation {
  /** The version of the root key that new ids, tokens and digests are of. */
  readonly version: number
  /** The version of the one before, of which ids and tokens are accepted until `finishLookups`. */
  readonly before: number
  /** Rows that this call gave new digests, by their table. */
  readonly replaced: Readonly<Record<string, number>>
  /** Rows that do not open, so that their digests stay: they keep `finishLookups` from ending. */
  readonly unreadable: number
}

/** The result of its end. */
export interface LookupsFinished {
  /** The version of the root key that was destroyed. */
  readonly destroyed: number
  /** Rows that were compared: none had a digest of that key. */
  readonly checked: number
  /** Deterministic tokens that no longer resolve. */
  readonly tokens: number
}

/** Milliseconds that a rotation waits at least, so that readers that look at the catalog every `FRESH_MS` know the new key when the first digest changes. */
export const MIN_SETTLE_MS = FRESH_MS + 5_000
const MAX_ROWS = 500

/** Rotates: adds a look-up key, waits until all readers know it, makes new digests of it, replaces those of all rows, and then makes ids and tokens of it. */
export async function rotateLookups(ports: RotationPorts, job: Job, settleMs: number): Promise<LookupRotation> {
  const { storage, catalog } = ports
  await catalog.reload(storage)
  if (lookupVersionsOf(catalog.state).length === 1) {
    await dropFormer(storage, job)
    await changeKeys(ports, catalog, () => addLookupKey(ports, catalog))
    const [, added = 0] = lookupVersionsOf(catalog.state)
    await ports.record('added', added)
  }
  const [before = 0, version = 0] = lookupVersionsOf(catalog.state).sort((left, right) => left - right)
  if (catalog.state.digestVersion !== version) {
    await job.wait(settleMs)
    await changeKeys(ports, catalog, () =>
      attempt([lockTries(job, 'rotateLookups')], async () => {
        const { state: from } = catalog
        const tables = (await preparedPlaces(ports)).map(({ table }) => table)
        await digestBy(ports, catalog, { from, version, tables, waitMs: LOCK_MS })
      }),
    )
  }
  const { replaced, unreadable } = await replaceAll(ports, job, { version, places: await preparedPlaces(ports) })
  if (catalog.state.lookupVersion !== version) {
    await changeKeys(ports, catalog, () => lookUpBy(ports, catalog, version))
    await ports.record('activated', version)
  }
  return { version, before, replaced, unreadable }
}

/** Returns the places of the stored schema. Tables that only other processes know have digests too, and are prepared. */
async function preparedPlaces({ storage, catalog }: RotationPorts): Promise<readonly LookupPlace[]> {
  const layout = layoutSchema(catalog.state.schema)
  await storage.prepare([...layout.tables.values()].map(({ physical }) => physical))
  return lookupPlaces(retryingBarrier(catalog.barrier), layout)
}

/** What the pass has done. */
interface LookupCounts {
  replaced: number
  unreadable: number
}

/** Replaces the digests of all rows, from where an earlier run ended. Every commit since the key was added is under it, so one visit of each row is enough. */
async function replaceAll(
  ports: RotationPorts,
  job: Job,
  { version, places }: { readonly version: number; readonly places: readonly LookupPlace[] },
): Promise<Pick<LookupRotation, 'replaced' | 'unreadable'>> {
  const { storage } = ports
  const index = places.findIndex(({ table }) => table === job.place?.table)
  const begin = job.place?.version === version && index >= 0 ? job.place : undefined
  const counts = { replaced: 0, unreadable: Number(begin?.unreadable ?? 0) }
  const replaced: Record<string, number> = {}
  job.expect(await countRows(storage, places))
  for (const [k, place] of places.entries()) {
    if (begin !== undefined && k < index) continue
    const before = counts.replaced
    const after = begin !== undefined && k === index ? Number(begin.after) : 0
    const placeAt = (row: number) => ({ version, table: place.table, after: row, unreadable: counts.unreadable })
    await job.pass(lookupPass(ports, job, { place, after, counts, placeAt }))
    if (counts.replaced > before) replaced[place.table] = counts.replaced - before
  }
  return { replaced, unreadable: counts.unreadable }
}

/** A pass over a place. */
interface Replacing extends PassPlace {
  readonly place: LookupPlace
  readonly counts: LookupCounts
}

/** Returns the pass. A row that others change meanwhile is read again: a change of other columns keeps the digest. */
function lookupPass(ports: RotationPorts, job: Job, { place, after, counts, placeAt }: Replacing): MaintenancePass {
  const { storage } = ports
  const { table } = place
  return rowPass(storage, { table, after, max: MAX_ROWS }, (rows, last) =>
    untilPatched(storage, { table, rows }, async (pending) => {
      const { patches, former, unreadable } = await raiseKnown(ports, place, pending)
      counts.unreadable += unreadable.length
      if (patches.length === 0) return []
      const arePatched = await storage
        .transaction(async (inner) => {
          const applied = await inner.update(table, patches)
          await noteFormer(inner, former)
          await job.savePlace(inner, placeAt(last))
          return applied
        })
        .catch((error: unknown) => {
          // Another writer noted the same token: all is read again.
          if (isVaultError(error, 'conflict') && error.details[0]?.table === FORMER_TOKENS.name) return []
          throw isVaultError(error, 'conflict') ? equalValues(table) : error
        })
      const lost = lostOf(patches, arePatched)
      counts.replaced += patches.length - lost.length
      return lost
    }),
  )
}

function equalValues(table: string) {
  return fault(
    'data_loss',
  )`Two rows of table ${table} have one unique value: the database was changed outside of the vault. Run vault.verifyRecords().`
}

/** Returns what rows need. Reads the catalog again for a body whose key this process does not know. Rows that do not open are read again: they may be gone. */
async function raiseKnown(ports: RotationPorts, place: LookupPlace, rows: readonly Row[]): Promise<RaisedRows> {
  const reloading = { ...OUTDATED, between: () => ports.catalog.reload(ports.storage) }
  const raised = await attempt([reloading], () => place.raise(ports.storage, rows))
  if (raised.unreadable.length === 0) return raised
  const again = await ports.storage.get(
    place.table,
    raised.unreadable.map(({ id }) => id),
  )
  return { ...raised, unreadable: raised.unreadable.filter(({ version }, index) => again[index]?.version === version) }
}

/**
 * Ends a rotation of look-up keys: proves that no row has a digest of the older key, and destroys it. Throws `failed_precondition` if one has, or if
 * no rotation has come so far.
 */
export async function finishLookups(ports: RotationPorts, job: Job, now: number): Promise<LookupsFinished> {
  const { storage, catalog, scheduler } = ports
  await catalog.reload(storage)
  const [newest, older] = lookupVersionsOf(catalog.state)
  if (older === undefined || newest === undefined || older > newest || catalog.state.lookupVersion !== newest)
    throw fault('failed_precondition')`No rotation of look-up keys has ended. Call rotateLookups first.`
  let checked = 0
  for (const place of await preparedPlaces(ports)) {
    for await (const rows of eachPossiblePage(storage, place.table, { scheduler })) {
      const { patches, unreadable } = await raiseKnown(ports, place, rows)
      if (patches.length + unreadable.length > 0) throw stillNeeded(place.table, older)
      checked += rows.length
      await job.advance({ rows: rows.length, table: place.table })
    }
  }
  await changeKeys(ports, catalog, () => removeRootKey(ports, catalog, older, now))
  await ports.record('ended', older)
  return { destroyed: older, checked, tokens: await dropFormer(storage, job) }
}

function stillNeeded(table: string, version: number) {
  return fault(
    'failed_precondition',
  )`table ${table} has rows whose digest is of root key ${version}, or that do not open. Call rotateLookups again, and verifyRecords for those.`
}

/** Forgets the tokens of a key that is no longer in use. Returns how many there were. */
async function dropFormer(storage: Storage, job: Job): Promise<number> {
  let dropped = 0
  for await (const rows of eachPossiblePage(storage, FORMER_TOKENS.name, { size: MAX_ROWS })) {
    await storage.delete(FORMER_TOKENS.name, { ids: rows.map(({ id }) => id) })
    dropped += rows.length
    await job.keep()
  }
  return dropped
}
