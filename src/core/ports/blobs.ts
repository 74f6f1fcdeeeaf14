/** Blobs: the sealed contents of files, as byte strings under keys. The port does not know vaults. Source: docs/files.md. */

/** A part of a blob, in bytes from 0. */
export interface ByteRange {
  readonly start: number
  /** The offset after the last byte. */
  readonly end: number
}

/**
 * A store of blobs. A key is 32 lower-case hex digits, drawn at random, and is written once. Several vaults and processes can share a
 * store. All errors are `VaultError`s, and none quotes a byte of a blob: `unavailable` if the store cannot be reached (the call can be
 * retried), `storage_full`, `not_found`, and `internal` for everything else.
 */
export interface BlobStore {
  /**
   * Stores the chunks, in order, as one blob. Other calls see it whole after this resolves, and not before. The blob then survives a
   * loss of power. If `content` throws, its error is rethrown unchanged, and nothing of the blob remains. If the process ends
   * meanwhile, what remains is removed by `delete`. Reads `content` no faster than it stores it.
   */
  write(key: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /**
   * Yields the bytes of the range in chunks of at most 1 MiB; fewer bytes if the blob ends before. Throws `not_found` if there is no
   * blob, at the first chunk or, if it is deleted meanwhile, at a later one. A consumer that stops early leaves nothing open.
   */
  read(key: string, range: ByteRange): AsyncIterable<Uint8Array>
  /** Deletes blobs, and what remains of unfinished writes. Keys without a blob are ignored. */
  delete(keys: readonly string[]): Promise<void>
  /** Closes the connections and files that this handle opened. */
  close(): Promise<void>
}
