/** A vault with files beside a model of them: what is stored under which name, what was removed when, and who still reads it. */
import { isDeepStrictEqual } from 'node:util'
import type { ScanVerdict } from '../../../src/core/ports/blobs.ts'
import { isVaultError, VaultError } from '../../../src/index.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { type Call, type FaultyStorage, faultyStorage } from '../storages/faulty-storage.ts'
import { START_MS } from '../vaults/open-untyped.ts'
import { OWNER } from '../vaults/test-vault.ts'
import { randomContent } from './content-sources.ts'
import { type FaultyBlobs, faultyBlobs } from './faulty-blobs.ts'
import type { FilePlace } from './file-places.ts'
import { type ArchiveOptions, type ArchiveSession, type ArchiveVault, joined, openArchive } from './open-archive.ts'
import { type PlannedScanner, plannedScanner } from './verdicts.ts'

/** A FILE column of a record. */
export interface Slot {
  readonly id: string
  readonly column: 'front' | 'back'
}

/** A content and the result that its scan has. Its name is that of no other. */
export interface Planned {
  readonly name: string
  readonly content: Buffer
  readonly verdict: ScanVerdict
}

/** A file that is read a chunk at a time, while others change it. */
export interface Reader {
  readonly file: Planned
  readonly vault: OpenVault
  readonly chunks: AsyncIterator<Uint8Array>
  position: number
}

/** One of the vaults of the world: processes that share a storage. */
export interface OpenVault {
  readonly vault: ArchiveVault
  readonly session: ArchiveSession
  isClosed: boolean
}

/** How a file ceased to be that of its record. */
interface Removal {
  readonly how: 'replaced' | 'deleted'
  readonly at: number
}

/** What a vault gave to download a file. */
export interface Reference {
  readonly slot: Slot
  readonly name: string
  readonly ticket: string
  readonly expiresAt: number
}

/** The state of a run. */
export interface World {
  readonly random: SeededRandom
  readonly place: FilePlace
  readonly clock: { ms: number }
  broken(options: ArchiveOptions): ArchiveOptions
  readonly scans: PlannedScanner | undefined
  readonly onInfected: 'quarantine' | 'delete'
  readonly storages: FaultyStorage[]
  readonly stores: FaultyBlobs[]
  readonly vaults: OpenVault[]
  /** The names of the files of each record; null without a file. */
  readonly records: Map<string, Record<Slot['column'], string | null>>
  readonly planned: Map<string, Planned>
  readonly removed: Map<string, Removal>
  /** The names that a record ever had. */
  readonly names: Map<string, string[]>
  readonly readers: Reader[]
  readonly references: Reference[]
}

const VAULTS = 2

/** What negative controls replace. */
export interface WorldOptions {
  /** Breaks the vaults on purpose. */
  broken?(options: ArchiveOptions): ArchiveOptions
}

/** Opens two vaults on a place that is empty. */
export async function openWorld(
  place: FilePlace,
  random: SeededRandom,
  { broken = (options) => options }: WorldOptions = {},
): Promise<World> {
  const world: World = {
    ...{ random, place, clock: { ms: START_MS }, broken },
    ...{ scans: random.chance(0.6) ? plannedScanner() : undefined, onInfected: random.pick(['quarantine', 'delete']) },
    ...{ storages: [], stores: [], vaults: [], records: new Map(), planned: new Map() },
    ...{ removed: new Map(), names: new Map(), readers: [], references: [] },
  }
  for (let index = 0; index < VAULTS; index++) world.vaults.push(await openVaultOf(world))
  return world
}

/** Opens another vault of the world, as another process would. */
export async function openVaultOf({ place, clock, scans, onInfected, storages, stores, broken }: World): Promise<OpenVault> {
  const storage = faultyStorage(place.storage())
  const blobs = faultyBlobs(place.blobs.open(storage.storage))
  const scanner = scans === undefined ? {} : { scanner: scans.scanner }
  const vault = await openArchive(broken({ storage: storage.storage, blobs: blobs.blobs, clock, onInfected, ...scanner }))
  storages.push(storage)
  stores.push(blobs)
  return { vault, session: vault.as(OWNER), isClosed: false }
}

/** Closes the vaults. */
export async function closeWorld({ vaults }: World): Promise<void> {
  for (const one of vaults) if (!one.isClosed) await one.vault.close()
}

/** Lets calls of storages and blob stores fail with this probability. */
export function breakPorts({ storages, stores, random }: World, probability: number): void {
  const isFailing = () => random.chance(probability)
  for (const one of storages) one.fail(({ method }) => (isFailing() ? outOfOrder(method) : undefined))
  for (const one of stores) one.fail(isFailing)
}

/** The error of a storage: after a commit it does not say that nothing is stored. */
function outOfOrder(method: Call['method']): VaultError {
  return new VaultError(method === 'committed' ? 'outcome_unknown' : 'unavailable', 'The engine is out of order.')
}

export function mendPorts({ storages, stores }: World): void {
  for (const one of [...storages, ...stores]) one.mend()
}

/** A vault that is open. */
export function anyVault({ vaults, random }: World): OpenVault {
  return random.pick(vaults.filter(({ isClosed }) => !isClosed))
}

/** A column of a record; undefined if there is no record. */
export function anySlot({ records, random }: World): Slot | undefined {
  const ids = [...records.keys()]
  return ids.length === 0 ? undefined : { id: random.pick(ids), column: random.pick(['front', 'back'] as const) }
}

/** A column with a file, and the file; undefined if there is none. */
export function anyFile(world: World): { readonly slot: Slot; readonly file: Planned } | undefined {
  const found = [...world.records].flatMap(([id, files]) =>
    (['front', 'back'] as const).flatMap((column) => {
      const file = world.planned.get(files[column] ?? '')
      return file === undefined ? [] : [{ slot: { id, column }, file }]
    }),
  )
  return found.length === 0 ? undefined : world.random.pick(found)
}

/** A new content. */
export function planFile({ random, planned, scans }: World): Planned {
  const length = random.pick([1 + random.below(2000), 1 + random.below(200_000), 65_536, 262_144, 262_145])
  const verdict = random.pick(['clean', 'clean', 'clean', 'infected', 'unscannable'] as const)
  const file = { name: `file-${planned.size}`, content: randomContent(random, length), verdict }
  planned.set(file.name, file)
  scans?.plan(file.content, verdict)
  return file
}

/** Notes that a column has another file now, or none. */
export function putFile({ records, removed, clock, names }: World, { id, column }: Slot, name: string | null): void {
  const files = records.get(id)
  if (files === undefined) throw new Error('the model has no such record')
  const before = files[column]
  if (before !== null && before !== name) removed.set(before, { how: name === null ? 'deleted' : 'replaced', at: clock.ms })
  files[column] = name
  if (name !== null) names.set(id, [...(names.get(id) ?? []), name])
}

/** Notes that a record was deleted, and with it every file that it ever had. */
export function dropRecord({ records, removed, names, clock }: World, id: string): void {
  records.delete(id)
  for (const name of names.get(id) ?? []) removed.set(name, { how: 'deleted', at: clock.ms })
}

/** True if a scanner has said that this content is clean. */
function isKnownClean({ scans }: World, { content, verdict }: Planned): boolean {
  return verdict === 'clean' && (scans === undefined || scans.resultsOf(content) > 0)
}

/** Returns whether the file is open to callers, as an error of opening it says. Throws for an error that must not be. */
export function assertRefusable(world: World, file: Planned, error: unknown, isDrained: boolean): void {
  const isClosedFile = world.scans !== undefined && isVaultError(error, 'failed_precondition')
  if (isClosedFile && !(isDrained && file.verdict === 'clean')) return
  throw new Error(`${file.name} (${file.verdict}) did not open`, { cause: error })
}

/** Reads a file that the model has, whole or in part, and compares. */
export async function checkFile(world: World, { slot, file }: { slot: Slot; file: Planned }, isDrained = false): Promise<void> {
  const { random } = world
  const { session } = anyVault(world)
  const start = random.chance(0.5) ? 0 : random.below(file.content.length)
  const end = random.chance(0.5) ? file.content.length : start + 1 + random.below(file.content.length - start)
  let bytes: Buffer
  try {
    const opened = await session.openFile('papers', slot.id, slot.column, { range: { start, end } })
    if (opened.metadata.fileName !== file.name || opened.size !== file.content.length) throw new Error('another file opened')
    bytes = await joined(opened.stream)
  } catch (error) {
    assertRefusable(world, file, error, isDrained)
    return
  }
  if (!isKnownClean(world, file) && world.scans !== undefined) throw new Error(`${file.name} (${file.verdict}) opened unscanned`)
  if (!bytes.equals(file.content.subarray(start, end))) throw new Error(`${file.name} has other bytes from ${start} to ${end}`)
}

const STATUS: Readonly<Record<ScanVerdict, string>> = {
  clean: 'SCAN_CLEAN',
  infected: 'SCAN_INFECTED',
  unscannable: 'SCAN_UNSCANNABLE',
}

/** Compares the status of a column with the model. */
export async function checkStatus(world: World, slot: Slot, isDrained = false): Promise<void> {
  const { session } = anyVault(world)
  const found = await session.fileStatus('papers', slot.id, slot.column)
  const file = world.planned.get(world.records.get(slot.id)?.[slot.column] ?? '')
  if (file === undefined) {
    const expected = { fileStatus: 'NOT_UPLOADED', avScanStatus: 'SCAN_FILE_NOT_FOUND' }
    if (!isDeepStrictEqual(found, expected)) throw new Error(`the status without a file is ${JSON.stringify(found)}`)
    return
  }
  const final = file.verdict === 'infected' && world.onInfected === 'delete' ? 'SCAN_DELETED' : STATUS[file.verdict]
  const known = world.scans === undefined ? 'SCAN_UNSCANNABLE' : final
  const mayBe = world.scans === undefined || isDrained ? [known] : [known, 'SCAN_PENDING', 'SCAN_ERROR']
  if (found.fileStatus !== 'UPLOADED' || !mayBe.includes(found.avScanStatus))
    throw new Error(`the status of ${file.name} (${file.verdict}) is ${JSON.stringify(found)}`)
}

/** Returns the name that a column has in the vault; undefined if there is no record. */
export async function nameIn(world: World, { id, column }: Slot): Promise<string | null | undefined> {
  try {
    return (await anyVault(world).session.getOne('papers', id)).fields[column]
  } catch (error) {
    if (isVaultError(error, 'not_found')) return undefined
    throw error
  }
}

/** Milliseconds for which a replaced file can still be read. */
const REPLACED_FOR_MS = 15 * 60_000

/** Reads the next chunk of a reader. Returns true at its end. Throws if the chunk is wrong, or if the file had to be readable. */
export async function advance({ removed, clock }: World, reader: Reader): Promise<boolean> {
  const { file, vault, chunks } = reader
  let next: IteratorResult<Uint8Array>
  try {
    next = await chunks.next()
  } catch (error) {
    const removal = removed.get(file.name)
    const mayBeGone = removal !== undefined && (removal.how === 'deleted' || clock.ms >= removal.at + REPLACED_FOR_MS)
    if (vault.isClosed || (mayBeGone && isVaultError(error, 'aborted'))) return true
    throw new Error(`a reader of ${file.name} failed`, { cause: error })
  }
  if (next.done === true) {
    if (reader.position !== file.content.length) throw new Error(`a reader of ${file.name} ended early`)
    return true
  }
  const expected = file.content.subarray(reader.position, reader.position + next.value.length)
  if (!expected.equals(next.value)) throw new Error(`a reader of ${file.name} got bytes of another file`)
  reader.position += next.value.length
  return false
}
