/** The entry point "strongroom/blob-port": the types of a store of file contents and of a malware scanner, for adapters of your own. */
export type { BlobStore, ByteRange, FileScanner, ScannedFile, ScanVerdict } from './core/ports/blobs.ts'
