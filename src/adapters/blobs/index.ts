/** Entry point "strongroom/blobs": blobs as files of a folder, or as objects of an S3-compatible store. */

export { type FolderBlobsOptions, folderBlobs } from './folder-blobs.ts'
