/** Reads the content of a file, whole or in part: fetches its sealed pieces, opens each, and stops at the first that does not open. */
import { type Fault, fault, isVaultError } from '../errors.ts'
import type { ScanState } from '../files/scan-state.ts'
import { PIECE_BYTES } from '../limits.ts'
import type { ByteRange } from '../ports/blobs.ts'
import { readVersion } from '../sealing/envelope.ts'
import { openPieces } from '../sealing/file-pieces.ts'
import { pieceCount, piecesOf, SEALED_PIECE_BYTES, sealedSize } from '../sealing/piece-layout.ts'
import { at } from '../util/at.ts'
import { type Slab, slabItem, slabStart } from '../util/slab.ts'
import type { FileContext } from './file-context.ts'
import { readFiles } from './file-rows.ts'

/** A stored file whose content is read. */
export interface ContentToRead {
  /** Row id of the file. */
  readonly file: number
  readonly key: string
  /** Length of the whole content in bytes. */
  readonly size: number
  /** The part to read. Not empty, and within the content. */
  readonly range: ByteRange
}

/** The dependencies of reading, and a way to learn keys that another process added. */
export interface ReadingFiles extends FileContext {
  reloadKeys(): Promise<void>
}

/** The states of content that cannot be read, and never will be. */
export type LostState = Extract<ScanState, 'missing' | 'invalid'>

/** The errors of such content. */
const lostStates = new WeakMap<object, LostState>()

/** Returns the state of content that threw this error when it was read; undefined if it may be read later. */
export function lostStateOf(error: unknown): LostState | undefined {
  return typeof error === 'object' && error !== null ? lostStates.get(error) : undefined
}

/**
 * Yields the bytes of the range, piece by piece. Throws `data_loss` at a piece that was changed, moved or cut off, `aborted` if the file
 * was replaced or deleted meanwhile, and what the blob store throws. Bytes yielded before are authentic.
 */
export async function* readContent(context: ReadingFiles, content: ContentToRead): AsyncGenerator<Uint8Array> {
  const { file, size, range } = content
  const wanted = piecesOf(size, range)
  let left = range.end - range.start
  let skip = wanted.skip
  let first = wanted.first
  for await (const sealed of sealedPieces(context, content)) {
    const plaintexts = await open(context, { file, first, count: pieceCount(size) }, sealed)
    for (let index = 0; index < sealed.count; index++) {
      const piece = slabItem(plaintexts, index)
      // Every piece of an authentic file has its length, so a wrong one is of a file of another size.
      if (piece.length !== Math.min(PIECE_BYTES, size - (first + index) * PIECE_BYTES)) throw unauthentic()
      const part = piece.subarray(skip, Math.min(piece.length, skip + left))
      skip = 0
      left -= part.length
      // A reader can transfer a chunk, for example to a stream of bytes. The next pieces are in the same buffer.
      yield part.slice()
    }
    first += sealed.count
  }
  if (left > 0) throw unauthentic()
}

/** Yields whole sealed pieces, several at once, from the chunks of the blob store. */
async function* sealedPieces(context: ReadingFiles, { file, key, size, range }: ContentToRead): AsyncGenerator<Slab> {
  const { sealed } = piecesOf(size, range)
  let rest: Uint8Array = new Uint8Array(0)
  let position = sealed.start
  try {
    for await (const chunk of context.blobs.read(key, sealed)) {
      const bytes = rest.length === 0 ? chunk : joined(rest, chunk)
      const isEnd = position + bytes.length >= sealedSize(size)
      const whole = isEnd ? bytes.length : bytes.length - (bytes.length % SEALED_PIECE_BYTES)
      rest = bytes.subarray(whole).slice()
      position += whole
      if (whole > 0) yield cut(bytes.subarray(0, whole))
    }
  } catch (error) {
    throw isVaultError(error, 'not_found') ? await missingContent(context, file) : error
  }
  if (rest.length > 0) yield cut(rest)
}

function joined(left: Uint8Array, right: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(left.length + right.length)
  bytes.set(left)
  bytes.set(right, left.length)
  return bytes
}

function cut(bytes: Uint8Array): Slab {
  const count = Math.ceil(bytes.length / SEALED_PIECE_BYTES)
  const ends = Uint32Array.from({ length: count }, (_, index) => Math.min((index + 1) * SEALED_PIECE_BYTES, bytes.length))
  return { bytes, ends, count }
}

/** Returns the pieces opened. A key that another process added is read first. */
async function open(
  context: ReadingFiles,
  { file, first, count }: { readonly file: number; readonly first: number; readonly count: number },
  sealed: Slab,
): Promise<Slab> {
  const { ring, vault } = context.barrier
  const versions = Array.from({ length: sealed.count }, (_, index) =>
    readVersion(sealed.bytes, slabStart(sealed, index), at(sealed.ends, index)),
  )
  if (versions.some((version) => version !== 0 && !ring.hasVersion(version))) await context.reloadKeys()
  const { plaintexts, opened } = openPieces({ ring, vault, file, first, count }, sealed)
  if (opened.includes(0)) throw unauthentic()
  return plaintexts
}

/** Returns the error for content that is not in the blob store: it was removed with its file, or it is lost. */
async function missingContent(context: ReadingFiles, file: number): Promise<Fault> {
  const [row] = await readFiles(context.storage, context.barrier, [file])
  if (row === undefined || row.removeAt !== null)
    return fault('aborted')`The file was replaced or deleted while it was read. Open it again.`
  return lost('missing', fault('data_loss')`The content of this file is missing from the blob store. Restore it.`)
}

function unauthentic(): Fault {
  const error = fault('data_loss')`The content of this file failed authentication: it was changed, moved or cut off. Restore it.`
  return lost('invalid', error)
}

function lost(state: LostState, error: Fault): Fault {
  lostStates.set(error, state)
  return error
}
