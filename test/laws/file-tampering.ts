/** Law: a stored file that was changed, moved or cut is refused, every byte before that is authentic, and bytes after its end are not read. */
import type { Row, StorageHandle } from '../../src/core/ports/storage.ts'
import { FILES } from '../../src/core/schema/system-tables.ts'
import { SEALED_PIECE_BYTES } from '../../src/core/sealing/file-pieces.ts'
import { isVaultError } from '../../src/index.ts'
import { randomContent } from '../support/files/content-sources.ts'
import { type FilePlace, onFreshFiles, turnOf } from '../support/files/file-places.ts'
import { type ArchiveVault, openArchive } from '../support/files/open-archive.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { openPlaces } from '../support/storages/places.ts'
import { OWNER } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** Tamperings of a case. */
const ROUNDS = 40
/** Lengths of the files of a case: one piece, two, and more than are sealed together. */
const LENGTHS = [300, 65_536, 70_000, 262_145, 400_000] as const

export const fileTampering: Law = {
  name: 'file-tampering',
  statement:
    'A stored file that was changed, moved or cut is refused, every byte read before is authentic, and bytes after its end are ignored',
  unit: 'tamperings',
  figures: { test: 240, soak: 100_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      check: ({ number, random }) => onFreshFiles(turnOf(places, number), (place) => tamperFiles(place, random, ROUNDS)),
      close: () => places.close(),
    }
  },
}

/** A stored file as it should be read. */
interface Known {
  readonly id: string
  readonly content: Uint8Array
  readonly row: number
  readonly key: string
}

/** The storage and the blobs below the vault, and its files. */
interface Scene {
  readonly place: FilePlace
  readonly storage: StorageHandle
  readonly vault: ArchiveVault
  readonly files: readonly Known[]
  readonly random: SeededRandom
}

/** A tampering that was done. */
interface Tampered {
  /** True if bytes were only added after the end of the file: it must be read as before. Default: it must be refused. */
  readonly isLonger?: boolean
  mend(): Promise<void>
}

/** A tampering of one file. Returns undefined if it changes nothing. */
export type Tampering = (scene: Scene, target: Known) => Promise<Tampered | undefined>

/** Tampers with files in a vault of its own. Returns how often. Throws if a tampering is not refused. */
export async function tamperFiles(
  place: FilePlace,
  random: SeededRandom,
  rounds: number,
  tamperings: Readonly<Record<string, Tampering>> = TAMPERINGS,
): Promise<number> {
  const storage = place.storage()
  const vault = await openArchive({ storage, blobs: place.blobs.open(storage) })
  try {
    const files: Known[] = []
    for (const length of LENGTHS) files.push(await store({ place, vault }, randomContent(random, length)))
    const scene = { place, storage, vault, files, random }
    let counted = 0
    for (let round = 0; round < rounds; round++) {
      const [name, tamper] = random.pick(Object.entries(tamperings))
      const target = random.pick(files)
      const tampered = await tamper(scene, target)
      if (tampered === undefined) continue
      counted++
      await (tampered.isLonger === true ? assertWhole(scene, target, name) : assertRefused(scene, target, name))
      await tampered.mend()
    }
    for (const file of files) await assertWhole(scene, file, 'mended')
    return counted
  } finally {
    await vault.close()
  }
}

async function store({ place, vault }: Pick<Scene, 'place' | 'vault'>, content: Uint8Array): Promise<Known> {
  const keys = new Set(await place.blobs.keys())
  const { id } = await vault.as(OWNER).uploadFile({ table: 'papers', column: 'front', file: content })
  const key = (await place.blobs.keys()).find((one) => !keys.has(one)) ?? ''
  const row = (await place.fileRows()).at(-1)?.id ?? 0
  return { id, content, row, key }
}

/** Reads as many bytes as come. Returns them, and the error after them. */
async function readAll(
  { vault }: Scene,
  { id }: Known,
  range?: { readonly start: number; readonly end: number },
): Promise<{ readonly bytes: Buffer; readonly error: unknown }> {
  const chunks: Uint8Array[] = []
  try {
    const { stream } = await vault.as(OWNER).openFile('papers', id, 'front', range === undefined ? {} : { range })
    for await (const chunk of stream) chunks.push(chunk.slice())
  } catch (error) {
    return { bytes: Buffer.concat(chunks), error }
  }
  return { bytes: Buffer.concat(chunks), error: undefined }
}

/** Reads the whole file, which must fail, and a part of it, which may be one that was not changed. */
async function assertRefused(scene: Scene, file: Known, name: string): Promise<void> {
  const { bytes, error } = await readAll(scene, file)
  if (!isVaultError(error, 'data_loss'))
    throw new Error(`${name}: a file of ${file.content.length} bytes is not refused: ${String(error ?? 'it opens')}`)
  assertPrefix(bytes, file.content, name)
  const start = scene.random.below(file.content.length)
  const range = { start, end: start + 1 + scene.random.below(file.content.length - start) }
  const part = await readAll(scene, file, range)
  const expected = file.content.subarray(range.start, range.end)
  assertPrefix(part.bytes, expected, name)
  if (part.error === undefined && part.bytes.length < expected.length)
    throw new Error(`${name}: a part is cut off without an error`)
  if (part.error !== undefined && !isVaultError(part.error, 'data_loss')) throw part.error
}

function assertPrefix(bytes: Buffer, content: Uint8Array, name: string): void {
  if (!bytes.equals(content.subarray(0, bytes.length))) throw new Error(`${name}: a byte that was not stored came out`)
}

async function assertWhole(scene: Scene, file: Known, name: string): Promise<void> {
  const { bytes, error } = await readAll(scene, file)
  if (error !== undefined || !bytes.equals(file.content))
    throw new Error(`${name}: a file of ${file.content.length} bytes is not whole: ${String(error)}`)
}

/** Replaces the bytes of a blob. */
function blobTampering(
  change: (bytes: Uint8Array, scene: Scene, target: Known) => Uint8Array | undefined | Promise<Uint8Array>,
): Tampering {
  return async (scene, target) => {
    const { blobs } = scene.place
    const before = Uint8Array.from(await blobs.read(target.key))
    const after = await change(before, scene, target)
    if (after === undefined || Buffer.from(after).equals(before)) return undefined
    await blobs.overwrite(target.key, after)
    const isLonger = Buffer.from(after).subarray(0, before.length).equals(before)
    return { isLonger, mend: () => blobs.overwrite(target.key, before) }
  }
}

const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  'a flipped bit': blobTampering((bytes, { random }) => flipped(bytes, random)),
  'two pieces swapped': blobTampering((bytes, { random }) => {
    const pieces = piecesOf(bytes)
    const [left = 0, right = 0] = random.sample([...pieces.keys()], 2)
    const [one, other] = [pieces[left], pieces[right]]
    if (one === undefined || other === undefined || left === right) return undefined
    return Buffer.concat(pieces.map((piece, index) => (index === left ? other : index === right ? one : piece)))
  }),
  'a piece of another file': blobTampering(async (bytes, { place, files, random }, target) => {
    const other = random.pick(files.filter(({ key }) => key !== target.key))
    const foreign = piecesOf(await place.blobs.read(other.key))
    const pieces = piecesOf(bytes)
    const index = random.below(Math.min(pieces.length, foreign.length))
    return Buffer.concat(pieces.map((piece, at) => (at === index ? (foreign[index] ?? piece) : piece)))
  }),
  'the blob of another file': blobTampering((_, { place, files, random }, target) =>
    place.blobs.read(random.pick(files.filter(({ key }) => key !== target.key)).key),
  ),
  'cut off': blobTampering((bytes, { random }) => bytes.subarray(0, random.below(bytes.length))),
  'bytes after the end': blobTampering((bytes, { random }) => Buffer.concat([bytes, random.bytes(1 + random.below(100))])),
  'the last pieces left out': blobTampering((bytes, { random }) => {
    const pieces = piecesOf(bytes)
    return Buffer.concat(pieces.slice(0, random.below(pieces.length)))
  }),
  'a piece left out': blobTampering((bytes, { random }) => {
    const pieces = piecesOf(bytes)
    const index = random.below(pieces.length)
    return Buffer.concat(pieces.filter((_, at) => at !== index))
  }),
  'a piece twice': blobTampering((bytes, { random }) => {
    const pieces = piecesOf(bytes)
    const index = random.below(pieces.length)
    return Buffer.concat(pieces.flatMap((piece, at) => (at === index ? [piece, piece] : [piece])))
  }),
  'rows swapped': async ({ storage, files, random }, target) => {
    const other = random.pick(files.filter(({ row }) => row !== target.row))
    const [one, two] = [await bodyOf(storage, target.row), await bodyOf(storage, other.row)]
    await putBody(storage, target.row, two)
    await putBody(storage, other.row, one)
    return {
      async mend() {
        await putBody(storage, target.row, one)
        await putBody(storage, other.row, two)
      },
    }
  },
  'a flipped bit of a row': async ({ storage, random }, target) => {
    const body = await bodyOf(storage, target.row)
    await putBody(storage, target.row, flipped(body, random))
    return { mend: () => putBody(storage, target.row, body) }
  },
}

/** The sealed pieces of a blob. */
function piecesOf(bytes: Uint8Array): Uint8Array[] {
  const count = Math.ceil(bytes.length / SEALED_PIECE_BYTES)
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * SEALED_PIECE_BYTES, (index + 1) * SEALED_PIECE_BYTES))
}

function flipped(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const bad = Uint8Array.from(bytes)
  // The header, the nonce and the tag of a piece are few of its bytes: half of the flips are there.
  const piece = random.below(Math.ceil(bytes.length / SEALED_PIECE_BYTES)) * SEALED_PIECE_BYTES
  const position = random.chance(0.5) ? Math.min(bytes.length - 1, piece + random.below(48)) : random.below(bytes.length)
  bad[position] = (bad[position] ?? 0) ^ (1 << random.below(8))
  return bad
}

async function rowOf(storage: StorageHandle, id: number): Promise<Row> {
  const [row] = await storage.get(FILES.name, [id])
  if (row === undefined) throw new Error('the row to tamper with is gone')
  return row
}

async function bodyOf(storage: StorageHandle, id: number): Promise<Uint8Array> {
  const { body } = await rowOf(storage, id)
  if (body instanceof Uint8Array) return body
  throw new Error('nothing was sealed')
}

async function putBody(storage: StorageHandle, id: number, body: Uint8Array): Promise<void> {
  const { version } = await rowOf(storage, id)
  await storage.update(FILES.name, [{ id, version, set: { body } }])
}
