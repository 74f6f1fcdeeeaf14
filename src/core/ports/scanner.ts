/** Malware scanners. Source: docs/files.md. */

import type { Signal } from '../util/signal.ts'

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
