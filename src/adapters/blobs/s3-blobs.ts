/** Blobs as objects of an S3-compatible store. */
import type { CompletedPart } from '@aws-sdk/client-s3'
import { fault, VaultError } from '../../core/errors.ts'
import type { BlobStore, ByteRange } from '../../core/ports/blobs.ts'
import { readInput } from '../../core/util/boundary.ts'
import { assertBlobKeys, assertByteRange } from '../../core/util/causes.ts'
import { toBlocks, watchContent } from '../../core/util/memory.ts'
import { readOptions } from '../../core/util/options.ts'
import { closedError, unavailableError } from '../errors/storage-errors.ts'
import {
  type Bucket,
  deleteObjects,
  isInvalidRange,
  isNoSuchUpload,
  mapS3Error,
  objectOf,
  type S3ClientLike,
  type S3Content,
  type S3Object,
} from './s3-requests.ts'

/** Where blobs are stored. */
export interface S3BlobsOptions {
  /** The application's `S3Client` of `@aws-sdk/client-s3`, with its region, endpoint and credentials. It stays open. */
  readonly client: S3ClientLike
  readonly bucket: string
  /** What the names of the objects begin with, such as `vault/`. Default: nothing. */
  readonly prefix?: string
}

/** Bytes of a part, and of the longest blob that is one request. 10,000 parts are the most that S3 takes: 78 GiB. */
const PART_BYTES = 8 * 1024 * 1024
/** One part is sent while the next one is filled. */
const PARTS_IN_MEMORY = 2
/** Bytes of a chunk that is read, at most. */
const MAX_CHUNK_BYTES = 1024 * 1024
/** Keys whose unfinished uploads are looked up at the same time. */
const LISTED_AT_ONCE = 8

/**
 * Stores each blob as one object, named by the prefix and the key. Blobs above 8 MiB are multipart uploads; a write has at most two parts
 * in memory. Needs the rights to get, put and delete objects, to list the multipart uploads of the bucket, and to abort them. Throws
 * `invalid_request` if the options are wrong.
 */
export function s3Blobs(options: S3BlobsOptions): BlobStore {
  const target = checkOptions(options)
  const closing = new AbortController()
  const assertOpen = () => {
    if (closing.signal.aborted) throw closedError('S3')
  }
  return {
    async write(key, content) {
      assertOpen()
      assertBlobKeys([key])
      const watched = watchContent(content)
      try {
        await writeObject(await objectOf(target, key), watched)
      } catch (error) {
        throw watched.hasThrown(error) ? error : writeError(error)
      }
    },
    async *read(key, range) {
      assertOpen()
      assertBlobKeys([key])
      assertByteRange(range)
      try {
        for await (const chunk of readObject(await objectOf(target, key), range, closing.signal)) {
          assertOpen()
          yield chunk
        }
      } catch (error) {
        assertOpen()
        throw mapS3Error(error)
      }
    },
    async delete(keys) {
      assertOpen()
      assertBlobKeys(keys)
      try {
        await deleteAll(target, [...new Set(keys)])
      } catch (error) {
        throw mapS3Error(error)
      }
    },
    async close() {
      closing.abort()
    },
  }
}

function checkOptions(options: S3BlobsOptions): Bucket {
  const { client, bucket, prefix = '' } = readOptions(options, ['client', 'bucket', 'prefix'], { of: 's3Blobs' })
  if (typeof bucket !== 'string' || bucket === '') throw fault('invalid_request')`s3Blobs: bucket must be the name of a bucket.`
  if (typeof prefix !== 'string') throw fault('invalid_request')`s3Blobs: prefix must be a text.`
  const isClient = readInput(() => typeof client === 'object' && client !== null && typeof client.send === 'function')
  if (!isClient) throw fault('invalid_request')`s3Blobs: client must be an S3Client.`
  return { client, bucket, prefix }
}

/** Sends content that fits into one part as one request, and longer content in parts. */
async function writeObject(object: S3Object, content: AsyncIterable<Uint8Array>): Promise<void> {
  const blocks = toBlocks(content, { size: PART_BYTES, buffers: PARTS_IN_MEMORY })
  try {
    const first = await blocks.next()
    if (first.done === true) return
    if (first.value.length < PART_BYTES) await object.put(first.value)
    else await uploadParts(object, first.value, blocks)
  } finally {
    await blocks.return()
  }
}

async function uploadParts(object: S3Object, first: Uint8Array, rest: AsyncGenerator<Uint8Array>): Promise<void> {
  const uploadId = await object.createUpload()
  const parts: CompletedPart[] = []
  let sending: Promise<CompletedPart> | undefined
  const send = (bytes: Uint8Array) => {
    sending = object.uploadPart(uploadId, parts.length + 1, bytes)
    // Content is read meanwhile. The error is thrown once that is done, and is no unhandled rejection until then.
    sending.catch(() => {})
  }
  try {
    send(first)
    for await (const block of rest) {
      if (sending !== undefined) parts.push(await sending)
      sending = undefined
      if (block.length > 0) send(block)
    }
    if (sending !== undefined) parts.push(await sending)
    await object.completeUpload(uploadId, parts)
  } catch (error) {
    // A part that arrives after the upload was aborted could remain.
    await sending?.catch(() => {})
    // If this fails too, a deletion of the key aborts the upload.
    await object.abortUpload(uploadId).catch(() => {})
    throw error
  }
}

function writeError(error: unknown): VaultError {
  if (isNoSuchUpload(error)) return new VaultError('not_found', 'The blob was deleted while it was written.')
  return mapS3Error(error)
}

async function* readObject(
  object: S3Object,
  { start, end }: ByteRange,
  closing: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  if (start === end) return object.assertExists()
  const content = await contentOf(object, start, end)
  if (content === undefined) return
  closing.addEventListener('abort', content.end, { once: true })
  try {
    if (content.length > end - start) throw new VaultError('internal', 'The object store does not read ranges.')
    let received = 0
    for await (const { buffer, byteOffset, length } of content.chunks) {
      for (let from = 0; from < length; from += MAX_CHUNK_BYTES)
        yield new Uint8Array(buffer, byteOffset + from, Math.min(MAX_CHUNK_BYTES, length - from))
      received += length
    }
    if (received !== content.length) throw unavailableError('The object store ended a read before its end. Retry.')
  } finally {
    closing.removeEventListener('abort', content.end)
    content.end()
  }
}

/** Returns undefined if the range begins at or after the end of the object. */
async function contentOf(object: S3Object, start: number, end: number): Promise<S3Content | undefined> {
  try {
    return await object.get(start, end)
  } catch (error) {
    if (isInvalidRange(error)) return undefined
    throw error
  }
}

/** Aborts unfinished uploads first: one that is completed before that is deleted as an object. */
async function deleteAll(target: Bucket, keys: readonly string[]): Promise<void> {
  for (let start = 0; start < keys.length; start += LISTED_AT_ONCE) {
    const some = keys.slice(start, start + LISTED_AT_ONCE)
    await Promise.all(some.map(async (key) => abortUploads(await objectOf(target, key))))
  }
  await deleteObjects(target, keys)
}

async function abortUploads(object: S3Object): Promise<void> {
  for (const uploadId of await object.listUploads()) await object.abortUpload(uploadId)
}
