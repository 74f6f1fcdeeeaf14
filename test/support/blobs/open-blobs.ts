/** Opens a blob store from plain data, so that another process can open the same one, and looks below it. */
import { S3Client } from '@aws-sdk/client-s3'
import { folderBlobs, s3Blobs } from '../../../src/adapters/blobs/index.ts'
import { databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import type { BlobStore } from '../../../src/core/ports/blobs.ts'
import { BLOB_PIECES, BLOBS } from '../../../src/core/schema/system-tables.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'

/** Where a blob store is that more than one process can open. It survives JSON. */
export type BlobAddress =
  | { readonly kind: 'folder'; readonly directory: string }
  | { readonly kind: 'database'; readonly storage: StorageAddress }
  | { readonly kind: 's3'; readonly url: string; readonly bucket: string; readonly prefix: string }

/** A store, and what is to be closed with it. */
export interface OpenedBlobs {
  readonly store: BlobStore
  close(): Promise<void>
}

/** Opens the store of this address. */
export async function openBlobs(address: BlobAddress): Promise<OpenedBlobs> {
  if (address.kind === 'folder') {
    const store = folderBlobs({ directory: address.directory })
    return { store, close: () => store.close() }
  }
  if (address.kind === 'database') {
    const storage = openStorage(address.storage)
    await storage.prepare([BLOBS, BLOB_PIECES])
    return { store: databaseBlobs(storage), close: () => storage.close() }
  }
  const { url, bucket, prefix } = address
  const client = clientOf(url)
  return { store: s3Blobs({ client, bucket, prefix }), close: async () => client.destroy() }
}

/** A client for a server of `startS3`. */
export function clientOf(url: string): S3Client {
  return new S3Client({
    endpoint: url,
    region: 'us-east-1',
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  })
}
