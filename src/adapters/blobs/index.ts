/** Entry point "strongroom/blobs": blobs as files of a folder, or as objects of an S3-compatible store. */

export { type FolderBlobsOptions, folderBlobs } from './folder-blobs.ts'
export { type S3BlobsOptions, s3Blobs } from './s3-blobs.ts'
export type { S3ClientLike } from './s3-requests.ts'
