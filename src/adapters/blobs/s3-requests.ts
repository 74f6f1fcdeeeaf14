/** The requests that blobs need of an S3-compatible store, and its errors without a text, a bucket or a key. The client is loaded at the first one. */
import { Readable } from 'node:stream'
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3'
import { isVaultError, VaultError } from '../../core/errors.ts'
import { noBlobError } from '../../core/util/causes.ts'
import { describeAwsError, isAwsUnavailable } from '../errors/client-errors.ts'
import { fullError, strippedCause, unavailableError } from '../errors/storage-errors.ts'
import { missingPackageError } from '../packages/require-package.ts'

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

const ENGINE = 'The object store'

/** Names of errors of a store that is busy or fails. */
const BUSY_NAMES: ReadonlySet<string> = new Set(['RequestTimeout', 'SlowDown', 'ServiceUnavailable', 'InternalError'])

/** True for an object that does not exist. A bucket that does not exist is another error. */
function isNoSuchKey(error: unknown): boolean {
  const { name } = describeAwsError(error)
  return name === 'NoSuchKey' || name === 'NotFound'
}

/** True for a multipart upload that was completed, aborted or never created. */
export function isNoSuchUpload(error: unknown): boolean {
  return describeAwsError(error).name === 'NoSuchUpload'
}

/** True for a range that begins at or after the end of the object. */
export function isInvalidRange(error: unknown): boolean {
  const { name, status } = describeAwsError(error)
  return name === 'InvalidRange' || status === 416
}

/** Returns the error to throw for anything that a request threw. */
export function mapS3Error(error: unknown): VaultError {
  if (isVaultError(error)) return error
  const { name, code, status } = describeAwsError(error)
  const cause = strippedCause(ENGINE, name ?? code)
  if (isNoSuchKey(error)) return noBlobError()
  if (status === 507) return fullError(ENGINE, cause)
  if (isAwsUnavailable(error) || (name !== undefined && BUSY_NAMES.has(name)))
    return unavailableError('The object store cannot be reached, or is busy. Retry.', cause)
  return new VaultError('internal', 'The object store refused a request.', {}, { cause })
}
