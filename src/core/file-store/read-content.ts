/** Reads the content of a file, whole or in part: fetches its sealed pieces, opens each, and stops at the first that does not open. */
import { type Fault, fault, isVaultError } from '../errors.ts'
import type { ScanState } from '../files/scan-state.ts'
import { PIECE_BYTES } from '../limits.ts'
import { createPace } from '../pace/pace.ts'
import type { ByteRange } from '../ports/blobs.ts'
import type { ContentKey, KeyRing } from '../ports/crypto.ts'
import { FILES } from '../schema/system-tables.ts'
import { openPieces, type PiecesAddress, pieceCount, piecesOf, SEALED_PIECE_BYTES } from '../sealing/file-pieces.ts'
import { freeBytes, slabItem, toSlab, withOwnMemory } from '../util/memory.ts'
import { contentSecret, type FileContext, type OpenedFile } from './file-rows.ts'

/** A stored file whose content is read. */
export interface ContentToRead {
  readonly file: Pick<OpenedFile, 'id' | 'entry'>
  /** The part to read. Not empty, and within the content. */
  readonly range: ByteRange
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
export async function* readContent(context: FileContext, content: ContentToRead): AsyncGenerator<Uint8Array> {
  const { file, range } = content
  const { key, size } = file.entry
  const { first, skip } = piecesOf(size, range)
  const keys = contentKeys(context, await contentSecret(context.storage, context, file))
  const pace = createPace(context)
  let left = range.end - range.start
  let position = first
  try {
    for await (const sealed of sealedPieces(context, content)) {
      const address = { contentKey: keys.newest(), file: file.id, key, first: position, count: pieceCount(size) }
      const piece = open(address, sealed)
      // Every piece of an authentic file has its length, so a wrong one is of a file of another size.
      if (piece.length !== Math.min(PIECE_BYTES, size - position * PIECE_BYTES)) throw unauthentic()
      const from = position === first ? skip : 0
      const part = piece.subarray(from, Math.min(piece.length, from + left))
      left -= part.length
      position++
      // A reader can transfer a chunk, for example to a stream of bytes.
      yield withOwnMemory(part)
      // Other work gets a turn, also when neither the store nor the reader waits for anything.
      await pace.worked(piece.length)
    }
  } finally {
    keys.close()
  }
  if (left > 0) throw unauthentic()
}

/** The key of a content while it is read. */
interface ContentKeys {
  /** Returns it as a key of the newest ring: an older one can be closed while a reader takes its time. */
  newest(): ContentKey
  close(): void
}

function contentKeys({ barrier }: Pick<FileContext, 'barrier'>, secret: Uint8Array): ContentKeys {
  let made: { readonly ring: KeyRing; readonly contentKey: ContentKey } | undefined
  const close = (): void => made?.contentKey.close()
  return {
    close,
    newest() {
      const { ring } = barrier
      if (made?.ring !== ring) {
        close()
        made = { ring, contentKey: ring.contentKey(secret) }
      }
      return made.contentKey
    },
  }
}

/** Yields the sealed pieces, one by one, from the chunks of the blob store. A piece is valid until the next one is asked for. */
async function* sealedPieces(context: FileContext, { file, range }: ContentToRead): AsyncGenerator<Uint8Array> {
  const { key, size } = file.entry
  const { sealed } = piecesOf(size, range)
  // Holds a piece that begins in one chunk and ends in another. One buffer for all: memory for each would be collected too late.
  const buffer = new Uint8Array(Math.min(SEALED_PIECE_BYTES, sealed.end - sealed.start))
  let filled = 0
  try {
    for await (const chunk of context.blobs.read(key, sealed)) {
      for (let start = 0; start < chunk.length; ) {
        const end = Math.min(chunk.length, start + SEALED_PIECE_BYTES - filled)
        const part = chunk.subarray(start, end)
        start = end
        if (part.length === SEALED_PIECE_BYTES) {
          yield part
          continue
        }
        if (filled + part.length > buffer.length) throw unauthentic()
        buffer.set(part, filled)
        filled += part.length
        if (filled < SEALED_PIECE_BYTES) continue
        yield buffer
        filled = 0
      }
      // Its pieces are open. A store gives its chunks away, and the memory of a long file would be collected too late.
      freeBytes(chunk)
    }
  } catch (error) {
    throw isVaultError(error, 'not_found') ? await missingContent(context, file.id) : error
  }
  if (filled > 0) yield buffer.subarray(0, filled)
}

/** Returns a piece opened. */
function open(address: PiecesAddress, sealed: Uint8Array): Uint8Array {
  const { plaintexts, opened } = openPieces(address, toSlab([sealed]))
  if (opened[0] !== 1) throw unauthentic()
  return slabItem(plaintexts, 0)
}

/** Returns the error for content that is not in the blob store: it was removed with its file, or it is lost. */
async function missingContent({ storage }: FileContext, file: number): Promise<Fault> {
  const [row] = await storage.get(FILES.name, [file])
  if (row === undefined || row.remove_at !== null)
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
