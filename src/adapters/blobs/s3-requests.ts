/** The requests that blobs need of an S3-compatible store. The package of the client is loaded at the first one. */
import { Readable } from 'node:stream'
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3'
import { VaultError } from '../../core/errors.ts'
import { missingPackageError } from '../packages/missing-package.ts'
import { isNoSuchUpload } from './s3-errors.ts'

/** The `S3Client` of the application. Only its method `send` is used. */
export interface S3ClientLike {
  send(command: never): Promise<unknown>
}

/** A bucket, and what the names of all objects of a store begin with. */
export interface Bucket {
  readonly client: S3ClientLike
  readonly bucket: string
  readonly prefix: string
}

/** An object of the bucket. */
export interface S3Object {
  put(bytes: Uint8Array): Promise<void>
  createUpload(): Promise<string>
  uploadPart(uploadId: string, number: number, bytes: Uint8Array): Promise<CompletedPart>
  completeUpload(uploadId: string, parts: readonly CompletedPart[]): Promise<void>
  /** Aborts an upload. One that does not exist is no error. */
  abortUpload(uploadId: string): Promise<void>
  /** Ids of the uploads that are unfinished. */
  listUploads(): Promise<readonly string[]>
  assertExists(): Promise<void>
  /** The bytes from `start` to before `end`. */
  get(start: number, end: number): Promise<S3Content>
}

/** Bytes that arrive from the store. */
export interface S3Content {
  /** How many there are. */
  readonly length: number
  readonly chunks: AsyncIterable<Uint8Array>
  /** Ends the connection. What reads the chunks fails. */
  end(): void
}

/** Objects of one DeleteObjects request at most. */
const MAX_DELETED_AT_ONCE = 1000

/** Loads the package, which is an optional peer dependency. */
async function loadSdk(): Promise<typeof import('@aws-sdk/client-s3')> {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (error) {
    throw missingPackageError({ user: 's3Blobs', name: '@aws-sdk/client-s3' }, error)
  }
}

/** Returns an object of a bucket for requests. */
export async function objectOf({ client, bucket, prefix }: Bucket, key: string): Promise<S3Object> {
  const sdk = await loadSdk()
  const s3 = asClient(client)
  const target = { Bucket: bucket, Key: prefix + key }
  return {
    async put(bytes) {
      await s3.send(new sdk.PutObjectCommand({ ...target, Body: bytes, ContentLength: bytes.length }))
    },
    async createUpload() {
      const { UploadId } = await s3.send(new sdk.CreateMultipartUploadCommand(target))
      if (UploadId === undefined) throw new VaultError('internal', 'The object store returned no id of an upload.')
      return UploadId
    },
    async uploadPart(UploadId, PartNumber, Body) {
      const ContentLength = Body.length
      const part = await s3.send(new sdk.UploadPartCommand({ ...target, UploadId, PartNumber, Body, ContentLength }))
      // A store that checks parts by checksums wants them again.
      const { ETag, ChecksumCRC32 } = part
      return { ETag, PartNumber, ...(ChecksumCRC32 === undefined ? {} : { ChecksumCRC32 }) }
    },
    async completeUpload(UploadId, parts) {
      await s3.send(new sdk.CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts: [...parts] } }))
    },
    async abortUpload(UploadId) {
      try {
        await s3.send(new sdk.AbortMultipartUploadCommand({ ...target, UploadId }))
      } catch (error) {
        if (!isNoSuchUpload(error)) throw error
      }
    },
    async listUploads() {
      const { Uploads = [] } = await s3.send(new sdk.ListMultipartUploadsCommand({ Bucket: bucket, Prefix: target.Key }))
      return Uploads.flatMap(({ Key, UploadId }) => (Key === target.Key && UploadId !== undefined ? [UploadId] : []))
    },
    async assertExists() {
      await s3.send(new sdk.HeadObjectCommand(target))
    },
    async get(start, end) {
      const { Body, ContentLength } = await s3.send(new sdk.GetObjectCommand({ ...target, Range: `bytes=${start}-${end - 1}` }))
      if (ContentLength === undefined || !(Body instanceof Readable))
        throw new VaultError('internal', 'The object store returned no content, or none of a known length.')
      return { length: ContentLength, chunks: Body, end: () => void Body.destroy() }
    },
  }
}

/** Deletes whole objects. Names without an object are no error. */
export async function deleteObjects({ client, bucket, prefix }: Bucket, keys: readonly string[]): Promise<void> {
  const sdk = await loadSdk()
  for (let start = 0; start < keys.length; start += MAX_DELETED_AT_ONCE) {
    const Objects = keys.slice(start, start + MAX_DELETED_AT_ONCE).map((key) => ({ Key: prefix + key }))
    const { Errors = [] } = await asClient(client).send(
      new sdk.DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }),
    )
    const [failed] = Errors
    if (failed !== undefined) throw Object.assign(new Error('An object was not deleted.'), { name: failed.Code ?? 'Error' })
  }
}

/** The client as its package types it: the public type names no package, so that the declarations compile without it. */
function asClient(client: S3ClientLike): Pick<S3Client, 'send'> {
  return client as S3Client
}
