/** Stores the content of an upload: detects its type, cuts it into pieces, seals them and hands them to the blob store. */
import { fault, VaultError, words } from '../errors.ts'
import { isAllowedType, toContentType } from '../files/file-metadata.ts'
import { PIECE_BYTES } from '../limits.ts'
import type { ContentKey } from '../ports/crypto.ts'
import type { Column, FileRules } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { sealPieces } from '../sealing/file-pieces.ts'
import { causeOf } from '../util/causes.ts'
import { freeBytes, type Slab, withOwnMemory } from '../util/memory.ts'
import type { FileContext, NewFile } from './file-rows.ts'

/** Number of pieces that are sealed together. The type of a file is detected from as many bytes. */
const PIECES_PER_BATCH = 4
const BATCH_BYTES = PIECES_PER_BATCH * PIECE_BYTES

/** An upload: the content as its caller gives it, and where it goes. */
export interface Upload {
  readonly table: Table
  readonly column: Column
  readonly rules: FileRules
  readonly file: NewFile
  /** The name of the file, as it is stored. */
  readonly name: string
  /** Yields chunks of bytes. Nothing about them is trusted. */
  readonly source: AsyncIterable<unknown>
}

/** What was stored. */
export interface StoredContent {
  /** Length in bytes. */
  readonly size: number
  readonly contentType: string
}

/**
 * Stores the content. Throws `unprocessable` for an empty file or a type that the column does not allow, `limit_exceeded` at the byte
 * after the last one allowed, `invalid_request` for chunks that are not bytes, and `cancelled` if the source throws; a `VaultError` with the
 * status 400 is thrown as it is. Nothing is stored then.
 */
export async function storeContent(context: FileContext, upload: Upload): Promise<StoredContent> {
  const stored = { size: 0, contentType: '' }
  const { key, secret } = upload.file.entry
  const contentKey = context.barrier.ring.contentKey(secret)
  try {
    await context.blobs.write(key, sealedBatches(context, { ...upload, contentKey }, stored))
  } finally {
    contentKey.close()
  }
  return stored
}

/** An upload, and the key that seals it. */
interface KeyedUpload extends Upload {
  readonly contentKey: ContentKey
}

/** Yields the sealed pieces, and says in `stored` what they are of. */
async function* sealedBatches(
  context: FileContext,
  upload: KeyedUpload,
  stored: { size: number; contentType: string },
): AsyncGenerator<Uint8Array> {
  const batch = new Uint8Array(BATCH_BYTES)
  let filled = 0
  let first = 0
  const detect = async (isWhole: boolean): Promise<void> => {
    if (first > 0) return
    stored.contentType = toContentType(await context.contentTypes.detect(batch.subarray(0, filled), isWhole, upload.name))
    assertAllowed(upload, stored.contentType)
  }
  try {
    for await (const chunk of bytesOf(upload)) {
      const { length } = chunk
      stored.size += length
      assertWithin(upload, stored.size)
      for (let start = 0; start < length; ) {
        // A full batch is kept until there are more bytes: it may have the last piece.
        if (filled === BATCH_BYTES) {
          await detect(false)
          yield* freed(seal(upload, { first, count: undefined, bytes: batch }))
          first += PIECES_PER_BATCH
          filled = 0
          // Other work gets a turn, also when neither the source nor the store waits for anything.
          await context.scheduler.yield()
        }
        // The store took its time: a source can transfer or shrink a chunk meanwhile, and its length would be wrong.
        if (chunk.length !== length) throw notBytes('was transferred or resized while it was read')
        const part = chunk.subarray(start, start + BATCH_BYTES - filled)
        batch.set(part, filled)
        filled += part.length
        start += part.length
      }
    }
    if (stored.size === 0) throw refused(upload, 'cannot hold an empty file')
    await detect(true)
    const count = first + Math.ceil(filled / PIECE_BYTES)
    yield* freed(seal(upload, { first, count, bytes: batch.subarray(0, filled) }))
  } finally {
    batch.fill(0)
  }
}

/** Yields sealed pieces, and frees them when the next ones are asked for: the store has used them then. */
function* freed(sealed: Uint8Array): Generator<Uint8Array> {
  const chunk = withOwnMemory(sealed)
  yield chunk
  freeBytes(chunk)
}

/** Bytes that begin at a piece, and the number of pieces of the file if they are its last. */
interface Batch {
  readonly first: number
  readonly count: number | undefined
  readonly bytes: Uint8Array
}

function seal({ file, contentKey }: KeyedUpload, { first, count, bytes }: Batch): Uint8Array {
  return sealPieces({ contentKey, key: file.entry.key, file: file.id, first, count }, toPieces(bytes)).bytes
}

function toPieces(bytes: Uint8Array): Slab {
  const count = Math.ceil(bytes.length / PIECE_BYTES)
  const ends = Uint32Array.from({ length: count }, (_, index) => Math.min((index + 1) * PIECE_BYTES, bytes.length))
  return { bytes, ends, count }
}

/** Yields the chunks of the source, without empty ones. What the source throws is not repeated. */
async function* bytesOf({ source }: Upload): AsyncGenerator<Uint8Array> {
  const chunks = iteratorOf(source)
  let isDone = false
  try {
    for (;;) {
      const chunk = await nextOf(chunks)
      if (chunk === undefined) {
        isDone = true
        return
      }
      const bytes = viewOf(chunk)
      if (bytes.length > 0) yield bytes
    }
  } finally {
    // The source learns that its rest is not wanted, as from a loop that ends early.
    if (!isDone) closeQuietly(chunks)
  }
}

function iteratorOf(source: AsyncIterable<unknown>): AsyncIterator<unknown> {
  try {
    return source[Symbol.asyncIterator]()
  } catch (error) {
    throw unreadable(error)
  }
}

/** Returns the next chunk; undefined after the last. */
async function nextOf(chunks: AsyncIterator<unknown>): Promise<unknown> {
  try {
    const { done, value } = await chunks.next()
    return done === true ? undefined : (value ?? null)
  } catch (error) {
    throw unreadable(error)
  }
}

/** Returns a chunk as a view without methods of the source's own. Throws `invalid_request` for anything but bytes. */
function viewOf(chunk: unknown): Uint8Array {
  try {
    if (chunk instanceof Uint8Array) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  } catch {
    // A proxy, or an object that only looks like bytes.
  }
  throw notBytes('is something else. A stream with an encoding yields text: remove the encoding')
}

/** Returns the error for a chunk. It is no fault, so a caller who uploads by ticket gets it unchanged, too. */
function notBytes(what: string): VaultError {
  return new VaultError('invalid_request', `Upload failed. file must yield bytes, as Uint8Array. A chunk ${what}.`)
}

/** Does not wait: a source that never ends must not hold up the refusal. Its error matters less than the one that ended the upload. */
function closeQuietly(chunks: AsyncIterator<unknown>): void {
  try {
    Promise.resolve(chunks.return?.()).catch(() => {})
  } catch {
    // It threw at once.
  }
}

/** Returns the error for a source that throws. Only what a reader says is wrong with its request is kept: any other error can quote a value. */
function unreadable(error: unknown): VaultError {
  if (VaultError.isGenuine(error) && error.httpStatus === 400) return error
  const message = 'The content of the file ended with an error before it was complete. Nothing is stored. Upload it again.'
  return new VaultError('cancelled', `Upload failed. ${message}`, {}, { cause: causeOf(error) })
}

function assertWithin(upload: Upload, size: number): void {
  const { table, column, rules } = upload
  if (size <= rules.maxBytes) return
  throw fault('limit_exceeded', {
    table: table.name,
    column: column.name,
  })`The file is longer than the ${rules.maxBytes} bytes that column ${column.name} of table ${table.name} allows.`
}

function assertAllowed(upload: Upload, contentType: string): void {
  if (isAllowedType(upload.rules.allowedTypes, contentType)) return
  throw refused(upload, `does not allow files whose content is ${contentType}`)
}

function refused({ table, column }: Upload, clause: string): VaultError {
  return fault('unprocessable', {
    table: table.name,
    column: column.name,
  })`Column ${column.name} of table ${table.name} ${words(clause)}.`
}
