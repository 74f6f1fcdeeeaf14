/** Contents of files: where they are stored, what their bytes say of their type, and what scans them. */
import type { Signal } from '../util/signal.ts'

/** A part of a blob, in bytes from 0. */
export interface ByteRange {
  readonly start: number
  /** The offset after the last byte. */
  readonly end: number
}

/**
 * A store of blobs. A key is 32 lower-case hex digits, drawn at random, and is written once: what a second write of it does is not
 * defined. Several vaults and processes can share a store. Calls of other keys do not wait for each other's content. All errors are
 * `VaultError`s, and none quotes a byte of a blob, a path or an address:
 * - `unavailable`: the store cannot be reached, or its handle is closed. A write can be repeated with another key; the blob of this one
 *   may be stored, until it is deleted.
 * - `storage_full`: there is no space left.
 * - `not_found`: there is no blob of the key, or it was deleted meanwhile.
 * - `data_loss`: a part of the blob was taken out of the store.
 * - `internal`: everything else, such as a key or a range of another form.
 */
export interface BlobStore {
  /**
   * Stores the chunks, in order, as one blob. Chunks can be empty or of any length, and can be overwritten or freed once the next one is
   * asked for. Other calls see the blob whole after this resolves, and no part of it before. The blob then survives a loss of power. If
   * `content` throws, its error is rethrown unchanged, and nothing of the blob remains. If the process ends meanwhile, or the store
   * fails, what remains is removed by `delete`. Asks `content` for one chunk at a time, and is at most 20 MiB ahead of what is stored.
   */
  write(key: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /**
   * Yields the bytes of the range in chunks of at most 1 MiB, none empty, which are plain `Uint8Array`s that the consumer can keep,
   * overwrite or free; fewer bytes if the blob ends before. Throws `not_found` if there is no blob, at the first chunk or, if it is deleted
   * meanwhile, at a later one; it never ends early without an error. A consumer that stops early leaves nothing open.
   */
  read(key: string, range: ByteRange): AsyncIterable<Uint8Array>
  /**
   * Deletes blobs, and what remains of unfinished writes. Keys without a blob are ignored. A write of such a key that goes on meanwhile
   * either fails, or stores its blob whole after this.
   */
  delete(keys: readonly string[]): Promise<void>
  /** Closes the connections and files that this handle opened. Later calls, and reads in progress, throw `unavailable`. */
  close(): Promise<void>
}

/** The result of a scan. `unscannable`: the scanner could not read all of the file, because of its size, its form or its password. */
export type ScanVerdict = 'clean' | 'infected' | 'unscannable'

/** A file to scan. */
export interface ScannedFile {
  /** The whole content. Its errors are rethrown unchanged. A chunk may be overwritten when the next one is asked for. */
  readonly content: AsyncIterable<Uint8Array>
  /** Length of the content in bytes. */
  readonly size: number
  /** Aborted when the vault gives up: it is closed, or the caller of `scanFiles` aborted it. */
  readonly signal: Signal
}

/** A scanner of file contents. */
export interface FileScanner {
  /**
   * Scans a whole file. Returns `clean` only if the scanner read all of it. Throws `unavailable` if the scanner cannot be reached, ends
   * the connection, takes too long or returns nonsense, and `cancelled` after an abort. The scan can then be repeated.
   */
  scan(file: ScannedFile): Promise<ScanVerdict>
}

/** Detects the MIME type of a file from its content. A declared type has no effect. */
export interface ContentTypeDetector {
  /**
   * Returns the MIME type, in lower case and without parameters, of a file that begins with these bytes; `application/octet-stream` if
   * it is unknown, or if there are no bytes. `isWhole` is true if there are no more bytes. `fileName` decides only where the content leaves
   * it open: text in an older encoding. Never throws for any content.
   */
  detect(beginning: Uint8Array, isWhole: boolean, fileName: string): Promise<string>
}
