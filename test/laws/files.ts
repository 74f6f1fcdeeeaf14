/** Law: files are what a simple model says, while they are replaced, deleted, scanned and purged, and none is left over. */
import { type FilePlace, onFreshFiles, turnOf } from '../support/files/file-places.ts'
import { randomStep } from '../support/files/file-steps.ts'
import {
  advance,
  anyVault,
  checkFile,
  checkStatus,
  closeWorld,
  mendPorts,
  nameIn,
  openWorld,
  type World,
  type WorldOptions,
} from '../support/files/file-world.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { openPlaces } from '../support/storages/places.ts'
import type { Law } from './law.ts'

/** Operations of a case. */
const STEPS = 50

export const files: Law = {
  name: 'files',
  statement:
    'Files have the content of their last upload, readers see one whole, unscanned ones stay closed, and no row or blob is left over',
  unit: 'operations',
  figures: { test: 500, soak: 200_000 },
  weight: 2,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      check: ({ number, random }) => onFreshFiles(turnOf(places, number), (place) => runFiles(place, random, { steps: STEPS })),
      close: () => places.close(),
    }
  },
}

/** Runs random steps in a world of its own. Returns how many. Throws if the vault and the model differ. */
export async function runFiles(
  place: FilePlace,
  random: SeededRandom,
  { steps, ...options }: WorldOptions & { readonly steps: number },
): Promise<number> {
  const world = await openWorld(place, random, options)
  try {
    for (let step = 0; step < steps; step++) await randomStep(world)
    await compareAll(world)
    return steps
  } catch (error) {
    throw new Error(`${place.engine} with blobs in ${place.store}: ${String(error)}`, { cause: error })
  } finally {
    mendPorts(world)
    await closeWorld(world)
  }
}

/** Ends what goes on, and compares everything. */
async function compareAll(world: World): Promise<void> {
  for (const reader of world.readers) while (!(await advance(world, reader)));
  await endScans(world)
  for (const [id, columns] of world.records) {
    for (const column of ['front', 'back'] as const) {
      const slot = { id, column }
      const name = columns[column]
      if ((await nameIn(world, slot)) !== name) throw new Error(`a column does not have ${name} at the end`)
      await checkStatus(world, slot, true)
      const file = world.planned.get(name ?? '')
      if (file !== undefined) await checkFile(world, { slot, file }, true)
    }
  }
  await purgeAll(world)
  await assertNothingLeft(world)
}

/** Scans until nothing is due: failed scans are due again after an hour at most, and those of a closed vault after a claim. */
async function endScans(world: World): Promise<void> {
  for (let round = 0; round < 3; round++) {
    world.clock.ms += 3_600_000
    for (const { vault, isClosed } of world.vaults) if (!isClosed) await vault.scanFiles()
  }
}

/** Purges past every lease: those of replaced files, of uploads, of redeemed references, and of removals in progress. */
async function purgeAll(world: World): Promise<void> {
  for (let round = 0; round < 3; round++) {
    world.clock.ms += 25 * 3_600_000
    await anyVault(world).vault.sweep()
  }
}

/** Rows and blobs are those of the files that records have, except for the contents of infected files that were destroyed. */
async function assertNothingLeft({ place, records, planned, scans, onInfected }: World): Promise<void> {
  const names = [...records.values()].flatMap((columns) => Object.values(columns)).filter((name) => name !== null)
  const isDestroyed = (name: string) =>
    scans !== undefined && onInfected === 'delete' && planned.get(name)?.verdict === 'infected'
  const kept = names.filter((name) => !isDestroyed(name))
  const rows = await place.fileRows()
  const blobs = await place.blobs.keys()
  if (rows.length !== names.length || blobs.length !== kept.length) {
    const found = `${rows.length} rows and ${blobs.length} blobs are left`
    throw new Error(`${found} of ${names.length} files with ${kept.length} contents`)
  }
  const isIdle = rows.every(
    ({ row_id, remove_at, scan_at }) => row_id !== null && remove_at === null && (scans === undefined || scan_at === null),
  )
  if (!isIdle) throw new Error('a row of a file is due for removal or for a scan')
}
